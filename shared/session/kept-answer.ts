import type { RunOutcome } from "../protocol/session-results.ts";
import type { Key, Table } from "../world/world.ts";
import { metaKey } from "./state.ts";

/** How long an answer is kept, in seconds. */
const keptSeconds = 7 * 86_400;

/** Max characters of a kept answer: an item has at most 400 KB. The session's transcript has all of it. */
const maxCharacters = 100_000;

const cutNote = "\n\n[The answer is longer: the session's transcript has all of it.]";

const keyOf = (sessionKey: string, runId: string): Key => ({
  pk: metaKey(sessionKey).pk,
  sk: `A#${runId}`,
});

type Ended = Extract<RunOutcome, { status: "done" | "failed" }>;

/**
 * Stores how a run ended, for a client that asks later (`chat.result`). Safe to repeat.
 * @param now epoch milliseconds
 */
export async function keepAnswer(
  table: Pick<Table, "put">,
  sessionKey: string,
  runId: string,
  { answer, failure = "there is no answer" }: { answer?: string; failure?: string },
  now: number,
): Promise<void> {
  const ended: Ended =
    answer === undefined ? { status: "failed", error: failure } : { status: "done", text: shortened(answer) };
  await table.put({
    ...keyOf(sessionKey, runId),
    ...ended,
    at: now,
    expiresAt: Math.floor(now / 1000) + keptSeconds,
  });
}

/** How a run ended; undefined when that was not kept, or it has not ended. */
export async function readKeptAnswer(
  table: Pick<Table, "get">,
  sessionKey: string,
  runId: string,
): Promise<Ended | undefined> {
  const item = await table.get(keyOf(sessionKey, runId));
  if (!item) return undefined;
  return item.status === "done"
    ? { status: "done", text: String(item.text) }
    : { status: "failed", error: String(item.error) };
}

function shortened(text: string): string {
  return text.length > maxCharacters ? text.slice(0, maxCharacters).toWellFormed() + cutNote : text;
}
