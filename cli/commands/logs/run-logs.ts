import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findLogLines, logGroupsOf } from "../../../shared/aws/log-events.ts";
import type { Context } from "../../app/context.ts";
import { Failure } from "../../app/failure.ts";
import type { Invocation } from "../../app/options.ts";
import { checkCredentials, chooseAccount } from "../../gateway/stage-access.ts";
import { newestLines } from "./log-files.ts";
import { logPlaceOf } from "./log-place.ts";

type Options = Invocation["options"];

/** A log line of a run. The function is absent if the log does not show it. */
interface RunLine {
  time: string;
  event: string;
  function?: string;
  [field: string]: unknown;
}

/** Interval between searches for new lines, ms. */
const searchEveryMs = 2000;

/** CloudWatch may show a line later than newer ones of other functions. Milliseconds. */
const lateMs = 30_000;

/**
 * Prints the log lines of one run, of all functions, sorted by time; with `ended`, also new lines until it resolves. Reads the
 * files of a local gateway, or CloudWatch with AWS credentials.
 */
export async function showRunLogs(
  context: Context,
  options: Options,
  runId: string,
  ended?: Promise<unknown>,
  everyMs = searchEveryMs,
): Promise<void> {
  const { url } = await context.settings();
  const isLocal = url === undefined || context.flags.data !== undefined;
  const search = isLocal
    ? localSearch(context, runId)
    : await stageSearch(context, options, url.value, runId);
  let isOver = ended === undefined;
  const over = ended?.then(() => {
    isOver = true;
  });
  const printed = new Set<string>();
  for (let from = 0; ; from = Date.now() - lateMs) {
    const found = await search(from);
    const isNew = (line: RunLine) => !printed.has(JSON.stringify(line));
    for (const line of found.filter(isNew)) context.print(line, textOf(line));
    for (const line of found) printed.add(JSON.stringify(line));
    if (isOver) break;
    await Promise.race([sleep(everyMs), over]);
  }
  if (printed.size === 0) context.note(`gsv: no line of the run ${runId} was found; ${advice(isLocal)}`);
}

const advice = (isLocal: boolean) =>
  isLocal ? "`gsv client --json` prints the id of each run" : "--since selects a longer period";

/** Finds the lines of the run since a time, epoch ms. */
type Search = (from: number) => Promise<RunLine[]>;

function localSearch(context: Context, runId: string): Search {
  const files = ["functions.log.1", "functions.log"].map((name) => join(context.dataFolder, "logs", name));
  return async () => {
    const read = await Promise.all(files.map((file) => newestLines(file, Number.POSITIVE_INFINITY)));
    const lines = read.flatMap((one) => one.lines).flatMap((line) => parse(line) ?? []);
    // One file has the lines of all functions. The first line of an invocation names its function.
    const functionOf = new Map<unknown, string>();
    for (const { event, requestId } of lines) {
      const name = /^(\w+)\.in$/.exec(event)?.[1];
      if (name !== undefined) functionOf.set(requestId, name);
    }
    return lines
      .filter((line) => isOf(line, runId))
      .flatMap((line) => withFunction(line, functionOf.get(line.requestId)) ?? [])
      .sort(byTime);
  };
}

async function stageSearch(context: Context, options: Options, url: string, runId: string): Promise<Search> {
  const place = await logPlaceOf(context, options, { url, since: "1d" });
  const { stage, functions, sinceMs } = place;
  chooseAccount(place.profile, place.region);
  const region = process.env.AWS_REGION;
  if (!region) throw new Failure("aws-region", "no AWS region is set; pass --region, or set AWS_REGION");
  await checkCredentials(stage);
  const start = Date.now() - sinceMs;
  const refused = (error: unknown): never => {
    throw explained(error, stage, region);
  };
  const groups = await logGroupsOf(stage, functions).catch(refused);
  const logs = { region, groups, endpoint: process.env.AWS_ENDPOINT_URL };
  return async (from) => {
    const found = await findLogLines(logs, { text: runId, from: Math.max(start, from) }).catch(refused);
    const lines = found.flatMap((group, index) =>
      group.flatMap((line) => withFunction(parse(line), functions[index]) ?? []),
    );
    return lines.filter((line) => isOf(line, runId)).sort(byTime);
  };
}

function explained(error: unknown, stage: string, region: string): unknown {
  switch ((error as Error).name) {
    case "ResourceNotFoundException":
      return new Failure(
        "aws-stage",
        `gsv-${stage} has no logs in ${region}; choose the gateway with --stage, --profile and --region`,
      );
    case "AccessDeniedException":
      return new Failure(
        "aws-logs",
        `these AWS credentials may not read the logs of gsv-${stage}; allow them ssm:GetParametersByPath on /gsv/${stage} and logs:FilterLogEvents`,
      );
    default:
      return error;
  }
}

/** A line that a function wrote; undefined for one of Lambda itself. */
function parse(text: string): RunLine | undefined {
  try {
    const line = JSON.parse(text) as Partial<RunLine> | null;
    return typeof line?.time === "string" && typeof line.event === "string" ? (line as RunLine) : undefined;
  } catch {
    return undefined;
  }
}

/** An entry of an inbox becomes a run with its id. */
const idFields = ["correlationId", "runId", "entryId"];

const isOf = (line: RunLine, runId: string) => idFields.some((field) => line[field] === runId);

function withFunction(line: RunLine | undefined, name: string | undefined): RunLine | undefined {
  if (line === undefined) return undefined;
  const { time, ...rest } = line;
  return { time, ...(name === undefined ? {} : { function: name }), ...rest };
}

const byTime = (one: RunLine, other: RunLine) => (one.time < other.time ? -1 : one.time > other.time ? 1 : 0);

/** Fields that are the same on each line, or of use only to programs. */
const hidden = ["requestId", "coldStart", ...idFields];

function textOf({ time, event, function: name = "", ...fields }: RunLine): string {
  const shown = Object.entries(fields).filter(([field]) => !hidden.includes(field));
  return [time, name.padEnd(7), event, ...shown.map(([field, value]) => `${field}=${value}`)].join(" ");
}
