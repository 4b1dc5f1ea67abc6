import type { AnswerScope, Approval, Requester } from "../protocol/approvals.ts";
import { dollarsOf } from "../spend/dollars.ts";
import { hashOf, idOfHash, type Place } from "./binding.ts";

/** How long an allowing answer may count. */
const offered: Record<Approval["kind"], readonly AnswerScope[]> = {
  tool: ["once", "run", "session", "always"],
  budget: ["once", "run", "day"],
};

/** The scopes with which a request can be allowed. */
export function scopesOf({ kind, everyTime }: Pick<Approval, "kind" | "everyTime">): readonly AnswerScope[] {
  return everyTime ? ["once"] : offered[kind];
}

/** What a requester asks, and what each answer means, a line each. Both together are all that an owner has to know. */
export function requesterTexts({ ruleId, unit, once, run, day }: Requester): {
  question: string;
  choices: string;
} {
  const show = (amount: number) => (unit === "usd" ? dollarsOf(amount) : `${amount} tokens`);
  const choices = [
    `once: at most ${show(once)} more, for the next call`,
    `run: at most ${show(run)} more, for the rest of this run`,
    `day: the limit is ${show(day)} higher today`,
  ];
  return { question: `May I spend more than the budget ${ruleId} allows?`, choices: choices.join("\n") };
}

/**
 * A requester's request, which `pendingRequest` stores with its call. The same place, requester and time make the same request,
 * so it can be shown again.
 * @param at when it was asked, and `until` when it counts as unanswered; epoch ms
 */
export function requestBy(
  requester: Requester,
  place: Place,
  { at, until, origins }: { at: number; until: number; origins: readonly string[] },
): Approval {
  const { sessionKey, runId, step, callId } = place;
  const hash = hashOf({ ...place, requester, at });
  return {
    ...{ id: idOfHash(hash), kind: requester.kind, requester, state: "open", hash },
    ...{ sessionKey, runId, step, callId, tool: `${requester.kind} ${requester.ruleId}`, args: {} },
    ...{ why: requester.why, origins: [...origins], createdAt: at, until },
  };
}
