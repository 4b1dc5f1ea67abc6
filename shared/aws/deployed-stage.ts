import { paginateGetParametersByPath, SSMClient } from "@aws-sdk/client-ssm";
import { clientSettings, secretLimits } from "./call-limits.ts";

/** The addresses of a deployed stage, and the names of its stores. */
export interface StageOutputs {
  WebSocketUrl: string;
  WebhookUrl: string;
  /** Absent in a stage of an earlier version, like the next one. */
  OpenaiUrl?: string;
  McpUrl?: string;
  TableName: string;
  BucketName: string;
}

/** The SSM parameters of a stage, by output: `infra/agent-gateway.ts`. */
const parameterNames: Record<keyof StageOutputs, string> = {
  WebSocketUrl: "websocket-url",
  WebhookUrl: "webhook-url",
  OpenaiUrl: "openai-url",
  McpUrl: "mcp-url",
  TableName: "table-name",
  BucketName: "bucket-name",
};

/** Outputs that a stage of an earlier version lacks. */
const newer: readonly string[] = ["OpenaiUrl", "McpUrl"] satisfies (keyof StageOutputs)[];

/** The addresses and names of a stage; undefined when it is not deployed. Region and credentials as the SDK reads them. */
export async function readStage(stage: string): Promise<StageOutputs | undefined> {
  const found = await readParameters({ Path: `/gsv/${stage}` });
  const entries = Object.entries(parameterNames).map(
    ([output, name]) => [output, found.get(`/gsv/${stage}/${name}`)] as const,
  );
  return entries.some(([output, value]) => value === undefined && !newer.includes(output))
    ? undefined
    : (Object.fromEntries(entries) as unknown as StageOutputs);
}

/**
 * The values of parameters by name, encrypted ones as they are stored. A page may have none although others follow.
 */
export async function readParameters(input: {
  Path: string;
  Recursive?: boolean;
}): Promise<Map<string, string | undefined>> {
  const client = new SSMClient(clientSettings(secretLimits));
  const found = new Map<string, string | undefined>();
  for await (const { Parameters = [] } of paginateGetParametersByPath({ client }, input))
    for (const { Name, Value } of Parameters) if (Name !== undefined) found.set(Name, Value);
  return found;
}
