import type { Item } from "../../shared/aws/table.ts";
import { code } from "../../shared/protocol/errors.ts";
import { errorFrame, okFrame } from "../../shared/protocol/frames.ts";
import type { CallOutcome } from "../../shared/session/calls.ts";
import type { Gateway } from "./gateway.ts";
import { respond } from "./respond.ts";

/** A node that has not answered after this long is not waited for any more; seconds. */
const waitSeconds = 3600;

/** A request that a node answers: who asked, and in which shape the answer goes back. */
export interface Deferred {
  callId: string;
  nodeId: string;
  /** The node's connection at the time: when it ends, the answer will not come. */
  nodeConnectionId: string;
  /** The connection and request that wait. */
  connectionId: string;
  requestId: string;
  kind: "tool" | "logs" | "request";
  tool?: string;
  sessionKey?: string;
  /** For `tool.request`: the id by which the caller knows the call. */
  clientCallId?: string;
}

const keyOf = (nodeId: string, callId: string) => ({ pk: `DEFER#${nodeId}`, sk: callId });

export async function putDeferred(gateway: Gateway, deferred: Deferred): Promise<void> {
  const expiresAt = Math.floor(gateway.now() / 1000) + waitSeconds;
  const item = deferred as unknown as Item;
  await gateway.table.put({ ...item, ...keyOf(deferred.nodeId, deferred.callId), expiresAt });
}

/** Takes a waiting request out; undefined when there is none, or it was answered already. */
export async function takeDeferred(
  gateway: Gateway,
  nodeId: string,
  callId: string,
): Promise<Deferred | undefined> {
  const item = await gateway.table.delete(keyOf(nodeId, callId));
  return item as Deferred | undefined;
}

/** Hands a node's answer to whoever waits for it. */
export async function answerDeferred(
  gateway: Gateway,
  waiting: Deferred,
  outcome: CallOutcome,
): Promise<void> {
  if (waiting.kind === "request") {
    const { sessionKey, clientCallId: callId, tool } = waiting;
    const event = { sessionKey, callId, tool, isError: outcome.error !== undefined };
    await gateway.broadcast.send(
      await gateway.broadcast.clients(),
      "tool.result",
      { ...event, ...outcome },
      { ...event, error: "the result is too large for one event" },
    );
    return;
  }
  const frame =
    outcome.error === undefined
      ? okFrame(waiting.requestId, waiting.kind === "tool" ? { result: outcome.result } : outcome.result)
      : errorFrame(waiting.requestId, { code: code.internal, message: outcome.error });
  await respond(gateway, waiting.connectionId, frame);
}

/** A node's connection has ended: everybody who waits for an answer over it is told, with 503. */
export async function failDeferred(
  gateway: Gateway,
  nodeId: string,
  nodeConnectionId: string,
): Promise<void> {
  const items = await gateway.table.query({ pk: `DEFER#${nodeId}` });
  const waiting = items as unknown as Deferred[];
  const message = `node disconnected: ${nodeId}`;
  for (const one of waiting.filter((item) => item.nodeConnectionId === nodeConnectionId)) {
    if (!(await takeDeferred(gateway, nodeId, one.callId))) continue;
    if (one.kind === "request") await answerDeferred(gateway, one, { error: message });
    else {
      const error = { code: code.unavailable, message, retryable: true };
      await respond(gateway, one.connectionId, errorFrame(one.requestId, error));
    }
  }
}
