import { type AssistantMessage, toolCallsOf } from "../../../shared/protocol/messages.ts";
import type { Outcomes } from "../../../shared/session/calls.ts";
import { absent, add, all, any, below, set } from "../../../shared/world/expression.ts";
import { succeeds, type Table } from "../../../shared/world/world.ts";
import { sessionSend } from "./native/session-tools.ts";

/** TTL of the count of a message's runs, in seconds, after the last one was started. */
const keptSeconds = 7 * 24 * 3600;

/**
 * Counts a run that descends from a message, unless there are `limit` already. One item counts for all sessions; it names the
 * runs, so that a repeat of the same call is not counted again.
 * @param root the message (`rootOf`)
 * @returns whether the run may be started
 */
export async function countRun(
  table: Table,
  root: string,
  runId: string,
  limit: number,
  now: number,
): Promise<boolean> {
  const key = { pk: `SENT#${root}`, sk: "COUNT" };
  const steps = [set(runId, now), add("count", 1), set("expiresAt", Math.floor(now / 1000) + keptSeconds)];
  const isFree = all(absent(runId), any(absent("count"), below("count", limit)));
  if (limit > 0 && (await succeeds(table.update(key, steps, isFree)))) return true;
  return (await table.get(key))?.[runId] !== undefined;
}

/** The outcome of a send above the limit, for the model that asked. */
export function notSent(sessionKey: string, limit: number) {
  const error =
    `not sent: one message starts at most ${limit} runs in other conversations (session.sendLimit), and they are used up. ` +
    "Finish without it, and say in your answer what is missing";
  return { ok: false, error, notSentTo: [sessionKey] };
}

/** The sessions to which the calls of a reply, or the sessions that answered them, could not send a message. */
export function notSentIn(reply: AssistantMessage, outcomes: Outcomes): string[] {
  const { name: tool } = sessionSend.definition;
  return toolCallsOf(reply).flatMap(({ id, name }) => {
    const outcome = name === tool || `gsv__${name}` === tool ? outcomes.get(id) : undefined;
    if (outcome === undefined || outcome === "interrupted") return [];
    const sent = outcome.result as ReturnType<typeof notSent> & { result?: { notSentTo?: string[] } };
    return sent?.notSentTo ?? sent?.result?.notSentTo ?? [];
  });
}
