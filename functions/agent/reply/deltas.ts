import type { ChatDelta, ChatRetry } from "../../../shared/protocol/events.ts";
import type { Run } from "../../../shared/session/run.ts";
import type { Agent } from "../agent.ts";
import type { ConnectedPeers } from "../context/connected-peers.ts";
import type { Repeat } from "../model/model-call.ts";

/** Four delta events a second for a run: smooth enough to read along, and every event is billed. */
const leastIntervalMs = 250;

/**
 * Clients that were read longer ago than this are read again before the next event, so that a revoked one whose
 * socket could not be closed hears no more. Milliseconds.
 */
const freshClientsMs = 1000;

/** Streams an answer's text to clients while it grows: pieces are joined until the next event is due. */
export interface Deltas {
  add(text: string): void;
  /** Announces that the call is repeated, and begins the text anew. */
  repeat(repeat: Repeat): void;
  /** Sends what is left and waits for what is under way. */
  end(): Promise<void>;
}

/**
 * @param connected the clients to stream to
 * The first piece goes out at once. Events carry `attempt`, so that a client starts over when a crashed attempt is
 * repeated, `step`, and `seq` from 0 within one model call.
 */
export function streamDeltas(
  { broadcast, now }: Pick<Agent, "broadcast" | "now">,
  sessionKey: string,
  run: Pick<Run, "runId" | "attempt" | "step">,
  connected: Pick<ConnectedPeers, "at" | "clients">,
): Deltas {
  let waiting = "";
  let seq = 0;
  let sending = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  const { runId, attempt, step } = run;
  let recipients = connected;
  const clients = () => {
    if (now() - recipients.at > freshClientsMs) recipients = { at: now(), clients: broadcast.clients() };
    return recipients.clients;
  };
  const send = (payload: ChatDelta | ChatRetry) => {
    sending = sending.then(async () => broadcast.send(await clients(), "chat", payload)).catch(() => {});
  };
  const flush = () => {
    timer = undefined;
    if (waiting === "") return;
    const payload: ChatDelta = {
      runId,
      sessionKey,
      state: "delta",
      text: waiting,
      seq: seq++,
      attempt,
      step,
    };
    waiting = "";
    send(payload);
    timer = setTimeout(flush, leastIntervalMs);
  };
  return {
    add(text) {
      waiting += text;
      if (timer === undefined) flush();
    },
    repeat({ reason, waitMs }) {
      clearTimeout(timer);
      timer = undefined;
      waiting = "";
      seq = 0;
      send({ runId, sessionKey, state: "retry", reason, waitMs, attempt, step });
    },
    async end() {
      clearTimeout(timer);
      timer = undefined;
      flush();
      clearTimeout(timer);
      await sending;
    },
  };
}
