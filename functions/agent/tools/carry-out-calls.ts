import { log } from "../../../shared/runtime/log.ts";
import { putIntent, putOutcome, recordResult, settleIntent } from "../../../shared/session/calls.ts";
import type { Run } from "../../../shared/session/run.ts";
import type { Agent } from "../agent.ts";
import type { SessionWriter } from "../session-writer.ts";
import { type NativeOutcome, runNativeTool, type ToolTurn } from "./native/native-tool.ts";
import type { PlannedCall } from "./plan-calls.ts";
import { sendToSession } from "./send-to-session.ts";

/**
 * Sends all node calls in parallel. Meanwhile runs the gateway's own calls and sends messages to sessions, one at a time in
 * the model's order, until the run is stopped or the lease is lost. Resolves after everything that it started has ended, so
 * that nothing continues without the lease.
 */
export async function carryOutCalls(
  agent: Agent,
  writer: Pick<SessionWriter, "interrupted">,
  turn: ToolTurn,
  run: Run,
  planned: readonly PlannedCall[],
): Promise<void> {
  const isPending = ({ call }: PlannedCall) => Object.hasOwn(run.pending, call.id);
  const sent = planned.map(async (one) => {
    if (one.by !== "node" || !isPending(one)) return;
    const outcome = await one.node.start();
    if (outcome) await recordResult(agent, one.address, one.node.nodeId, outcome, agent.now());
  });
  const native = async () => {
    for (const one of planned) {
      if (writer.interrupted.aborted) return;
      if (one.by === "gateway") await carryOutNative(agent, turn, one);
      else if (one.by === "session") await sendToSession(agent, turn, one.address, one.send, isPending(one));
      // A pending call keeps waiting for its node, even if the node is not connected now.
      else if (one.by === "nobody" && !isPending(one))
        await putOutcome(agent, one.address, { error: one.error }, agent.now());
    }
  };
  const ends = await Promise.allSettled([...sent, native()]);
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}

async function carryOutNative(
  agent: Agent,
  turn: ToolTurn,
  { tool, args, address }: Extract<PlannedCall, { by: "gateway" }>,
): Promise<void> {
  const { sessionKey, runId } = address;
  log("tool.native", { sessionKey, runId, tool: tool.definition.name });
  if (!tool.repeatable && !(await putIntent(agent.table, address, agent.now()))) return;
  const { beside, ...result } = besides(await runNativeTool(tool, args, { agent, turn, address }));
  const stored = tool.repeatable
    ? putOutcome(agent, address, { result }, agent.now())
    : settleIntent(agent, address, { result });
  await Promise.all([stored, beside]);
}

function besides(outcome: NativeOutcome): NativeOutcome & { beside?: Promise<void> } {
  return outcome;
}
