import type { ChatDelta, ChatRetry } from "../../../shared/protocol/events.ts";
import type { Run } from "../../../shared/session/run.ts";
import type { Agent } from "../agent.ts";
import type { Repeat } from "../model/model-call.ts";

/** Four delta events a second for a run: smooth enough to read along, and every event is billed. */
const minIntervalMs = 250;

/** Streams an answer's text to clients while it grows: pieces are joined until the next event is due. */
export interface Deltas {
  add(text: string): void;
  /** Announces that the call is repeated, and begins the text anew. */
  repeat(repeat: Repeat): void;
  /** Sends what is left, without waiting for a client to receive it: `Broadcast.send` comes after it. Does not reject. */
  end(): Promise<void>;
}

/** What has been streamed of a model call. */
interface Stream {
  ofCall: Pick<ChatDelta, "runId" | "sessionKey" | "attempt" | "step">;
  text: string;
  /** Characters of the text that may be sent by now. */
  due: number;
  /** Repeats of the call, and what clients are told of the last one. */
  repeats: number;
  retry?: ChatRetry;
}

/** How far a client has followed the stream. */
interface Follower {
  /** `out`: it did not get an event, and hears of no later one. */
  state: "free" | "sending" | "out";
  /** Repeats of the call that it was told of. */
  repeats: number;
  /** Characters of the text that it was sent. */
  sent: number;
  /** Number of its next delta. */
  seq: number;
}

/**
 * Starts a stream of deltas.
 * @param clients connection ids to stream to, read anew before each event where the last read is too old: a revoked client
 * whose socket could not be closed receives no more
 * The first piece goes out at once. Each client has one event on its way at a time; what comes meanwhile is joined, so that
 * a slow client gets fewer events and holds up nobody. Events carry `attempt`, so that a client starts over when a crashed
 * attempt is repeated, `step`, and `seq`, which for each client counts from 0 within one model call.
 */
export function streamDeltas(
  { broadcast }: Pick<Agent, "broadcast">,
  sessionKey: string,
  { runId, attempt, step }: Pick<Run, "runId" | "attempt" | "step">,
  clients: () => Promise<string[]>,
): Deltas {
  const ofCall = { runId, sessionKey, attempt, step };
  const stream: Stream = { ofCall, text: "", due: 0, repeats: 0 };
  const followers = new Map<string, Follower>();
  let timer: NodeJS.Timeout | undefined;
  let telling = Promise.resolve();
  const tellAll = async () => {
    for (const connectionId of await clients()) {
      const follower = followers.get(connectionId) ?? { state: "free", repeats: 0, sent: 0, seq: 0 };
      followers.set(connectionId, follower);
      void bringUpToDate(stream, follower, (event) => broadcast.offer(connectionId, "chat", event));
    }
  };
  const tell = () => {
    telling = telling.then(tellAll).catch(() => {});
  };
  const flush = () => {
    timer = undefined;
    if (stream.due === stream.text.length) return;
    stream.due = stream.text.length;
    tell();
    timer = setTimeout(flush, minIntervalMs);
  };
  return {
    add(piece) {
      stream.text += piece;
      if (timer === undefined) flush();
    },
    repeat({ reason, waitMs }) {
      clearTimeout(timer);
      timer = undefined;
      const retry: ChatRetry = { ...ofCall, state: "retry", reason, waitMs };
      Object.assign(stream, { text: "", due: 0, repeats: stream.repeats + 1, retry });
      tell();
    },
    async end() {
      clearTimeout(timer);
      flush();
      clearTimeout(timer);
      await telling;
    },
  };
}

/** Offers a client what it was not sent yet, one event after the other, unless that is being done already. */
async function bringUpToDate(
  stream: Stream,
  follower: Follower,
  offer: (event: ChatDelta | ChatRetry) => Promise<boolean>,
): Promise<void> {
  if (follower.state !== "free") return;
  follower.state = "sending";
  for (let event = nextEvent(stream, follower); event; event = nextEvent(stream, follower)) {
    if (await offer(event)) continue;
    follower.state = "out";
    return;
  }
  follower.state = "free";
}

function nextEvent(stream: Stream, follower: Follower): ChatDelta | ChatRetry | undefined {
  const { ofCall, text, due, repeats, retry } = stream;
  if (retry && follower.repeats < repeats) {
    Object.assign(follower, { repeats, sent: 0, seq: 0 });
    return retry;
  }
  if (follower.sent === due) return undefined;
  const piece = text.slice(follower.sent, due);
  follower.sent = due;
  return { ...ofCall, state: "delta", text: piece, seq: follower.seq++ };
}
