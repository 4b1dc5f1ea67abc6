import type { ChatDelta, ChatRetry } from "../../../shared/protocol/events.ts";
import type { Run } from "../../../shared/session/run.ts";
import type { Agent } from "../agent.ts";
import type { Repeat } from "../model/model-call.ts";

/** At most four delta events per second: smooth enough to read along, and every event is billed. */
const minIntervalMs = 250;

/** Streams an answer's text to clients while it is generated. Pieces are joined until the next event is due. */
export interface Deltas {
  add(text: string): void;
  /** Announces that the call is repeated, and starts the text again. */
  repeat(repeat: Repeat): void;
  /** Offers the rest of the text without waiting until a client receives it; a later `Broadcast.send` follows it. Does not reject. */
  end(): Promise<void>;
}

/** The text of a model call, and how much of it may be sent. */
interface Stream {
  ofCall: Pick<ChatDelta, "runId" | "sessionKey" | "attempt" | "step">;
  text: string;
  /** Characters of the text that may be sent so far. */
  due: number;
  /** How often the call was repeated, and the event for the last repeat. */
  repeats: number;
  retry?: ChatRetry;
}

/** A client's position in the stream. */
interface Follower {
  /** `out`: an event could not be delivered, so it gets no further one. */
  state: "free" | "sending" | "out";
  /** Repeats of the call that were announced to it. */
  repeats: number;
  /** Characters of the text that were sent to it. */
  sent: number;
  /** Number of its next delta. */
  seq: number;
}

/**
 * Starts a stream of deltas.
 * The first piece is sent at once. Each client gets one event at a time; pieces that arrive meanwhile are joined, so a slow
 * client gets fewer events and delays no other. Events have `attempt`, so that a client starts over when a crashed attempt
 * is repeated, `step`, and `seq`, which counts each client's events of one model call from 0.
 * @param clients connection ids; called before each event, so that a revoked client whose socket is still open gets no more
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
  let offering = Promise.resolve();
  const offerToAll = async () => {
    for (const connectionId of await clients()) {
      const follower = followers.get(connectionId) ?? { state: "free", repeats: 0, sent: 0, seq: 0 };
      followers.set(connectionId, follower);
      void bringUpToDate(stream, follower, (event) => broadcast.offer(connectionId, "chat", event));
    }
  };
  const offer = () => {
    offering = offering.then(offerToAll).catch(() => {});
  };
  const flush = () => {
    timer = undefined;
    if (stream.due === stream.text.length) return;
    stream.due = stream.text.length;
    offer();
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
      offer();
    },
    async end() {
      clearTimeout(timer);
      flush();
      clearTimeout(timer);
      await offering;
    },
  };
}

/** Offers a client all events that it lacks, one after the other, unless an earlier call is doing so. */
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
