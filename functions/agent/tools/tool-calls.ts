import * as v from "valibot";
import { pendingRequest } from "../../../shared/approvals/requests.ts";
import { isStillOwner } from "../../../shared/channels/inbound/sender-role.ts";
import { type NodeCall, nodeCallFrame } from "../../../shared/peers/node-call.ts";
import { forgetPeer, readPeer } from "../../../shared/peers/registry.ts";
import type { Approval } from "../../../shared/protocol/approvals.ts";
import { maxFrameBytes } from "../../../shared/protocol/frames.ts";
import { isRecord } from "../../../shared/protocol/is-record.ts";
import { type AssistantMessage, type ToolCallBlock, toolCallsOf } from "../../../shared/protocol/messages.ts";
import { log } from "../../../shared/runtime/log.ts";
import { answererOf } from "../../../shared/session/asked-session.ts";
import { type CallAddress, encodeCallAddress } from "../../../shared/session/call-address.ts";
import { putIntent, putOutcome, recordResult, settleIntent } from "../../../shared/session/calls.ts";
import { whyLost } from "../../../shared/session/lost-calls.ts";
import type { CallDecision, PendingCall, Run } from "../../../shared/session/run.ts";
import type { Agent } from "../agent.ts";
import { leftText } from "../context/prompt.ts";
import { pendingRemote } from "../mcp/pending-remote.ts";
import { payingFor } from "../payer.ts";
import type { SessionWriter } from "../session-writer.ts";
import { whileTyping } from "../typing.ts";
import { mayUse } from "./agent-rights.ts";
import {
  type BegunCall,
  type NativeOutcome,
  type NativeTool,
  type RemotePlan,
  runNativeTool,
  type SessionMessage,
  type ToolCallContext,
  type ToolTurn,
} from "./native/native-tool.ts";
import { askedSession, sendToSession } from "./send-to-session.ts";
import { tellChange } from "./tell-changes.ts";

/** A tool call of the model, and what carries it out. */
export type PlannedCall = { call: ToolCallBlock; address: CallAddress; decision?: CallDecision } & (
  | { by: "node"; node: BegunCall }
  | { by: "session"; send: SessionMessage }
  | { by: "remote"; remote: RemotePlan }
  | { by: "gateway"; tool: NativeTool; args: unknown }
  /** `isRefused`: by a decision, which the commit of the reply contains. */
  | { by: "nobody"; error: string; isRefused?: true }
  /** The call waits until the owner has answered the request. */
  | { by: "owner"; request: Approval }
);

const cutOffText =
  "not run: your reply was cut off at its token limit, and the arguments may be incomplete. Ask for less at a time.";

const formerOwnerText = "the person who asked for this is no longer an owner";

const notSentText = "not run: it could not be sent when you called it. Call it again if it is still needed.";

/**
 * Plans for each call what carries it out: a node, a session or the gateway. An impossible call gets an error, and so does
 * every call on behalf of somebody who is no longer an owner.
 * @param calls the calls of the reply that are not done yet
 */
export async function planCalls(
  agent: Agent,
  sessionKey: string,
  turn: ToolTurn,
  run: Pick<Run, "runId" | "step" | "role">,
  reply: AssistantMessage,
  calls: readonly ToolCallBlock[] = toolCallsOf(reply),
): Promise<PlannedCall[]> {
  const { runId, step, role } = run;
  if (turn.sender && role !== "guest") {
    const newest = await agent.configuration.load({ fresh: true });
    if (!isStillOwner(newest, turn.sender)) {
      log("tool.refused", { sessionKey, runId, step, reason: formerOwnerText });
      return calls.map((call) => {
        const address = { sessionKey, runId, step, callId: call.id };
        return { call, address, by: "nobody", error: `not run: ${formerOwnerText}` };
      });
    }
  }
  // A configuration that was read since the tools were offered applies.
  const configuration = await agent.configuration.load({ anyAge: true });
  const planned = calls.map(async (call): Promise<PlannedCall> => {
    const address = { sessionKey, runId, step, callId: call.id };
    // A provider's client completes the JSON of cut-off arguments, so half a file would replace the whole one.
    if (reply.stopReason === "length") return { call, address, by: "nobody", error: cutOffText };
    if (!isRecord(call.arguments))
      return { call, address, by: "nobody", error: "arguments: expected a JSON object" };
    // These maps have only the tools of this turn: a model may call a tool that it was not offered, and may omit the prefix.
    const native = turn.native.get(call.name) ?? turn.native.get(`gsv__${call.name}`);
    const name = native?.definition.name ?? call.name;
    if (!mayUse(configuration, turn.agentId, name)) {
      const error = `${name} is not among the tools that the configuration gives you (agents.list[].tools)`;
      return { call, address, by: "nobody", error };
    }
    if (native) return planNative(agent, turn, address, call, native);
    const found = turn.nodeTools.get(call.name);
    if (!found) return { call, address, by: "nobody", error: `Tool not found: ${call.name}` };
    const { id, leftAt } = found.node;
    // It may have connected again since the model was called.
    if (leftAt !== undefined && !(await readPeer(agent.table, "node", id, agent.now()))) {
      const error = `${id} is ${leftText(leftAt, configuration.userTimezone)}`;
      return { call, address, by: "nobody", error };
    }
    const payload = { tool: found.bareName, args: call.arguments, conversation: turn.conversation };
    const node = sentToNode(agent, turn, address, { nodeId: id, event: "tool.invoke", payload });
    return { call, address, by: "node", node };
  });
  return Promise.all(planned);
}

function sentToNode(
  agent: Agent,
  { nodes }: Pick<ToolTurn, "nodes">,
  address: CallAddress,
  call: AddressedCall,
): BegunCall {
  const { nodeId } = call;
  const process = nodes.find(({ id }) => id === nodeId)?.instance ?? "";
  const start = async (sentTo: string | undefined) => {
    const error = await dispatchCall(agent, address, call, sentTo);
    return error === undefined ? undefined : { error, origins: [] };
  };
  return { nodeId, process, start };
}

/**
 * A native tool that asks a node or a session becomes a call of that node or session. Running the tool only determines
 * which one.
 */
async function planNative(
  agent: Agent,
  turn: ToolTurn,
  address: CallAddress,
  call: ToolCallBlock,
  tool: NativeTool,
): Promise<PlannedCall> {
  const parsed = v.safeParse(tool.schema, call.arguments, { abortEarly: true });
  if (!parsed.success) {
    const [issue] = parsed.issues;
    const error = `${v.getDotPath(issue) ?? "arguments"}: ${issue.message}`;
    return { call, address, by: "nobody", error };
  }
  if (!tool.asksNode && !tool.asksSession && !tool.remoteClass)
    return { call, address, by: "gateway", tool, args: parsed.output };
  const outcome = await runNativeTool(tool, parsed.output, { agent, turn, address });
  if ("ask" in outcome)
    return { call, address, by: "node", node: sentToNode(agent, turn, address, outcome.ask) };
  if ("begin" in outcome)
    return { call, address, by: "node", node: { ...outcome.begin, tool: tool.definition.name } };
  if ("send" in outcome) return { call, address, by: "session", send: outcome.send };
  if ("remote" in outcome) return { call, address, by: "remote", remote: outcome.remote };
  return {
    call,
    address,
    by: "nobody",
    error: outcome.ok ? "the tool asked no node and no session" : outcome.error,
  };
}

/** The results of calls that a decision has refused, as JSON by call id. */
export function refusedResults(planned: readonly PlannedCall[]): Record<string, string> {
  return Object.fromEntries(
    planned.flatMap((one) =>
      one.by === "nobody" && one.isRefused
        ? [[one.call.id, JSON.stringify({ error: one.error, origins: [] })]]
        : [],
    ),
  );
}

/** What was decided about planned calls, as the run stores it. @param at epoch ms */
export function decisionsOf(planned: readonly PlannedCall[], at: number): Run["decisions"] {
  const calls = planned.flatMap(({ call, decision }) => (decision ? [[call.id, decision] as const] : []));
  return { at, calls: Object.fromEntries(calls) };
}

/** The calls that wait for a node, a session or the owner, as the run stores them. @param now epoch ms */
export function pendingCalls(planned: readonly PlannedCall[], now: number): Record<string, PendingCall> {
  // Object.fromEntries, because the model chooses the ids: an assignment would lose `__proto__`.
  return Object.fromEntries(
    planned.flatMap((one): [string, PendingCall][] => {
      const { id, name: tool } = one.call;
      if (one.by === "node") {
        const { nodeId, process } = one.node;
        return [[id, { nodeId, tool, ...(process === undefined ? {} : { process }) }]];
      }
      if (one.by === "remote") return [[id, pendingRemote(one.remote, tool, now)]];
      if (one.by === "owner") return [[id, pendingRequest(one.request, tool)]];
      if (one.by !== "session" || one.send.waitSeconds === 0) return [];
      const asked = askedSession(one.address, one.send, now);
      return [[id, { nodeId: answererOf(asked.sessionKey), tool, asked }]];
    }),
  );
}

/** A call and the node that it is for. */
type AddressedCall = NodeCall & { nodeId: string };

/**
 * Sends a call to its node. A repeat is harmless: a process of a node runs a call id once, and another one does not get it.
 * @param process the process that the call was first sent to (`PendingCall`)
 * @returns undefined when it was sent, otherwise the error for the model
 */
export async function dispatchCall(
  agent: Pick<Agent, "table" | "sockets" | "now">,
  address: CallAddress,
  call: AddressedCall,
  process?: string,
): Promise<string | undefined> {
  const node = await readPeer(agent.table, "node", call.nodeId, agent.now());
  if (!node) return `Node not connected: ${call.nodeId}`;
  const lost = whyLost(process, node);
  if (lost !== undefined) return lost;
  const callId = encodeCallAddress(address);
  const outcome = await agent.sockets.post(node.connectionId, nodeCallFrame(callId, call));
  const { sessionKey, runId } = address;
  log("tool.dispatch", { sessionKey, runId, callId: address.callId, nodeId: call.nodeId, outcome });
  switch (outcome) {
    case "sent":
      return undefined;
    case "gone":
      await forgetPeer(agent.table, node.connectionId, agent.now());
      return `Node not connected: ${call.nodeId}`;
    case "busy":
      return `Node does not read its messages: ${call.nodeId}. Try again later`;
    case "too large":
      return `The arguments are too large to send to a node (limit ${maxFrameBytes} bytes)`;
  }
}

/**
 * Sends all node calls in parallel. Meanwhile runs the gateway's own calls and sends messages to sessions, one at a time in
 * the model's order, until the run is stopped or the lease is lost. Shows "typing" on the run's channel: for calls of nodes
 * once, because no function runs until their results arrive. Resolves after everything that it started has ended, so that
 * nothing continues without the lease.
 */
export async function carryOutCalls(
  agent: Agent,
  writer: Pick<SessionWriter, "interrupted" | "account" | "commit" | "state" | "sessionKey" | "untold">,
  turn: ToolTurn,
  run: Run,
  planned: readonly PlannedCall[],
): Promise<void> {
  const isPending = ({ call }: PlannedCall) => Object.hasOwn(run.pending, call.id);
  const sent = planned.map(async (one) => {
    // When the reply was committed, something else had to carry it out, which nothing waits for: its node was not connected.
    if ((one.by === "node" || one.by === "remote" || one.by === "owner") && !isPending(one))
      return void (await putOutcome(agent, one.address, { error: notSentText, origins: [] }, agent.now()));
    if (one.by !== "node") return;
    const outcome = await one.node.start(run.pending[one.call.id]?.process);
    if (!outcome && one.node.tool !== undefined) {
      const { agentId } = turn;
      await tellChange(agent, run, one.address, { agentId, tool: one.node.tool, args: one.call.arguments });
    }
    if (outcome) await recordResult(agent, one.address, one.node.nodeId, outcome, agent.now());
  });
  // The calls of a session are made one after the other: while tools run, no model is called.
  const payment = async () => {
    const occasion = payingFor(await agent.configuration.load(), run, planned[0]?.address.sessionKey ?? "");
    return { account: writer.account, occasion };
  };
  const remote = planned.flatMap((one) => (one.by === "remote" && isPending(one) ? [one] : []));
  const asked = async () => {
    if (remote.length === 0) return;
    const { carryOutRemote } = await import("../mcp/remote-calls.ts");
    await carryOutRemote(agent, writer, run, remote);
  };
  const native = async () => {
    for (const one of planned) {
      if (writer.interrupted.aborted) return;
      if (one.by === "gateway")
        await carryOutNative({ agent, turn, signal: writer.interrupted, payment }, run, one);
      else if (one.by === "session") await sendToSession(agent, turn, one.address, one.send, isPending(one));
      // A pending call keeps waiting for its node, even if the node is not connected now.
      else if (one.by === "nobody" && !one.isRefused) {
        const { remote, nodeId = "" } = (isPending(one) && run.pending[one.call.id]) || {};
        const outcome = { error: one.error, origins: [] };
        if (remote) await recordResult(agent, one.address, nodeId, outcome, agent.now());
        else if (!isPending(one)) await putOutcome(agent, one.address, outcome, agent.now());
      }
    }
  };
  const isWorking = planned.some(({ by }) => by !== "owner" && by !== "nobody");
  const ends = await whileTyping(agent, isWorking ? run.origin : undefined, () =>
    Promise.allSettled([...sent, asked(), native()]),
  );
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}

async function carryOutNative(
  context: Omit<ToolCallContext, "address">,
  run: Run,
  { tool, args, address }: Extract<PlannedCall, { by: "gateway" }>,
): Promise<void> {
  const { agent, turn } = context;
  const { sessionKey, runId } = address;
  const { name } = tool.definition;
  log("tool.native", { sessionKey, runId, tool: name });
  if (!tool.repeatable && !(await putIntent(agent.table, address, agent.now()))) return;
  const {
    inParallel,
    origins = [],
    ...result
  } = asSettled(await runNativeTool(tool, args, { ...context, address }));
  const stored = tool.repeatable
    ? putOutcome(agent, address, { result, origins }, agent.now())
    : settleIntent(agent, address, { result, origins });
  const isDone = "ok" in result && result.ok;
  const told = isDone
    ? tellChange(agent, run, address, { agentId: turn.agentId, tool: name, args })
    : undefined;
  await Promise.all([stored, inParallel, told]);
}

function asSettled(
  outcome: NativeOutcome,
): NativeOutcome & { inParallel?: Promise<void>; origins?: string[] } {
  return outcome;
}
