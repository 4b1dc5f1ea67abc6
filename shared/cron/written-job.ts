import * as v from "valibot";
import { cronJobField, cronPatchField } from "../protocol/cron.ts";
import { code, PeerError } from "../protocol/errors.ts";
import type { Params } from "../protocol/methods.ts";
import type { Origin } from "../session/inbox-entry.ts";
import { readSchedule } from "./schedule-words.ts";

/** The parts of the conversation that become defaults of a job which the model writes. */
export interface WritingContext {
  agentId: string;
  now: number;
  /** The user's timezone. */
  timezone: string;
  /** The channel of the conversation's last message from a channel. */
  lastChannel?: Extract<Origin, { kind: "channel" }>;
}

type Written = Record<string, unknown>;

/**
 * Parses a job that a model wrote: its schedule may be in words, and `message` or `text` may replace the spec. A task's answer
 * goes to the conversation's channel unless the job names another. A one-shot job is removed after its run unless the job
 * says otherwise.
 * @throws PeerError 400 with the reason
 */
export function readWrittenJob(written: Written, context: WritingContext): Params<"cron.add"> {
  const schedule = readSchedule(scheduleOf(written), context.now, context.timezone);
  const spec = specOf(written) ?? {};
  const { description, agentId, enabled, deleteAfterRun } = written;
  const job = {
    name: nameOf(written),
    description,
    agentId: agentId ?? context.agentId,
    enabled,
    deleteAfterRun: deleteAfterRun ?? (schedule.kind === "at" ? true : undefined),
    schedule,
    spec: withReceiver(spec, context.lastChannel),
  };
  return checked(cronJobField, job);
}

/** The name of a job that a model wrote: the beginning of its text if it gave none. */
export function nameOf(written: Written): unknown {
  return written.name ?? firstWords(specOf(written) ?? {});
}

/** As `readWrittenJob`, for the changed fields only. */
export function readWrittenPatch(written: Written, context: WritingContext): Params<"cron.update">["patch"] {
  const { name, description, agentId, enabled, deleteAfterRun } = written;
  const schedule = scheduleOf(written);
  const spec = specOf(written);
  return checked(cronPatchField, {
    ...{ name, description, agentId, enabled, deleteAfterRun },
    ...(schedule === undefined ? {} : { schedule: readSchedule(schedule, context.now, context.timezone) }),
    ...(spec === undefined ? {} : { spec }),
  });
}

const timeFields = [
  ...["at", "in", "inMs", "inSeconds", "inMinutes", "inHours", "every", "everyMs"],
  ...["everyMinutes", "everyHours", "everyDays", "anchor", "anchorMs", "cron", "expr", "tz"],
];

/** The schedule, or schedule fields that the model put directly into the job. */
function scheduleOf(written: Written): unknown {
  if (written.schedule !== undefined) return written.schedule;
  const direct = Object.entries(written).filter(([name]) => timeFields.includes(name));
  return direct.length > 0 ? Object.fromEntries(direct) : undefined;
}

function specOf({ spec, message, text }: Written): Written | undefined {
  if (typeof spec === "object" && spec !== null) {
    const given = spec as Written;
    return { mode: given.text === undefined ? "task" : "systemEvent", ...given };
  }
  if (message !== undefined) return { mode: "task", message };
  return text === undefined ? undefined : { mode: "systemEvent", text };
}

function withReceiver(spec: Written, last: WritingContext["lastChannel"]): Written {
  const isDecided = [spec.deliver, spec.channel, spec.to].some((field) => field !== undefined);
  if (spec.mode !== "task" || isDecided || !last) return spec;
  const { channel, accountId, peer } = last;
  return { ...spec, deliver: true, channel, accountId, to: peer.id, peerKind: peer.kind };
}

function firstWords({ message, text }: Written): string | undefined {
  const said = message ?? text;
  return typeof said === "string" ? said.slice(0, 60).toWellFormed() : undefined;
}

function checked<S extends v.GenericSchema>(schema: S, value: unknown): v.InferOutput<S> {
  const result = v.safeParse(schema, JSON.parse(JSON.stringify(value)), { abortEarly: true });
  if (result.success) return result.output;
  const [issue] = result.issues;
  throw new PeerError(code.badRequest, `${v.getDotPath(issue) ?? "job"}: ${issue.message}`);
}
