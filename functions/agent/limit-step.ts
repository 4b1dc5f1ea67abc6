import { requestBy } from "../../shared/approvals/requester.ts";
import { countOpen, pendingRequest, settleRequest, stateOf } from "../../shared/approvals/requests.ts";
import { setRequestsAside } from "../../shared/approvals/withdraw.ts";
import type { BudgetRequester } from "../../shared/protocol/approvals.ts";
import { PeerError } from "../../shared/protocol/errors.ts";
import { log } from "../../shared/runtime/log.ts";
import { readOutcomes, scheduleTimeout } from "../../shared/session/calls.ts";
import { allowedMore, type Run, waitingFor, wordsRead } from "../../shared/session/run.ts";
import { assign } from "../../shared/session/state.ts";
import { isSetAside, isSuperseded, requestsOf, type WaitingRequest } from "../../shared/session/waiting.ts";
import { raiseBudget } from "../../shared/spend/budget-state.ts";
import type { Agent } from "./agent.ts";
import type { ConnectedPeers } from "./context/connected-peers.ts";
import { failRun } from "./reply/delivery.ts";
import { releaseForCalls } from "./reply-step.ts";
import { type Next, runOf, type SessionWriter } from "./session-writer.ts";
import { recordUse } from "./tools/act-on-answers.ts";
import { askOwner, closeRequests, closeUnanswered, tellSetAside } from "./tools/ask-owner.ts";
import { recordLimit } from "./tools/record-decisions.ts";
import { maxOpen, requestEnd } from "./tools/request-limits.ts";

/** The pending call of a run that waits at a limit. Its step has no reply yet, so no call of the model has this id. */
const callId = "budget";

/**
 * Commits that the run waits for the owner's answer, at the limit of a budget with `ask`. The next iteration shows the request.
 * @param error of the run, unless the owner allows more
 * @returns false when nobody is asked: the owner has written something else, or too many requests wait
 */
export async function waitAtLimit(
  agent: Agent,
  writer: SessionWriter,
  error: string,
  requester: BudgetRequester,
): Promise<boolean> {
  const now = agent.now();
  if (isSuperseded(writer.state) || (await countOpen(agent.table, now)) >= maxOpen.all) return false;
  const run = runOf(writer);
  const request = requestOf(writer, run, requester, {
    at: now,
    until: requestEnd(await agent.configuration.load(), run, now),
  });
  const { id: requestId, until, tool } = request;
  const decisions = {
    at: now,
    calls: { [callId]: { decision: "ask", why: request.why, requestId } },
  } as const;
  const waiting = waitingFor(run, { [callId]: pendingRequest(request, tool) }, until, {}, decisions);
  log("budget.asked", { sessionKey: writer.sessionKey, runId: run.runId, ruleId: requester.ruleId });
  await writer.commit([assign("run", { ...waiting, limit: { error, tool } })]);
  return true;
}

function requestOf(
  { sessionKey, state: { sessionId } }: SessionWriter,
  run: Run,
  requester: BudgetRequester,
  when: { at: number; until: number },
) {
  const { runId, step } = run;
  const place = { sessionKey, sessionId, runId, step, callId };
  return requestBy(requester, place, { ...when, origins: wordsRead(run) });
}

/** The step of a run that waits at the limit of a budget: shows the request, or continues or ends the run. */
export async function limitStep(
  agent: Agent,
  writer: SessionWriter,
  peers: ConnectedPeers,
  run: Run,
  { error }: NonNullable<Run["limit"]>,
): Promise<Next> {
  const { sessionKey } = writer;
  const aside = isSetAside(writer.state) ? await setRequestsAside(agent.table, sessionKey) : [];
  await closeRequests(agent, writer, run, aside, "withdrawn");
  await tellSetAside(agent, sessionKey, run, aside);
  const [one] = aside.length > 0 ? [] : requestsOf(run);
  if (one && !one.approval.answer) return wait(agent, writer, peers, run, one);
  if (!one) await closeUnanswered(agent, run, await readOutcomes(agent, sessionKey, run, [{ id: callId }]));
  const end = one ? await actOn(agent, writer, run, one) : { error };
  await recordLimit(agent, sessionKey, run, "error" in end ? end.error : undefined);
  if ("error" in end) await failRun(agent, writer, end.error, {});
  else await writer.commit([assign("run", end.run)]);
  if (one) await recordUse(agent, writer, run, one, "isVoid" in end);
  return "continue";
}

/** Shows the request, again after a crash and as a reminder, and releases the session. */
async function wait(
  agent: Agent,
  writer: SessionWriter,
  peers: ConnectedPeers,
  run: Run,
  { approval }: WaitingRequest,
): Promise<Next> {
  const { requester, at, until } = approval;
  if (requester?.kind === "budget") {
    const configuration = await agent.configuration.load();
    await scheduleTimeout(agent, writer.sessionKey, run);
    const request = requestOf(writer, run, requester, { at, until });
    await askOwner(agent, { configuration }, [request], peers, run);
  }
  return releaseForCalls(writer);
}

/** What follows from the answer. A raise for the day is stored before the commit, under the request's id: a repeat is the same. */
async function actOn(
  agent: Agent,
  writer: SessionWriter,
  run: Run,
  { approval }: WaitingRequest,
): Promise<{ run: Run } | { error: string; isVoid?: true }> {
  const { id, hash, at, until, answer, requester } = approval;
  const error = run.limit?.error ?? "";
  // The process that wrote the answer may have died.
  if (answer) await settleRequest(agent.table, id, stateOf(answer), answer);
  if (answer?.decision !== "allow" || requester?.kind !== "budget") return { error };
  if (requestOf(writer, run, requester, { at, until }).hash !== hash) return { error, isVoid: true };
  const { ruleId, unit, spent, once, day } = requester;
  if (answer.scope === "day") {
    try {
      const amount = unit === "usd" ? { usd: day / 1_000_000 } : { tokens: day };
      const settings = await agent.configuration.load({ fresh: true });
      await raiseBudget(agent.table, settings, agent.now(), { id: ruleId, ...amount, raiseId: id });
    } catch (failure) {
      if (!(failure instanceof PeerError)) throw failure;
      return { error: `${error} It was not raised: ${failure.message}`, isVoid: true };
    }
    return { run: allowedMore(run, {}) };
  }
  const isOnce = answer.scope === "once";
  const allowance = isOnce ? { upTo: spent + once, once: true as const } : { upTo: spent + requester.run };
  return { run: allowedMore(run, { [ruleId]: allowance }) };
}
