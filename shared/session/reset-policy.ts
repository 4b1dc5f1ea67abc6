import type { ResetPolicy } from "../protocol/schemas.ts";
import { addDays, hourOfDay, localTime } from "../runtime/zoned-time.ts";
import { messageCount, type SessionState } from "./state.ts";

/** Hour of the daily reset where a policy names none. */
export const defaultAtHour = 4;

/** Minutes after which an idle session is reset where a policy names none. */
export const defaultIdleMinutes = 60;

/** What the policy reads of a session. */
type Conversation = Pick<SessionState, "first" | "head" | "updatedAt">;

/**
 * The most recent `atHour:00:00.000` in the timezone, at or before `now`; epoch milliseconds. On a day that has no such
 * hour, because clocks are set forward over it, the moment of the change; on a day that has it twice, the first one.
 */
export function dailyBoundary(now: number, atHour: number, timezone: string): number {
  const today = localTime(now, timezone).date;
  const boundary = hourOfDay(today, atHour, timezone);
  return boundary <= now ? boundary : hourOfDay(addDays(today, -1), atHour, timezone);
}

/** The first `atHour:00:00.000` in the timezone after `now`, as `dailyBoundary` counts them. */
export function nextBoundary(now: number, atHour: number, timezone: string): number {
  const today = localTime(now, timezone).date;
  const boundary = hourOfDay(today, atHour, timezone);
  return boundary > now ? boundary : hourOfDay(addDays(today, 1), atHour, timezone);
}

/**
 * Whether a session is to be reset before what happens at `now`. `daily`: its last activity was before the boundary.
 * `idle`: it was longer ago than the policy allows. A session without messages is never due: nothing was said since its
 * last reset.
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
 * When a session will be due, if nothing happens in it until then: a time after `now`, in epoch milliseconds. Undefined
 * when it will not be: by its policy, or because there is nothing to reset.
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
