import { durationMs, durationPattern } from "../../../shared/configuration/duration.ts";
import { readConfigFile } from "../../app/config-file.ts";
import type { Context } from "../../app/context.ts";
import { Failure, usage } from "../../app/failure.ts";
import { type Invocation, text } from "../../app/options.ts";
import { regionOf } from "../../gateway/aws-region.ts";

/** The functions of the gateway. */
const functionNames = ["socket", "webhook", "timer", "agent", "openai", "mcp", "page"];

/** Which logs of a gateway on AWS to read. */
export interface LogPlace {
  stage: string;
  functions: readonly string[];
  /** How far back, at least a second. */
  sinceMs: number;
  region: string | undefined;
  profile: string | undefined;
}

/**
 * Reads the options about the logs of the gateway at `url`.
 * @param since the default of `--since`
 * @throws Failure for a wrong option, or an unknown stage
 */
export async function logPlaceOf(
  context: Context,
  options: Invocation["options"],
  { url, since: usual }: { url: string; since: string },
): Promise<LogPlace> {
  const { file } = await context.settings();
  const { gateway, deploy } = await readConfigFile(file);
  const stage = text(options.stage) ?? (gateway?.url === url ? deploy?.stage : undefined);
  if (stage === undefined)
    throw new Failure("stage", `${file} does not contain the stage of ${url}; pass --stage`);
  const wanted = text(options.function);
  if (wanted !== undefined && !functionNames.includes(wanted))
    throw usage(`--function must be one of ${functionNames.join(", ")}, not ${wanted}`);
  const since = text(options.since) ?? usual;
  const sinceMs = durationPattern.test(since) ? durationMs(since) : 0;
  if (sinceMs < 1000) throw usage(`--since must be a duration such as 90s, 10m or 2h, not ${since}`);
  return {
    stage,
    functions: wanted === undefined ? functionNames : [wanted],
    sinceMs,
    region: text(options.region) ?? regionOf(url),
    profile: text(options.profile),
  };
}
