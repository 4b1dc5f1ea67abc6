import { durationMs, durationPattern } from "../../../shared/configuration/duration.ts";
import { checkPeriod } from "../../../shared/cron/run-times.ts";
import { parseSchedule } from "../../../shared/cron/schedule-words.ts";
import { peerKinds } from "../../../shared/protocol/channel-accounts.ts";
import type { CronSchedule, CronSpec } from "../../../shared/protocol/cron.ts";
import { PeerError } from "../../../shared/protocol/errors.ts";
import { parseThinkingLevel, thinkingLevels } from "../../../shared/protocol/schemas.ts";
import { isTimezone } from "../../../shared/runtime/zoned-time.ts";
import { usage } from "../../app/failure.ts";
import { type Invocation, text } from "../../app/options.ts";
import { didYouMean } from "../../app/suggestion.ts";

type Options = Invocation["options"];
type TaskSpec = Extract<CronSpec, { mode: "task" }>;

/** Parses a schedule as a user writes it. @throws Failure (usage) with the reason */
export function readWhen(words: string, options: Options, now: number, timezone: string): CronSchedule {
  const zone = text(options.tz) ?? timezone;
  if (!isTimezone(zone)) throw usage(`--tz: ${zone} is not a timezone; use a name such as Europe/Berlin`);
  return orUsage(() => {
    const schedule = parseSchedule(words, now, zone);
    checkPeriod(schedule);
    return schedule;
  });
}

/** Returns the result of `read`. Converts its PeerError for an invalid schedule. @throws Failure (usage) */
export function orUsage<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof PeerError) throw usage(error.message.replace(/^schedule: /, ""));
    throw error;
  }
}

/** The fields of a task's spec that the options set. */
export function taskOptions(options: Options): Partial<TaskSpec> {
  const model = text(options.model);
  const timeout = text(options.timeout);
  return {
    ...(model === undefined ? {} : { model }),
    ...thinkingOf(text(options.thinking)),
    ...(timeout === undefined ? {} : { timeoutSeconds: secondsOf(timeout) }),
    ...(options.to === undefined ? {} : receiverOf(text(options.to) ?? "", options)),
  };
}

function thinkingOf(level: string | undefined): Pick<TaskSpec, "thinking"> {
  if (level === undefined) return {};
  const thinking = parseThinkingLevel(level);
  if (!thinking) throw usage(`--thinking must be one of ${thinkingLevels.join(", ")}, not ${level}`);
  return { thinking };
}

function secondsOf(timeout: string): number {
  const seconds = durationPattern.test(timeout) ? durationMs(timeout) / 1000 : 0;
  if (seconds < 1) throw usage(`--timeout must be a duration such as 90s, 5m or 1h30m, not ${timeout}`);
  return seconds;
}

/** `last`, `clients`, `nowhere`, or `channel:id`. */
function receiverOf(to: string, options: Options): Partial<TaskSpec> {
  const bestEffort = options.strict === true ? {} : { bestEffortDeliver: true };
  const [, channel, id] = /^([a-z0-9_-]+):(.+)$/i.exec(to) ?? [];
  if (channel !== undefined && id !== undefined)
    return { deliver: true, channel: channel.toLowerCase(), to: id, ...peerOf(options), ...bestEffort };
  if (to !== "last" && to !== "clients" && to !== "nowhere")
    throw usage(`--to must be last, clients, nowhere or channel:id such as telegram:42, not ${to}`);
  checkReceiver(to, options);
  if (to === "last") return { deliver: true, channel: "last", ...bestEffort };
  return to === "nowhere" ? { deliver: false } : {};
}

/**
 * A task whose existing receiver is changed by --account, --kind and --strict.
 * @throws Failure (usage) when these options do not apply to its receiver
 */
export function withReceiverDetails(spec: TaskSpec, options: Options): TaskSpec {
  if (spec.to === undefined) checkReceiver(spec.deliver === true ? "last" : "nowhere", options);
  const { bestEffortDeliver, ...strict } = spec;
  return { ...(options.strict === true ? strict : spec), ...peerOf(options) };
}

/** Whether the options contain details of a receiver in addition to `--to`. */
export function hasReceiverDetails({ account, kind, strict }: Options): boolean {
  return account !== undefined || kind !== undefined || strict === true;
}

/** @throws Failure (usage) for options that do not apply to this kind of receiver */
function checkReceiver(to: "last" | "clients" | "nowhere", { account, kind, strict }: Options): void {
  if (account !== undefined || kind !== undefined)
    throw usage("--account and --kind need a receiver on a channel (--to channel:id)");
  if (strict === true && to !== "last")
    throw usage("--strict needs a destination (--to last or --to channel:id)");
}

function peerOf(options: Options): Pick<TaskSpec, "accountId" | "peerKind"> {
  const accountId = text(options.account);
  const kind = text(options.kind);
  const peerKind = peerKinds.find((one) => one === kind);
  if (kind !== undefined && peerKind === undefined)
    throw usage(`--kind must be one of ${peerKinds.join(", ")}, not ${kind}${didYouMean(kind, peerKinds)}`);
  return {
    ...(accountId === undefined ? {} : { accountId }),
    ...(peerKind === undefined ? {} : { peerKind }),
  };
}
