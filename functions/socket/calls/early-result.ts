import { holdsImages } from "../../../shared/media/media-content.ts";
import { toolCallsOf } from "../../../shared/protocol/messages.ts";
import { logError } from "../../../shared/runtime/log.ts";
import type { CallAddress } from "../../../shared/session/call-address.ts";
import type { CallOutcome } from "../../../shared/session/calls.ts";
import { toolResultEvent, toResultMessage } from "../../../shared/session/results/result-message.ts";
import type { SessionState } from "../../../shared/session/state.ts";
import { readMessages } from "../../../shared/session/transcript.ts";
import type { Gateway } from "../gateway.ts";

/**
 * Tells clients of a result whose run still waits for others, so that each is seen as it comes. The agent tells of all
 * results once more when the last one has come. A result with images is left to it. Does not throw.
 * @param state the session after the result was stored
 */
export async function announceEarly(
  gateway: Pick<Gateway, "table" | "bucket" | "broadcast" | "now">,
  { sessionKey, runId, step, callId }: CallAddress,
  state: SessionState,
  outcome: CallOutcome,
): Promise<void> {
  const { run } = state;
  const isAwaited = run?.runId === runId && run.step === step && run.pendingCount > 0;
  if (!isAwaited || holdsImages(outcome.result)) return;
  try {
    // While a run waits for its tools, the newest message is the one that called them.
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
