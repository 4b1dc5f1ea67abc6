import type { SentCall } from "../../../shared/peers/cancel-calls.ts";
import { revoked } from "../../../shared/peers/tokens.ts";
import { code, errorShape } from "../../../shared/protocol/errors.ts";
import { errorFrame, okFrame, type ResponseFrame } from "../../../shared/protocol/frames.ts";
import type { Results } from "../../../shared/protocol/results.ts";
import { logError } from "../../../shared/runtime/log.ts";
import type { CallOutcome } from "../../../shared/session/calls.ts";
import type { Item } from "../../../shared/world/world.ts";
import { type Gateway, respond } from "../gateway.ts";

/** Lifetime of a deferred request until TTL removes it, in seconds. */
const waitSeconds = 3600;

/** A request that a node answers: the waiting connection, and the kind of response. */
export type Deferred = DeferredCall &
  (
    | { kind: "tool"; tool: string }
    | { kind: "logs" }
    /** `tool.request`, answered by an event. `clientCallId` is the call's id in that event. */
    | { kind: "request"; tool: string; sessionKey: string; clientCallId: string }
  );

interface DeferredCall {
  callId: string;
  nodeId: string;
  /** The node's connection when the call was sent. The request fails when it ends. */
  nodeConnectionId: string;
  /** The connection and request that wait for the response. */
  connectionId: string;
  requestId: string;
  /** Id of the requester's token. */
  tokenId?: string;
}

const keyOf = (nodeId: string, callId: string) => ({ pk: `DEFER#${nodeId}`, sk: callId });

export async function putDeferred(gateway: Gateway, deferred: Deferred): Promise<void> {
  const expiresAt = Math.floor(gateway.now() / 1000) + waitSeconds;
  const item = deferred as unknown as Item;
  await gateway.table.put({ ...item, ...keyOf(deferred.nodeId, deferred.callId), expiresAt });
}

/** Reads a deferred request; undefined when it does not exist or was already answered. */
export async function readDeferred(
  gateway: Gateway,
  nodeId: string,
  callId: string,
): Promise<Deferred | undefined> {
  const item = await gateway.table.get(keyOf(nodeId, callId));
  return item as Deferred | undefined;
}

/** Deletes a deferred request. */
export async function dropDeferred(gateway: Gateway, nodeId: string, callId: string): Promise<void> {
  await gateway.table.delete(keyOf(nodeId, callId));
}

/**
 * Sends a node's result to the waiting connection, or for `tool.request` to every client as an event.
 */
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
  await answerWaiting(gateway, waiting, answerFrame(waiting, outcome));
}

/** Sends the response, or 401 if the requester's token was revoked meanwhile. */
async function answerWaiting(
  gateway: Gateway,
  { connectionId, requestId, tokenId }: Deferred,
  frame: ResponseFrame,
): Promise<void> {
  const isGood = tokenId === undefined || (await gateway.tokens.isGood(tokenId));
  await respond(gateway, connectionId, isGood ? frame : errorFrame(requestId, errorShape(revoked())));
}

function answerFrame({ kind, requestId }: Deferred, { result, error }: CallOutcome): ResponseFrame {
  if (error !== undefined) return errorFrame(requestId, { code: code.internal, message: error });
  // The handler of `logs.result` created this object.
  if (kind === "logs") return okFrame<"logs.get">(requestId, result as Results["logs.get"]);
  return okFrame<"tool.invoke">(requestId, { result });
}

/**
 * Fails the requests that wait on ended connections of a node, with 503. A request whose error cannot be sent
 * stays stored; the node's next `connect` fails it.
 */
export async function failDeferred(
  gateway: Gateway,
  nodeId: string,
  hasEnded: (nodeConnectionId: string) => boolean,
): Promise<void> {
  const items = await gateway.table.query({ pk: `DEFER#${nodeId}` });
  const waiting = (items as unknown as Deferred[]).filter((one) => hasEnded(one.nodeConnectionId));
  for (const one of waiting) {
    try {
      await failOne(gateway, one);
      await dropDeferred(gateway, nodeId, one.callId);
    } catch (error) {
      logError("deferred.failed", error, { nodeId, callId: one.callId });
    }
  }
}

/** The calls that a client's connection waits for. They stay stored: nodes answer cancelled calls too. */
export async function callsOfClient(
  { table }: Pick<Gateway, "table">,
  nodeIds: readonly string[],
  connectionId: string,
): Promise<SentCall[]> {
  const waiting = await Promise.all(nodeIds.map((nodeId) => table.query({ pk: `DEFER#${nodeId}` })));
  return (waiting.flat() as unknown as Deferred[]).filter((one) => one.connectionId === connectionId);
}

async function failOne(gateway: Gateway, waiting: Deferred): Promise<void> {
  const message = `node disconnected: ${waiting.nodeId}`;
  if (waiting.kind === "request") return answerDeferred(gateway, waiting, { error: message });
  const error = { code: code.unavailable, message, retryable: true };
  await answerWaiting(gateway, waiting, errorFrame(waiting.requestId, error));
}
