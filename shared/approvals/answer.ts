import type { AnswerResult, Approval, ApprovalAnswer } from "../protocol/approvals.ts";
import { code, PeerError } from "../protocol/errors.ts";
import { correlate } from "../runtime/log.ts";
import { dueSteps } from "../session/due.ts";
import { readSession } from "../session/sessions.ts";
import { metaKey, needsAgent, type SessionState, toState } from "../session/state.ts";
import { requestsOf } from "../session/waiting.ts";
import { above, absent, add, all, differs, equal, set } from "../world/expression.ts";
import { ConditionFailed, type ItemValue, type Table, type WakeAgent } from "../world/world.ts";
import { scopesOf } from "./requester.ts";
import { readRequest, recordEnd, stateOf } from "./requests.ts";

/**
 * Answers a request, for all equal calls that share it. One conditional write decides: the first answer counts, and none after
 * a stop, the end of the wait, or the end of the run. Then the agent is woken, if no other one will see the answer.
 * @param answer with the request's hash, unless the caller shows requests only by their id, which contains it
 * @throws PeerError 404 when there is no such request; 409 when the hash is another one's; 400 when it cannot be allowed for so long
 */
export async function answerRequest(
  { table, wake }: { table: Table; wake: WakeAgent },
  id: string,
  { hash, ...answer }: ApprovalAnswer & { hash?: string },
): Promise<{ result: AnswerResult; approval: Approval }> {
  const approval = await readRequest(table, id);
  if (!approval)
    throw new PeerError(
      code.notFound,
      `there is no request ${id}; \`gsv approvals list\` shows the open ones`,
    );
  correlate(approval.runId);
  if (hash !== undefined && hash !== approval.hash)
    throw new PeerError(code.conflict, `hash: request ${id} is about something else; look at it again`);
  const scopes = scopesOf(approval);
  if (answer.decision === "allow" && !scopes.includes(answer.scope))
    throw new PeerError(code.badRequest, `scope: this can only be allowed for: ${scopes.join(", ")}`);
  for (;;) {
    let state = await readSession(table, approval.sessionKey);
    const result = standing(state, approval, answer);
    // The process that wrote an answer may have died before it woke the agent.
    if (result !== "open" && state && needsAgent(state, answer.at)) await wake(approval.sessionKey);
    if (!state || (result !== "open" && result.status !== "answered"))
      return {
        result: result === "open" ? { status: "gone" } : result,
        approval: { ...approval, ...givenAnswer(state, approval) },
      };
    try {
      if (result === "open") state = await writeAnswer(table, state, approval, answer);
      await recordEnd(table, id, stateOf(answer), answer);
      if (result === "open" && needsAgent(state, answer.at)) await wake(approval.sessionKey);
      return { result: { status: "answered" }, approval: { ...approval, answer } };
    } catch (error) {
      if (!(error instanceof ConditionFailed)) throw error;
    }
  }
}

/** Who answers, for a client with a token of this name. */
export function clientName(token: string): string {
  return `client ${token}`;
}

/** The answer that counts, if there is one. */
function givenAnswer(state: SessionState | undefined, { id, answer }: Approval): Pick<Approval, "answer"> {
  const waiting = requestsOf(state?.run).find(({ approval }) => approval.id === id)?.approval.answer;
  const given = waiting ?? answer;
  return given ? { answer: given } : {};
}

/** How a request stands, by its session, which alone decides. */
function standing(
  state: SessionState | undefined,
  approval: Approval,
  { by, at: now, decision, scope }: ApprovalAnswer,
): AnswerResult | "open" {
  const { id, runId, step, until } = approval;
  const run = state?.run;
  const mine = requestsOf(run).find((one) => one.approval.id === id);
  const { answer: given } = givenAnswer(state, approval);
  // A repeat of this write, whose response was lost.
  const isSame = given?.decision === decision && given.scope === scope;
  if (isSame && given.by === by && given.at === now) return { status: "answered" };
  if (given) return { status: "already", decision: given.decision, by: given.by, at: given.at };
  if (approval.state === "withdrawn" || state?.stop === runId) return { status: "withdrawn" };
  if (approval.state === "unanswered" || until <= now) return { status: "expired" };
  // A run that fails keeps its requests until its end, but acts on no answer.
  const isWaiting = mine && run?.runId === runId && run.step === step && run.phase === "tools";
  return isWaiting ? "open" : { status: "gone" };
}

async function writeAnswer(
  table: Table,
  { sessionKey, run }: SessionState,
  { id, hash, runId, step }: Approval,
  answer: ApprovalAnswer,
): Promise<SessionState> {
  const key = metaKey(sessionKey);
  const mine = requestsOf(run).filter(({ approval }) => approval.id === id);
  const at = (callId: string, field: string) => ["run", "pending", callId, "approval", field];
  const steps = [
    ...mine.map(({ callId }) => set(at(callId, "answer"), answer as unknown as ItemValue)),
    add(["run", "decided"], mine.length),
    ...dueSteps(key, answer.at),
  ];
  const isOpen = all(
    equal(["run", "runId"], runId),
    equal(["run", "step"], step),
    equal(["run", "phase"], "tools"),
    differs("stop", runId),
    ...mine.flatMap(({ callId }) => [
      equal(at(callId, "hash"), hash),
      absent(at(callId, "answer")),
      above(at(callId, "until"), answer.at),
    ]),
  );
  return toState(await table.update(key, steps, isOpen));
}
