import * as v from "valibot";

/** Longest `outputTail`, in characters. What is longer is cut at its beginning. */
const maxTail = 4000;

/**
 * A node's report on a background command: that it runs (still), or how it ended. Times are epoch ms. `eventId` is unique; a
 * repeat has the same. `callId` is the id of the call that started the command, as the node knows it.
 */
export const execEvent = v.object({
  eventId: v.pipe(v.string(), v.minLength(1), v.maxLength(256)),
  sessionId: v.pipe(v.string(), v.minLength(1), v.maxLength(256)),
  event: v.picklist(["started", "finished", "failed", "timed_out"]),
  callId: v.optional(v.pipe(v.string(), v.maxLength(2048))),
  exitCode: v.nullish(v.number()),
  signal: v.nullish(v.pipe(v.string(), v.maxLength(64))),
  outputTail: v.optional(
    v.pipe(
      v.string(),
      v.transform((text) => text.slice(-maxTail).toWellFormed()),
    ),
  ),
  startedAt: v.nullish(v.number()),
  endedAt: v.nullish(v.number()),
});

export type ExecEvent = v.InferOutput<typeof execEvent>;
