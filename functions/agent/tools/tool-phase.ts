import * as v from "valibot";
import { PeerError } from "../../../shared/protocol/errors.ts";
import {
  type AssistantMessage,
  type ToolCallBlock,
  type ToolResultMessage,
  toolCallsOf,
} from "../../../shared/protocol/messages.ts";
import { log, logError } from "../../../shared/runtime/log.ts";
import type { CallAddress } from "../../../shared/session/call-address.ts";
import {
  type CallOutcome,
  type Outcomes,
  putIntent,
  putOutcome,
  recordResult,
  settleIntent,
} from "../../../shared/session/calls.ts";
import type { PendingCall, Run } from "../../../shared/session/run.ts";
import { duePartition } from "../../../shared/session/state.ts";
import { writeMessages } from "../../../shared/session/transcript.ts";
import { set } from "../../../shared/world/expression.ts";
import type { ItemValue } from "../../../shared/world/world.ts";
import type { Agent } from "../agent.ts";
import type { TurnContext } from "../context/context.ts";
import type { Hold } from "../hold.ts";
import { type AddressedCall, dispatchCall } from "./dispatch.ts";
import type { NativeOutcome, NativeTool } from "./native-tool.ts";
import { nativeTools } from "./native-tools.ts";
import { toolResultEvent, toResultMessage } from "./tool-results.ts";

/** A tool call of the model, and how it is carried out. */
type PlannedCall = { call: ToolCallBlock } & (
  | { by: "node"; node: AddressedCall }
  | { by: "gateway"; tool: NativeTool; args: unknown }
  | { by: "nobody"; error: string }
);

const timedOutText = (run: Run) =>
  `the tool did not answer in time${run.deadline ? ` (by ${new Date(run.deadline).toISOString()})` : ""}`;

const cutOffText =
  "not run: your reply was cut off at its token limit, and the arguments may be incomplete. Ask for less at a time.";

/**
 * Decides for each call who carries it out; what cannot be carried out has its error already.
 * @param calls those of the reply that are not done yet
 */
export async function planCalls(
  agent: Agent,
  hold: Hold,
  turn: TurnContext,
  run: Run,
  reply: AssistantMessage,
  calls: readonly ToolCallBlock[] = toolCallsOf(reply),
): Promise<PlannedCall[]> {
  // A provider's client completes the JSON of arguments that were cut off: half a file would be written as the whole.
  if (reply.stopReason === "length") return calls.map((call) => ({ call, by: "nobody", error: cutOffText }));
  const planned = calls.map(async (call): Promise<PlannedCall> => {
    const native = Object.hasOwn(nativeTools, call.name) ? nativeTools[call.name] : undefined;
    if (native) return planNative(agent, turn, addressOf(hold, run, call), call, native);
    const found = turn.nodeTools.get(call.name);
    if (!found) return { call, by: "nobody", error: `Tool not found: ${call.name}` };
    const payload = { tool: found.bareName, args: call.arguments };
    return { call, by: "node", node: { nodeId: found.node.id, event: "tool.invoke", payload } };
  });
  return Promise.all(planned);
}

function addressOf({ sessionKey }: Hold, { runId, step }: Run, { id }: ToolCallBlock): CallAddress {
  return { sessionKey, runId, step, callId: id };
}

/** A native tool that asks a node is a node's call; to find out, it is asked here: such tools do nothing else. */
async function planNative(
  agent: Agent,
  turn: TurnContext,
  address: CallAddress,
  call: ToolCallBlock,
  tool: NativeTool,
): Promise<PlannedCall> {
  const parsed = v.safeParse(tool.schema, call.arguments, { abortEarly: true });
  if (!parsed.success) {
    const [issue] = parsed.issues;
    return { call, by: "nobody", error: `${v.getDotPath(issue) ?? "arguments"}: ${issue.message}` };
  }
  if (!tool.asksNode) return { call, by: "gateway", tool, args: parsed.output };
  const outcome = await runGuarded(tool, parsed.output, { agent, turn, address });
  if ("ask" in outcome) return { call, by: "node", node: outcome.ask };
  return { call, by: "nobody", error: outcome.ok ? "no node was asked" : outcome.error };
}

/** The calls that a node is to answer, as META holds them. */
export function pendingCalls(planned: readonly PlannedCall[]): Record<string, PendingCall> {
  const pending: Record<string, PendingCall> = {};
  for (const one of planned) {
    if (one.by === "node") pending[one.call.id] = { nodeId: one.node.nodeId, tool: one.call.name };
  }
  return pending;
}

/**
 * Sends the calls of nodes, all at once, and runs those of the gateway one after the other, in the model's order, until
 * the run is stopped or the lease lost. It ends when all that it began has ended: nothing goes on without the lease.
 */
export async function carryOut(
  agent: Agent,
  hold: Hold,
  turn: TurnContext,
  run: Run,
  planned: readonly PlannedCall[],
): Promise<void> {
  const sent = planned.map(async (one) => {
    if (one.by !== "node" || !(one.call.id in run.pending)) return;
    const address = addressOf(hold, run, one.call);
    const error = await dispatchCall(agent, address, one.node);
    if (error) await recordResult(agent, address, one.node.nodeId, { error }, agent.now());
  });
  const native = async () => {
    for (const one of planned) {
      if (hold.interrupted.aborted) return;
      const address = addressOf(hold, run, one.call);
      if (one.by === "gateway") await runNative(agent, turn, address, one.tool, one.args);
      // A call that waits for its node keeps waiting, whether or not the node is connected at this moment.
      else if (one.by === "nobody" && !(one.call.id in run.pending)) {
        await putOutcome(agent, address, { error: one.error }, agent.now());
      }
    }
  };
  const ends = await Promise.allSettled([...sent, native()]);
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}

async function runNative(
  agent: Agent,
  turn: TurnContext,
  address: CallAddress,
  tool: NativeTool,
  args: unknown,
): Promise<void> {
  const { sessionKey, runId } = address;
  log("tool.native", { sessionKey, runId, tool: tool.definition.name });
  if (!tool.repeatable && !(await putIntent(agent.table, address, agent.now()))) return;
  const outcome: CallOutcome = { result: await runGuarded(tool, args, { agent, turn, address }) };
  if (tool.repeatable) await putOutcome(agent, address, outcome, agent.now());
  else await settleIntent(agent, address, outcome);
}

/** A failing tool is the model's to mend, never the turn's end. */
async function runGuarded(
  tool: NativeTool,
  args: unknown,
  context: Parameters<NativeTool["run"]>[1],
): Promise<NativeOutcome> {
  try {
    return await tool.run(args as never, context);
  } catch (error) {
    if (error instanceof PeerError) return { ok: false, error: error.message };
    logError("tool.failed", error, { tool: tool.definition.name, sessionKey: context.address.sessionKey });
    return { ok: false, error: "internal error" };
  }
}

/** The results of a step's calls, and the run as it goes on with them. */
export interface CollectedResults {
  run: Run;
  calls: readonly ToolCallBlock[];
  /** One for each call, in the same order. */
  messages: ToolResultMessage[];
  /** Puts the messages into the transcript and moves the run on. */
  commit(): Promise<void>;
}

/** Makes the results of all calls into messages. The next model call may begin while they are being committed. */
export function collectResults(
  agent: Agent,
  hold: Hold,
  run: Run,
  reply: AssistantMessage,
  outcomes: Outcomes,
): CollectedResults {
  const calls = toolCallsOf(reply);
  const late = new Set(run.timedOut ?? []);
  const messages = calls.map((call) => {
    const known = late.has(call.id) ? undefined : outcomes.get(call.id);
    const outcome =
      known === "interrupted"
        ? { error: "interrupted, outcome unknown" }
        : (known ?? { error: timedOutText(run) });
    return toResultMessage(call, outcome, agent.now());
  });
  const { runId, startedAt, origin, overrides } = run;
  const next: Run = {
    runId,
    startedAt,
    origin,
    ...(overrides ? { overrides } : {}),
    phase: "model",
    step: run.step + 1,
    attempt: 1,
    pending: {},
    pendingCount: 0,
  };
  const commit = async () => {
    const { sessionId, head } = hold.state;
    await writeMessages(agent, hold.lease, sessionId, head + 1, messages);
    await hold.commit([
      set("head", head + messages.length),
      set("run", next as unknown as ItemValue),
      set("duePk", duePartition),
      set("dueAt", agent.now()),
    ]);
    agent.history.extend(hold.state, messages);
  };
  return { run: next, calls, messages, commit };
}

/** Tells clients what a run's tools returned. */
export async function announceResults(
  agent: Agent,
  sessionKey: string,
  runId: string,
  { calls, messages }: CollectedResults,
  listeners: Promise<readonly string[]>,
): Promise<void> {
  const clients = await listeners;
  for (const [i, call] of calls.entries()) {
    const message = messages[i];
    if (!message) continue;
    const event = toolResultEvent(sessionKey, runId, call, message);
    await agent.broadcast.send(clients, "tool.result", event, { ...event, args: {} });
  }
}
