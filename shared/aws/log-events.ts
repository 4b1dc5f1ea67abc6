import { readParameters } from "./deployed-stage.ts";
import { openSigned, rpcRequest } from "./signed-request.ts";

interface Page {
  events?: { message: string }[];
  nextToken?: string;
}

/**
 * Finds the lines with a text in log groups of CloudWatch Logs. Calls `logs:FilterLogEvents`.
 * @param from epoch ms
 * @param endpoint replaces the address of the service
 * @returns the lines of each group in order of time
 * @throws ApiError, named `ResourceNotFoundException` for a missing group
 */
export async function findLogLines(
  { region, groups, endpoint }: { region: string; groups: readonly string[]; endpoint: string | undefined },
  { text, from }: { text: string; from: number },
): Promise<string[][]> {
  const send = openSigned(endpoint);
  const readPage = async (logGroupName: string, nextToken: string | undefined) => {
    // In a pattern, a text in quotes is searched for as it is.
    const input = { logGroupName, startTime: from, filterPattern: JSON.stringify(text), nextToken };
    const request = rpcRequest("logs", "Logs_20140328.FilterLogEvents", input);
    return JSON.parse(await send({ ...request, region })) as Page;
  };
  const readGroup = async (group: string) => {
    const lines: string[] = [];
    let token: string | undefined;
    // A page may be empty although others follow.
    do {
      const { events = [], nextToken } = await readPage(group, token);
      lines.push(...events.map(({ message }) => message.trimEnd()));
      token = nextToken;
    } while (token);
    return lines;
  };
  return Promise.all(groups.map(readGroup));
}

/** The log groups of a stage's functions: as a gateway of another CDK app publishes them, else those of `gsv deploy`. */
export async function logGroupsOf(stage: string, functions: readonly string[]): Promise<string[]> {
  const parameters = await readParameters({ Path: `/gsv/${stage}` });
  return nameLogGroups(parameters.get(`/gsv/${stage}/log-groups`), stage, functions);
}

/** @param published the value of the parameter `log-groups`: `{function}={log group},…` */
export function nameLogGroups(
  published: string | undefined,
  stage: string,
  functions: readonly string[],
): string[] {
  const named = new Map(published?.split(",").map((one) => one.split("=", 2) as [string, string]));
  return functions.map((name) => named.get(name) ?? `/aws/lambda/gsv-${stage}-${name}`);
}
