import { clientName } from "../../../shared/approvals/answer.ts";
import { putGrant } from "../../../shared/approvals/grants.ts";
import { settleRequest, stateOf } from "../../../shared/approvals/requests.ts";
import { setRequestsAside } from "../../../shared/approvals/withdraw.ts";
import type { ApprovalAnswer } from "../../../shared/protocol/approvals.ts";
import { type AssistantMessage, toolCallsOf } from "../../../shared/protocol/messages.ts";
import { log } from "../../../shared/runtime/log.ts";
import type { PendingCall, Run } from "../../../shared/session/run.ts";
import { requestsOf, type WaitingRequest } from "../../../shared/session/waiting.ts";
import { add, remove, type Step, set } from "../../../shared/world/expression.ts";
import type { ItemValue } from "../../../shared/world/world.ts";
import type { Agent } from "../agent.ts";
import { type ConnectedPeers, freshPeersMs } from "../context/connected-peers.ts";
import { loadContext, type TurnContext } from "../context/model-request.ts";
import { cancelTasks } from "../mcp/cancel-tasks.ts";
import { callsDeadline } from "../model-step.ts";
import type { SessionWriter } from "../session-writer.ts";
import { closeRequests, tellClients, tellSetAside } from "./ask-owner.ts";
import { checkAllowed } from "./decide.ts";
import { pendingCalls, planCalls } from "./tool-calls.ts";

/** What follows from an answer: the call is carried out, as this pending call if it waits for somebody, or it ends. */
type Consequence = { pending: PendingCall | undefined } | { error: string; isVoid?: true };

/**
 * Commits what follows from the owner's answers, and from a message that sets requests aside. An allowed call becomes a
 * pending call, or one without an outcome: the next step carries it out. So an answer is used once, by the holder of the lease.
 */
export async function actOnAnswers(
  agent: Agent,
  writer: SessionWriter,
  peers: ConnectedPeers,
  run: Run,
  reply: AssistantMessage,
): Promise<void> {
  const { sessionKey } = writer;
  const aside = await setRequestsAside(agent.table, sessionKey);
  await closeRequests(agent, writer, run, aside, "withdrawn");
  await cancelTasks(agent, run, new Set(aside.map(({ callId }) => callId)));
  await tellSetAside(agent, sessionKey, run, aside);
  const answered = requestsOf(run).filter(({ approval }) => approval.answer);
  const turn = await loadContext(agent, writer.state, run, peers.known(agent.now() - freshPeersMs));
  const after = await Promise.all(
    answered.map(async (one) => ({ one, end: await consequenceOf(agent, writer, turn, run, reply, one) })),
  );
  const pending = Object.fromEntries(
    after.flatMap(({ one, end }) => ("pending" in end && end.pending ? [[one.callId, end.pending]] : [])),
  );
  const deadline = callsDeadline(
    run,
    { ...withoutAnswered(run), ...pending },
    turn.configuration.timeouts.toolMs,
    agent.now(),
  );
  const denied = new Set(
    after.filter(({ one }) => one.approval.answer?.decision === "deny").map(({ one }) => one.approval.id),
  );
  await writer.commit([
    ...consequenceSteps(after.map(({ one, end }) => ({ callId: one.callId, end }))),
    ...answerSteps(run, answered),
    add(["run", "decided"], -answered.length),
    ...(denied.size > 0 ? [add(["run", "denials"], denied.size)] : []),
    set(["run", "deadline"], deadline),
    // Only repeats of the same calls count, not answers.
    set(["run", "attempt"], 0),
    remove(["run", "retryAt"]),
    remove(["run", "sent"]),
  ]);
  for (const { one, end } of after) await recordUse(agent, writer, run, one, "isVoid" in end);
}

function withoutAnswered({ pending }: Run): Run["pending"] {
  return Object.fromEntries(Object.entries(pending).filter(([, { approval }]) => !approval?.answer));
}

/** Notes the answers for the log of decisions. */
function answerSteps({ decisions }: Run, answered: readonly WaitingRequest[]): Step[] {
  return answered.flatMap(({ callId, approval: { answer } }) =>
    answer && Object.hasOwn(decisions?.calls ?? {}, callId)
      ? [set(["run", "decisions", "calls", callId, "answer"], answer as unknown as ItemValue)]
      : [],
  );
}

/** One update adds to a field once. */
function consequenceSteps(after: readonly { callId: string; end: Consequence }[]): Step[] {
  const ended = after.filter(({ end }) => !("pending" in end && end.pending));
  const results = ended.flatMap(({ callId, end }) =>
    "error" in end ? [{ callId, body: JSON.stringify({ error: end.error, origins: [] }) }] : [],
  );
  return [
    ...after.map(({ callId, end }) => {
      const pending = "pending" in end ? end.pending : undefined;
      const path = ["run", "pending", callId];
      return pending ? set(path, pending as unknown as ItemValue) : remove(path);
    }),
    ...results.map(({ callId, body }) => set(["run", "results", callId], body)),
    ...(ended.length > 0 ? [add(["run", "pendingCount"], -ended.length)] : []),
    ...(results.length > 0
      ? [
          add(
            ["run", "resultBytes"],
            results.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0),
          ),
        ]
      : []),
  ];
}

/** Checks again what the answer was about, by the committed transcript. */
async function consequenceOf(
  agent: Agent,
  { sessionKey, state }: SessionWriter,
  turn: TurnContext,
  run: Run,
  reply: AssistantMessage,
  { callId, approval }: WaitingRequest,
): Promise<Consequence> {
  const { answer } = approval;
  const call = toolCallsOf(reply).find(({ id }) => id === callId);
  // The process that wrote the answer may have died. After the commit, nothing would tell the answer any more.
  if (answer) await settleRequest(agent.table, approval.id, stateOf(answer), answer);
  if (!answer || !call) return { error: "not run: its request is not readable", isVoid: true };
  const { requester } = approval;
  const remote = run.pending[callId]?.remote;
  if (requester?.kind === "mcp" && remote) {
    const { afterAnswer } = await import("../mcp/server-questions.ts");
    return afterAnswer({ tool: call.name, remote }, requester, answer);
  }
  if (answer.decision === "deny") return { error: deniedText(answer) };
  const [planned] = await planCalls(agent, sessionKey, turn, run, reply, [call]);
  if (!planned || planned.by === "nobody")
    return { error: `not run: it was allowed, but now: ${planned?.error ?? "it is unknown"}`, isVoid: true };
  const where = { ...state, run };
  const checked = await checkAllowed(turn, where, reply, call, approval);
  if ("error" in checked) return { ...checked, isVoid: true };
  // Before the commit, so that a crash in between loses no grant.
  const place = { sessionKey, sessionId: state.sessionId, runId: run.runId };
  if (answer.scope !== "once") await putGrant(agent.table, checked.grant, checked.equalHash, place);
  return { pending: pendingCalls([planned], agent.now())[callId] };
}

function deniedText({ note }: ApprovalAnswer): string {
  const said = note === undefined ? "" : `: ${note}`;
  return `denied by your human${said}. Do not reach the same in another way; say what is missing`;
}

/** Logs what an answer led to, and reports a call that does not run. */
export async function recordUse(
  agent: Agent,
  writer: SessionWriter,
  run: Run,
  one: WaitingRequest,
  isVoid: boolean,
): Promise<void> {
  const { id, answer } = one.approval;
  const { sessionKey } = writer;
  log("approval.used", { sessionKey, runId: run.runId, id, callId: one.callId, decision: answer?.decision });
  if (isVoid) await closeRequests(agent, writer, run, [one], "void", answer);
  // The method that a client calls tells the others.
  else if (answer && !answer.by.startsWith(clientName("")))
    await tellClients(agent, writer, run, [one], { state: stateOf(answer), answer });
}
