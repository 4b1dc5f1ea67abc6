import { createHash } from "node:crypto";
import type { ConfigurationStore } from "../configuration/store.ts";
import type { ResetPolicy } from "../protocol/schemas.ts";
import { logError } from "../runtime/log.ts";
import { equal, exists, remove, type Step, set } from "../world/expression.ts";
import { ConditionFailed, type Schedules, type Table } from "../world/world.ts";
import { nextResetTime } from "./reset-policy.ts";
import { metaKey, type SessionState } from "./state.ts";

/** What looking ahead to resets needs. */
export interface ResetPlanning {
  schedules: Schedules;
  configuration: Pick<ConfigurationStore, "load">;
}

/** The policy that holds for a session, and the timezone in which it counts: its own policy, else the configuration's. */
export async function resetRules(
  configuration: Pick<ConfigurationStore, "load">,
  state: Pick<SessionState, "resetPolicy">,
): Promise<{ policy: ResetPolicy; timezone: string }> {
  const { session, userTimezone } = await configuration.load();
  return { policy: state.resetPolicy ?? session.defaultResetPolicy, timezone: userTimezone };
}

/**
 * Creates the schedule that looks whether the session is to be reset at the time it will be due. Nothing when it will
 * not be due, or when a schedule fires by then: that one looks, and goes on from there. The name tells the session and
 * the time, so that a repeat is the same schedule.
 * @returns the time for `resetScheduledFor`, when a schedule was created
 */
export async function scheduleReset(
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
 * As `scheduleReset`, as the steps that note the time in the session's item. A schedule that cannot be made is logged: it
 * only makes the reset late.
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
 * As `scheduleReset`, and notes the time, for those who do not hold the session. `instead`: the schedule that has fired,
 * if it is one that looks further.
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
  try {
    await planning.table.update(metaKey(state.sessionKey), [step], condition);
  } catch (error) {
    // The session was reset meanwhile, or has a newer schedule.
    if (!(error instanceof ConditionFailed)) throw error;
  }
}
