import type { ResetPolicy } from "../../protocol/schemas.ts";
import { addDays, hourOfDay, localTime } from "../../runtime/zoned-time.ts";
import { messageCount, type SessionState } from "../state.ts";

/** Hour of the daily reset when the policy has none, 0 to 23. */
export const defaultAtHour = 4;

/** Minutes of inactivity before an idle reset, when the policy has none. */
export const defaultIdleMinutes = 60;

/** The fields of a session that decide about its reset. */
type Conversation = Pick<SessionState, "first" | "head" | "updatedAt">;

/**
 * The most recent `atHour:00:00.000` in the timezone, at or before `now`; epoch milliseconds. On a day
 * without that hour, because clocks are set forward, the moment of the change. On a day with that hour twice,
 * the first one.
 */
export function dailyBoundary(now: number, atHour: number, timezone: string): number {
  const today = localTime(now, timezone).date;
  const boundary = hourOfDay(today, atHour, timezone);
  return boundary <= now ? boundary : hourOfDay(addDays(today, -1), atHour, timezone);
}

/**
 * The first `atHour:00:00.000` in the timezone after `now`; epoch milliseconds. See `dailyBoundary` for clock
 * changes.
 */
export function nextBoundary(now: number, atHour: number, timezone: string): number {
  const today = localTime(now, timezone).date;
  const boundary = hourOfDay(today, atHour, timezone);
  return boundary > now ? boundary : hourOfDay(addDays(today, 1), atHour, timezone);
}

/**
 * Whether a session has to be reset before a message at `now` is handled. `daily`: the last activity was
 * before the boundary. `idle`: the last activity is longer ago than the policy allows. A session without
 * messages is never due.
 */
export function isResetDue(state: Conversation, policy: ResetPolicy, now: number, timezone: string): boolean {
  if (messageCount(state) === 0) return false;
  switch (policy.mode) {
    case "manual":
      return false;
    case "daily":
      return state.updatedAt < dailyBoundary(now, policy.atHour ?? defaultAtHour, timezone);
    case "idle":
      return now - state.updatedAt > idleMs(policy);
  }
}

/**
 * When a session becomes due if there is no activity until then: a time after `now`, in epoch milliseconds.
 * Undefined when the policy is `manual` or the session has no messages.
 */
export function nextResetTime(
  state: Conversation,
  policy: ResetPolicy,
  now: number,
  timezone: string,
): number | undefined {
  if (messageCount(state) === 0) return undefined;
  switch (policy.mode) {
    case "manual":
      return undefined;
    case "daily":
      return nextBoundary(now, policy.atHour ?? defaultAtHour, timezone);
    case "idle": {
      const due = state.updatedAt + idleMs(policy) + 1;
      return due > now ? due : now + idleMs(policy) + 1;
    }
  }
}

function idleMs({ idleMinutes = defaultIdleMinutes }: ResetPolicy): number {
  return idleMinutes * 60_000;
}
