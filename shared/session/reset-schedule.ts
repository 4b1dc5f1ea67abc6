import { createHash } from "node:crypto";
import type { ConfigurationStore } from "../configuration/store.ts";
import type { ResetPolicy } from "../protocol/schemas.ts";
import { logError } from "../runtime/log.ts";
import { addDays, hourOfDay, localTime } from "../runtime/zoned-time.ts";
import { equal, exists, remove, type Step, set } from "../world/expression.ts";
import { type Schedules, succeeds, type Table } from "../world/world.ts";
import { messageCount, metaKey, type SessionState } from "./state.ts";

/** Hour of the daily reset when the policy has none, 0 to 23. */
const defaultAtHour = 4;

/** Minutes of inactivity before an idle reset, when the policy has none. */
const defaultIdleMinutes = 60;

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

/** The dependencies of scheduling resets. */
export interface ResetPlanning {
  schedules: Schedules;
  configuration: Pick<ConfigurationStore, "load">;
}

/** A session's reset policy (its own, else the configured default) and the user's timezone. */
export async function resetRules(
  configuration: Pick<ConfigurationStore, "load">,
  state: Pick<SessionState, "resetPolicy">,
): Promise<{ policy: ResetPolicy; timezone: string }> {
  const { session, userTimezone } = await configuration.load();
  return { policy: state.resetPolicy ?? session.defaultResetPolicy, timezone: userTimezone };
}

/**
 * Creates a schedule that checks for a reset at the time the session becomes due. Creates none when the
 * session will not become due, or when an earlier schedule exists: that one checks and schedules the next.
 * The schedule's name is made of the session and the time, so that a retry does not create a second one.
 * @returns the time for `resetScheduledFor`, when a schedule was created
 */
async function scheduleReset(
  { schedules, configuration }: ResetPlanning,
  state: SessionState,
  now: number,
): Promise<number | undefined> {
  const { policy, timezone } = await resetRules(configuration, state);
  const at = nextResetTime(state, policy, now, timezone);
  if (at === undefined) return undefined;
  const { sessionKey, resetScheduledFor } = state;
  if (resetScheduledFor !== undefined && resetScheduledFor > now && resetScheduledFor <= at) return undefined;
  const digest = createHash("sha256").update(sessionKey).digest("hex").slice(0, 32);
  await schedules.once(`reset-${digest}-${at}`, at, { kind: "reset-due", sessionKey, at });
  return at;
}

/**
 * Calls `scheduleReset` and returns the update steps that store the time in the session's item. A failure is
 * only logged, because it merely delays the reset.
 */
export async function resetScheduleSteps(
  planning: ResetPlanning,
  state: SessionState,
  now: number,
): Promise<Step[]> {
  try {
    const at = await scheduleReset(planning, state, now);
    return at === undefined ? [] : [set("resetScheduledFor", at)];
  } catch (error) {
    logError("reset.unscheduled", error, { sessionKey: state.sessionKey });
    return [];
  }
}

/**
 * Calls `scheduleReset` and stores the time in the session's item; for callers without the lease.
 * @param instead the time of the schedule that has fired and is replaced, if any
 */
export async function planReset(
  planning: ResetPlanning & { table: Table },
  state: SessionState,
  now: number,
  instead?: number,
): Promise<void> {
  const planned = await scheduleReset(planning, state, now);
  if (planned === undefined && instead === undefined) return;
  const step = planned === undefined ? remove("resetScheduledFor") : set("resetScheduledFor", planned);
  const condition = instead === undefined ? exists("pk") : equal("resetScheduledFor", instead);
  // The condition fails when the session was reset meanwhile, or has a newer schedule.
  await succeeds(planning.table.update(metaKey(state.sessionKey), [step], condition));
}
