import type { AnswerScope, Approval, McpRequester, Requester } from "../protocol/approvals.ts";
import { dollarsOf } from "../spend/dollars.ts";
import { hashOf, idOfHash, type Place } from "./binding.ts";

/** How long an allowing answer may count. */
const offered: Record<Approval["kind"], readonly AnswerScope[]> = {
  tool: ["once", "run", "session", "always"],
  budget: ["once", "run", "day"],
  mcp: ["once"],
};

/** The scopes with which a request can be allowed. */
export function scopesOf({ kind, everyTime }: Pick<Approval, "kind" | "everyTime">): readonly AnswerScope[] {
  return everyTime ? ["once"] : offered[kind];
}

/** What a requester asks, and what each answer means, a line each. Both together are all that an owner has to know. */
export function requesterTexts(requester: Requester): { question: string; choices: string } {
  if (requester.kind === "mcp") return serverTexts(requester);
  const { ruleId, unit, once, run, day } = requester;
  const show = (amount: number) => (unit === "usd" ? dollarsOf(amount) : `${amount} tokens`);
  const choices = [
    `once: at most ${show(once)} more, for the next call`,
    `run: at most ${show(run)} more, for the rest of this run`,
    `day: the limit is ${show(day)} higher today`,
  ];
  return { question: `May I spend more than the budget ${ruleId} allows?`, choices: choices.join("\n") };
}

const nameOf = (requester: Requester) =>
  requester.kind === "mcp" ? requester.tool : `budget ${requester.ruleId}`;

function serverTexts({ server, tool, message, field }: McpRequester) {
  const once =
    field === undefined ? "once: yes" : `once: only with ${field} as its text (gsv approvals allow ID TEXT)`;
  return { question: `${server} asks during ${tool}: ${message}`, choices: `${once}\ndeny: no` };
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
    ...{ sessionKey, runId, step, callId, tool: nameOf(requester), args: {} },
    ...{ why: requester.why, origins: [...origins], createdAt: at, until },
  };
}
