import { spawn } from "node:child_process";
import { join } from "node:path";
import { nameLogGroups } from "../../../shared/aws/log-events.ts";
import { readConfigFile } from "../../app/config-file.ts";
import type { Context } from "../../app/context.ts";
import { Failure, usage } from "../../app/failure.ts";
import type { Invocation } from "../../app/options.ts";
import { byLine, followLog, newestLines } from "./log-files.ts";
import { logPlaceOf } from "./log-place.ts";

type Options = Invocation["options"];

/** The log files of a local gateway: all functions, and the errors of the local world. */
const localLogs = ["functions", "cloud"];

/**
 * Prints the newest lines of the gateway's log and, with `ended`, new lines until it resolves. Reads the files of a local
 * gateway. For a gateway on AWS, it runs the AWS command line, with that program's credentials.
 */
export async function showGatewayLogs(
  context: Context,
  options: Options,
  lines: number,
  ended?: Promise<unknown>,
): Promise<void> {
  const { url } = await context.settings();
  if (url === undefined || context.flags.data !== undefined) return localLog(context, options, lines, ended);
  const calls = await tailCalls(context, options, url.value, ended !== undefined);
  if (ended === undefined) return newestOf(context, calls, lines);
  await followAll(context, calls, ended);
}

async function localLog(
  context: Context,
  options: Options,
  lines: number,
  ended?: Promise<unknown>,
): Promise<void> {
  if (options.function !== undefined || options.since !== undefined || options.stage !== undefined)
    throw usage("--function, --since and --stage need a gateway on AWS; a local gateway has one log");
  const files = localLogs.map((name) => join(context.dataFolder, "logs", `${name}.log`));
  const newest = await Promise.all(files.map((file) => newestLines(file, lines)));
  const merged = newest.flatMap((one) => one.lines).sort(byTime);
  for (const line of merged.slice(-lines)) context.print({ line }, line);
  if (merged.length === 0) context.note(`gsv: there is no log in ${join(context.dataFolder, "logs")}`);
  if (ended === undefined) return;
  const show = () => byLine((line) => context.print({ line }, line));
  await Promise.all(files.map((file, index) => followLog(file, newest[index]?.end ?? 0, show(), ended)));
}

/** Compares lines, which begin with their time. */
function byTime(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** An AWS command line that prints the log of one function. */
interface TailCall {
  function: string;
  args: string[];
}

async function tailCalls(
  context: Context,
  options: Options,
  url: string,
  isFollowing: boolean,
): Promise<TailCall[]> {
  const { stage, functions, sinceMs, region, profile } = await logPlaceOf(context, options, {
    url,
    since: "10m",
  });
  const account = [
    ...(region === undefined ? [] : ["--region", region]),
    ...(profile === undefined ? [] : ["--profile", profile]),
  ];
  const follow = isFollowing ? ["--follow"] : [];
  const groups = await groupsOf(context, { stage, functions, account });
  return functions.map((name, index) => {
    const group = groups[index] ?? "";
    const how = ["--since", `${sinceMs / 1000}s`, "--format", "short", ...follow, ...account];
    return { function: name, args: ["logs", "tail", group, ...how] };
  });
}

/**
 * The log groups of functions. A gateway of another CDK app publishes them.
 * @param place `account`: options of the AWS command line
 */
async function groupsOf(
  context: Context,
  { stage, functions, account }: { stage: string; functions: readonly string[]; account: readonly string[] },
): Promise<string[]> {
  const { deploy } = await readConfigFile((await context.settings()).file);
  if (stage === deploy?.stage) return nameLogGroups(undefined, stage, functions);
  const output = ["--query", "Parameter.Value", "--output", "text"];
  const args = ["ssm", "get-parameter", "--name", `/gsv/${stage}/log-groups`, ...output, ...account];
  let published: string | undefined;
  const show = (line: string) => {
    published = line;
  };
  // Without the parameter it fails. Any other fault, such as missing credentials, also fails the next call, which reports it.
  await tail(context, args, show).ended.catch(() => undefined);
  return nameLogGroups(published, stage, functions);
}

/** Prints the newest lines of several logs, sorted by time. */
async function newestOf(context: Context, calls: readonly TailCall[], lines: number): Promise<void> {
  const found: { function: string; line: string }[] = [];
  await Promise.all(
    calls.map(
      (call) => tail(context, call.args, (line) => found.push({ function: call.function, line })).ended,
    ),
  );
  found.sort((one, other) => byTime(one.line, other.line));
  for (const entry of found.slice(-lines)) print(context, entry);
  if (found.length === 0)
    context.note("gsv: nothing was logged in this period; --since selects a longer one");
}

async function followAll(
  context: Context,
  calls: readonly TailCall[],
  ended: Promise<unknown>,
): Promise<void> {
  const tails = calls.map((call) =>
    tail(context, call.args, (line) => print(context, { function: call.function, line })),
  );
  try {
    await Promise.race([Promise.all(tails.map((one) => one.ended)), ended]);
  } finally {
    for (const one of tails) one.end();
  }
}

function print(context: Context, entry: { function: string; line: string }): void {
  context.print(entry, `${entry.function.padEnd(7)} ${entry.line}`);
}

/** Version 1 rejects `logs tail` with a list of its commands. */
const needsVersion2 =
  "this AWS command line has no `aws logs tail`; install version 2 (https://aws.amazon.com/cli/), or read the log groups in the CloudWatch console";

/** Runs the AWS command line. `ended` rejects with a Failure when it fails. `end` kills it. */
function tail(
  { terminal }: Context,
  args: readonly string[],
  onLine: (line: string) => void,
): { ended: Promise<void>; end(): void } {
  const child = spawn("aws", args, { env: terminal.env, stdio: ["ignore", "pipe", "pipe"] });
  let stderr = "";
  child.stdout.setEncoding("utf8").on(
    "data",
    byLine((line) => line !== "" && onLine(line)),
  );
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr = (stderr + text).slice(0, 2000);
  });
  const ended = new Promise<void>((resolve, reject) => {
    child.once("error", () =>
      reject(
        new Failure(
          "aws",
          "reading the log needs the AWS command line; install it (https://aws.amazon.com/cli/), or read the log groups in the CloudWatch console",
        ),
      ),
    );
    child.once("close", (status, signal) => {
      if (status === 0 || signal !== null) return resolve();
      if (/invalid choice/i.test(stderr)) return reject(new Failure("aws", needsVersion2));
      const reason = stderr.replace(/\s*\n\s*/g, " ").trim() || `exit code ${status}`;
      reject(new Failure("aws", `aws ${args.slice(0, 3).join(" ")} failed: ${reason}`));
    });
  });
  ended.catch(() => undefined);
  return { ended, end: () => child.kill() };
}
