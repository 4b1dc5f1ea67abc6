import { type EqualCalls, hashOf, idOfHash } from "../../../shared/approvals/binding.ts";
import type { JudgedCall } from "../../../shared/approvals/classes.ts";
import { findGrantFor, useGrant } from "../../../shared/approvals/grants.ts";
import { type Decision, judge, policyOf } from "../../../shared/approvals/policy.ts";
import { requestBy } from "../../../shared/approvals/requester.ts";
import { countOpen } from "../../../shared/approvals/requests.ts";
import type { Approval, Grant } from "../../../shared/protocol/approvals.ts";
import {
  type AssistantMessage,
  type Message,
  type ToolCallBlock,
  toolCallsOf,
} from "../../../shared/protocol/messages.ts";
import { log } from "../../../shared/runtime/log.ts";
import { type CallDecision, type Run, type WaitingApproval, wordsRead } from "../../../shared/session/run.ts";
import type { SessionState } from "../../../shared/session/state.ts";
import { isSuperseded } from "../../../shared/session/waiting.ts";
import type { Agent } from "../agent.ts";
import type { TurnContext } from "../context/model-request.ts";
import { isQuoted } from "./quoted-address.ts";
import { maxOpen, requestEnd } from "./request-limits.ts";
import type { PlannedCall } from "./tool-calls.ts";

/** After so many denials in a run, what would be asked is refused. */
const maxDenials = 3;

/** The run whose calls are decided on, and its session. */
type DecidingRun = Pick<SessionState, "sessionKey" | "sessionId" | "inbox"> & { run: Run };

/** A call with everything that a decision and its binding depend on. */
interface Bound {
  judged: JudgedCall;
  equal: EqualCalls;
  /** Hash of `equal`. */
  equalHash: string;
}

/**
 * Decides about planned calls: the only way from a plan to its execution. A denied call becomes an error for the model, and a
 * call to ask about becomes one that waits for the owner (`by: "owner"`). Equal calls share a request.
 * @param shown the messages that the model saw
 */
export async function decideCalls(
  agent: Pick<Agent, "table" | "now">,
  turn: TurnContext,
  where: DecidingRun,
  planned: readonly PlannedCall[],
  shown: readonly Message[],
): Promise<PlannedCall[]> {
  const decided = await Promise.all(
    planned.map(async (one) => {
      if (one.by === "nobody") return { one };
      const bound = bind(turn, one.call, shown);
      return { one, bound, decision: await decide(agent, turn, where, bound) };
    }),
  );
  const requests = new Map<string, Approval>();
  const waiting = decided.some(({ decision }) => decision?.decision === "ask")
    ? await countOpen(agent.table, agent.now())
    : 0;
  return decided.map(({ one, bound, decision }): PlannedCall => {
    if (!bound) return one;
    if (decision.decision === "allow") return { ...one, decision: loggedAs(decision) };
    const { sessionKey, run } = where;
    log("tool.decided", {
      sessionKey,
      runId: run.runId,
      callId: one.call.id,
      tool: one.call.name,
      ...decision,
    });
    const refused = (error: string): PlannedCall => ({
      call: one.call,
      address: one.address,
      by: "nobody",
      error,
      isRefused: true,
      decision: { decision: "deny", why: decision.decision === "deny" ? decision.why : error },
    });
    if (decision.decision === "deny") return refused(`denied by policy: ${decision.why}`);
    if (run.role === "guest") return refused("not available here");
    // A request would be set aside at once, and the model would ask again.
    if (isSuperseded(where))
      return refused("not run, and not asked: your human has written something else meanwhile. Finish now");
    if ((run.denials ?? 0) >= maxDenials)
      return refused(
        "not run, and not asked: your human has denied several calls of this run. Finish without it",
      );
    const same = requests.get(bound.equalHash);
    if (!same && (requests.size >= maxOpen.reply || waiting + requests.size >= maxOpen.all))
      return refused("not run, and not asked: too many requests wait for your human. Ask for less at a time");
    const request = same ?? requestOf(agent.now(), turn, where, one.call, bound, decision);
    requests.set(bound.equalHash, request);
    const logged = { ...loggedAs(decision), requestId: request.id };
    return { call: one.call, address: one.address, by: "owner", request, decision: logged };
  });
}

function loggedAs({ decision, why }: Decision): CallDecision {
  return { decision, why };
}

/**
 * Plans calls that an earlier invocation was allowed to carry out, and may not have: not those that a rule denies by now, or
 * whose grant was revoked. An answer for once still counts.
 */
export async function decideAgain(
  { table }: Pick<Agent, "table">,
  turn: TurnContext,
  where: DecidingRun,
  planned: readonly PlannedCall[],
  shown: readonly Message[],
): Promise<PlannedCall[]> {
  const { sessionKey, sessionId, run } = where;
  const place = { sessionKey, sessionId, runId: run.runId };
  const decided = planned.map(async (one): Promise<PlannedCall> => {
    const before = Object.hasOwn(run.decisions?.calls ?? {}, one.call.id)
      ? run.decisions?.calls[one.call.id]?.decision
      : undefined;
    if (one.by === "nobody" || one.by === "owner" || before === undefined) return one;
    const { judged, equalHash } = bind(turn, one.call, shown);
    const findGrant = () => (before === "ask" ? Promise.resolve("") : findGrantFor(table, equalHash, place));
    const { decision, why } = await judge(
      policyOf(turn.configuration, turn.agentId),
      judged,
      wordsRead(run),
      findGrant,
    );
    if (decision === "deny" || (decision === "ask" && before === "allow")) return withdrawn(one, why);
    return one;
  });
  return Promise.all(decided);
}

/** A call that ends with an error instead of being carried out. */
function withdrawn(one: PlannedCall, why: string): PlannedCall {
  const error = `not run again: it was allowed, and no longer is (${why}). It may have run once`;
  const { call, address } = one;
  if (one.by === "remote") return { ...one, remote: { ...one.remote, refused: error } };
  if (one.by !== "node") return { call, address, by: "nobody", error };
  return { ...one, node: { ...one.node, start: async () => ({ error, origins: [] }) } };
}

/** The request of a call that waits already, as it was first shown. */
export async function requestAgain(
  turn: TurnContext,
  where: DecidingRun,
  call: ToolCallBlock,
  approval: WaitingApproval,
): Promise<Approval> {
  const { id, hash, at: createdAt, until, requester } = approval;
  if (requester) {
    const { sessionKey, sessionId, run } = where;
    const place = { sessionKey, sessionId, runId: run.runId, step: run.step, callId: call.id };
    return requestBy(requester, place, { at: createdAt, until, origins: wordsRead(run) });
  }
  const bound = bind(turn, call);
  const policy = policyOf(turn.configuration, turn.agentId);
  const decision = await judge(policy, bound.judged, wordsRead(where.run), async () => undefined);
  const request = requestOf(createdAt, turn, where, call, bound, decision);
  return { ...request, id, hash, until };
}

/** Decides about one call by the policy, the origins of the run's words, and the owner's earlier answers. */
function decide(
  { table, now }: Pick<Agent, "table" | "now">,
  { configuration, agentId }: TurnContext,
  { sessionKey, sessionId, run }: DecidingRun,
  { judged, equalHash }: Bound,
): Promise<Decision> {
  const findGrant = () => useGrant(table, equalHash, { sessionKey, sessionId, runId: run.runId }, now());
  return judge(policyOf(configuration, agentId), judged, wordsRead(run), findGrant);
}

/**
 * Checks an allowed call once more before it runs: everything that the answer was about is still the same, and no rule denies it.
 * @returns what the answer grants, if it counts for longer than once; or why the call is not run
 */
export async function checkAllowed(
  turn: TurnContext,
  where: DecidingRun,
  reply: AssistantMessage,
  call: ToolCallBlock,
  { id, hash, at, answer }: WaitingApproval,
): Promise<{ grant: Grant; equalHash: string } | { error: string }> {
  const { judged, equal, equalHash } = bind(turn, call);
  const { sessionKey, run } = where;
  const decision = await judge(
    policyOf(turn.configuration, turn.agentId),
    judged,
    wordsRead(run),
    async () => id,
  );
  if (decision.decision === "deny")
    return { error: `not run: it was allowed, but a rule denies it now: ${decision.why}` };
  // Equal calls share the request of the first of them.
  const isSame = toolCallsOf(reply).some((first) => {
    const bound = bind(turn, first);
    return bound.equalHash === equalHash && bindingHash(where, first, bound.equal) === hash;
  });
  if (!isSame)
    return { error: "not run: it was allowed, but its tool or its machine has changed since. Ask again" };
  const { scope = "once", by = "" } = answer ?? {};
  const grant: Grant = {
    ...{
      id,
      scope: scope === "session" || scope === "always" ? scope : "run",
      agentId: equal.agentId,
      tool: judged.tool,
      args: { ...judged.args },
    },
    ...(judged.node === undefined ? {} : { node: judged.node }),
    ...(scope === "always" ? {} : { sessionKey, runId: run.runId }),
    ...{ origins: [...wordsRead(run)], createdBy: by, createdAt: at, uses: 0 },
  };
  return { grant, equalHash };
}

function bindingHash(
  { sessionKey, sessionId, run }: DecidingRun,
  { id: callId }: ToolCallBlock,
  equal: EqualCalls,
) {
  return hashOf({ ...equal, sessionKey, sessionId, runId: run.runId, step: run.step, callId });
}

function bind(turn: TurnContext, call: ToolCallBlock, shown: readonly Message[] = []): Bound {
  const { agentId, native, nodeTools } = turn;
  const own = native.get(call.name) ?? native.get(`gsv__${call.name}`);
  const found = own ? undefined : nodeTools.get(call.name);
  const tool = own?.definition.name ?? call.name;
  const args = call.arguments as Record<string, unknown>;
  const bareName = found?.bareName ?? tool;
  const node = found && { id: found.node.id, tokenId: found.node.tokenId };
  const equal = {
    ...{ agentId, tool, args, schema: (own ?? found)?.definition.inputSchema ?? null },
    ...(node ? { node } : {}),
  };
  return {
    judged: {
      ...{ tool, bareName, args, isQuoted: isQuoted(shown, args.url) },
      ...(node ? { node: node.id } : {}),
      ...(own?.remoteClass ? { remoteClass: own.remoteClass } : {}),
    },
    equal,
    equalHash: hashOf(equal),
  };
}

function requestOf(
  now: number,
  { configuration }: TurnContext,
  where: DecidingRun,
  call: ToolCallBlock,
  { judged, equal }: Bound,
  { why, everyTime }: Pick<Decision, "why" | "everyTime">,
): Approval {
  const { sessionKey, run } = where;
  const hash = bindingHash(where, call, equal);
  return {
    ...{ id: idOfHash(hash), kind: "tool", state: "open", hash, sessionKey },
    ...{ runId: run.runId, step: run.step, callId: call.id },
    ...{ tool: judged.tool, args: { ...judged.args }, why, origins: [...wordsRead(run)] },
    ...(judged.node === undefined ? {} : { node: judged.node }),
    ...(everyTime ? { everyTime } : {}),
    ...{ createdAt: now, until: requestEnd(configuration, run, now) },
  };
}
