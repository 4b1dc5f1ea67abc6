import { holdsImages } from "../../../shared/media/media-content.ts";
import { type NodeCall, nodeCallFrame } from "../../../shared/peers/node-call.ts";
import type { PeerRecord } from "../../../shared/peers/registry.ts";
import { code, PeerError } from "../../../shared/protocol/errors.ts";
import { toolCallsOf } from "../../../shared/protocol/messages.ts";
import type { Receipt } from "../../../shared/protocol/results.ts";
import { correlate, log, logError } from "../../../shared/runtime/log.ts";
import { type CallAddress, decodeCallAddress } from "../../../shared/session/call-address.ts";
import { type CallOutcome, recordResult } from "../../../shared/session/calls.ts";
import { toolResultEvent, toResultMessage } from "../../../shared/session/result-message.ts";
import { needsAgent, type SessionState } from "../../../shared/session/state.ts";
import { readMessages } from "../../../shared/session/transcript.ts";
import type { Gateway } from "../gateway.ts";
import { closeSocket } from "../socket-lifecycle.ts";
import { recordCommand, runningCommand } from "./background-commands.ts";
import { answerDeferred, dropDeferred, readDeferred } from "./deferred.ts";

/** Max length of a sort key in DynamoDB, in bytes of UTF-8. */
const maxKeyBytes = 1024;

/**
 * Sends a call to a node.
 * @throws PeerError 503 when the node is gone or does not read its messages, 413 when the call is too large; the deferred
 * request is deleted in each case
 */
export async function askNode(
  gateway: Gateway,
  node: PeerRecord,
  callId: string,
  call: NodeCall,
): Promise<void> {
  const outcome = await gateway.sockets.post(node.connectionId, nodeCallFrame(callId, call));
  if (outcome === "sent") return;
  await dropDeferred(gateway, node.id, callId);
  if (outcome === "too large") throw new PeerError(code.tooLarge, "args: too large for one frame");
  if (outcome === "busy") {
    throw new PeerError(code.unavailable, `node does not read its messages: ${node.id}`, {
      retryable: true,
    });
  }
  await closeSocket(gateway, node.connectionId);
  throw new PeerError(code.unavailable, `node disconnected: ${node.id}`, { retryable: true });
}

/**
 * Accepts a node's result of a session's tool call or of a deferred request. A late or repeated result of a
 * session's call changes nothing and is reported as `dropped`.
 * @throws PeerError 404 for a call that was not sent to this node
 */
export async function acceptResult(
  gateway: Gateway,
  nodeId: string,
  callId: string,
  outcome: CallOutcome,
): Promise<Receipt> {
  const address = decodeCallAddress(callId);
  if (address) {
    correlate(address.runId);
    const running = runningCommand(outcome);
    if (running !== undefined) await recordCommand(gateway, nodeId, callId, address, running);
    const recorded = await recordResult(gateway, address, nodeId, outcome, gateway.now());
    const { sessionKey, runId } = address;
    log("tool.result", { sessionKey, runId, callId: address.callId, nodeId, status: recorded.status });
    if (recorded.status === "unknown") throw new PeerError(code.notFound, "unknown call");
    // Also for a repeated result: the first invocation may have crashed before it woke the agent.
    if (needsAgent(recorded.state, gateway.now())) await gateway.wake(address.sessionKey);
    if (recorded.status === "recorded") await announceEarly(gateway, address, recorded.state, outcome);
    return recorded.status === "recorded" ? { ok: true } : { ok: true, dropped: true };
  }
  // The gateway creates no longer ids, and the table refuses longer keys.
  const isKey = Buffer.byteLength(callId) <= maxKeyBytes;
  const waiting = isKey ? await readDeferred(gateway, nodeId, callId) : undefined;
  if (!waiting) throw new PeerError(code.notFound, "unknown call");
  await answerDeferred(gateway, waiting, outcome);
  // Deleted after the response, so that a retry by the node can answer after a failure. Clients ignore a
  // second response to the same request id.
  await dropDeferred(gateway, nodeId, callId);
  return { ok: true };
}

/**
 * Announces a result to clients while its run still waits for others, so that they show it at once. After the last result
 * the agent announces all of them again. A result with images is only announced then. Does not throw.
 * @param state the session after the result was stored
 */
async function announceEarly(
  gateway: Pick<Gateway, "table" | "bucket" | "broadcast" | "now">,
  { sessionKey, runId, step, callId }: CallAddress,
  state: SessionState,
  outcome: CallOutcome,
): Promise<void> {
  const { run } = state;
  const isAwaited = run?.runId === runId && run.step === step && run.pendingCount > 0;
  if (!isAwaited || holdsImages(outcome.result)) return;
  try {
    // While a run waits for tools, the newest message is the reply that called them.
    const [clients, [reply]] = await Promise.all([
      gateway.broadcast.clients(),
      readMessages(gateway, state, state.head, state.head),
    ]);
    const call = reply && toolCallsOf(reply).find(({ id }) => id === callId);
    if (!call) return;
    const event = toolResultEvent(sessionKey, runId, call, toResultMessage(call, outcome, gateway.now()));
    await gateway.broadcast.send(clients, "tool.result", event, { ...event, args: {} });
  } catch (error) {
    logError("announce.failed", error, { sessionKey, runId });
  }
}
