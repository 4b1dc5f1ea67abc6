import type { Table } from "../world/world.ts";
import type { AskedSession, PendingCall } from "./run.ts";
import { readSession } from "./sessions.ts";

/** The `nodeId` of a call that waits for a session. A node's id has no `/`, so no node can answer such a call. */
export function answererOf(sessionKey: string): string {
  return `session/${sessionKey}`;
}

/**
 * When the calls of a step time out, epoch ms. A call that waits for a session times out after the seconds that the model
 * chose, any other after `toolMs`; the latest of these times applies to all calls of the step.
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

/** The result of a call whose session did not answer in time. A later answer is ignored. */
export function unansweredResult(
  { at, waitSeconds: _, ...asked }: AskedSession,
  now: number,
): { result: unknown } {
  const waitedSeconds = Math.round((now - at) / 1000);
  return { result: { ok: true, result: { status: "timeout", ...asked, waitedSeconds } } };
}

/**
 * Whether `to` waits for `from`, directly or through other sessions: then a call from `from` that waits for `to` would never
 * be answered. Two sessions that start to wait for each other at the same moment are not detected; both calls time out.
 */
export async function isWaitedFor(table: Table, from: string, to: string): Promise<boolean> {
  const seen = new Set<string>();
  let waiting = [to];
  while (waiting.length > 0) {
    if (waiting.includes(from)) return true;
    for (const sessionKey of waiting) seen.add(sessionKey);
    const states = await Promise.all(waiting.map((sessionKey) => readSession(table, sessionKey)));
    const next = states.flatMap((state) =>
      Object.values(state?.run?.pending ?? {}).flatMap(({ asked }) => (asked ? [asked.sessionKey] : [])),
    );
    waiting = [...new Set(next)].filter((sessionKey) => !seen.has(sessionKey));
  }
  return false;
}
