import type { Table } from "../world/world.ts";
import type { AskedSession, PendingCall } from "./run.ts";
import { readSession } from "./sessions.ts";

/** Through how many sessions a message may be handed on: each of them has a run that may wait for the next. */
export const maxAskers = 3;

/** Who is to answer a call that waits for a session. A node's id has no `/`, so no node can answer in its place. */
export function answererOf(sessionKey: string): string {
  return `session/${sessionKey}`;
}

/**
 * When the calls of a step count as timed out, epoch ms: a call that waits for a session after the seconds that its
 * model gave, any other after `toolMs`. All calls of a step wait for the last of them.
 */
export function stepDeadline(
  pending: Readonly<Record<string, PendingCall>>,
  toolMs: number,
  now: number,
): number {
  const ends = Object.values(pending).map(({ asked }) =>
    asked ? asked.at + asked.waitSeconds * 1000 : now + toolMs,
  );
  return ends.length === 0 ? now + toolMs : Math.max(now, ...ends);
}

/** What the model is told when a session has not answered in time. Its answer does not count any more. */
export function unansweredResult(
  { at, waitSeconds: _, ...asked }: AskedSession,
  now: number,
): { result: unknown } {
  const waitedSeconds = Math.round((now - at) / 1000);
  return { result: { ok: true, result: { status: "timeout", ...asked, waitedSeconds } } };
}

/**
 * Whether `to` waits for `from`, directly or through other sessions: a message that waits in turn would never be
 * answered. Two that begin to wait for each other at the same moment are not found; their waiting ends by time.
 */
export async function isWaitedFor(table: Table, from: string, to: string): Promise<boolean> {
  let waiting = [to];
  for (let depth = 0; depth <= maxAskers && waiting.length > 0; depth++) {
    if (waiting.includes(from)) return true;
    const states = await Promise.all(waiting.map((sessionKey) => readSession(table, sessionKey)));
    waiting = states.flatMap((state) =>
      Object.values(state?.run?.pending ?? {}).flatMap(({ asked }) => (asked ? [asked.sessionKey] : [])),
    );
  }
  return false;
}
