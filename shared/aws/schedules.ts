import type { Environment } from "../config.ts";
import { lazily } from "./lazily.ts";

/** What the timer function is invoked with. */
export type TimerEvent =
  /** `deadline`: that of the calls it was made for, epoch ms. */
  | { kind: "tool-timeout"; sessionKey: string; runId: string; step: number; deadline: number }
  | { kind: "auth-timeout"; connectionId: string }
  /** `at`: the time the schedule was made for, epoch ms. */
  | { kind: "reset-due"; sessionKey: string; at: number }
  | { kind: "sweep" };

/** One-shot schedules that invoke the timer function and delete themselves after they have fired. */
export interface Schedules {
  /**
   * @param name unique in the group, at most 64 characters of `[0-9A-Za-z_.-]`; an existing one is left as it is
   * @param at epoch milliseconds; EventBridge Scheduler has seconds and fires within the minute after it
   */
  once(name: string, at: number, event: TimerEvent): Promise<void>;
}

/** Where schedules are made, and what they invoke. */
export type ScheduleTarget = Pick<
  Environment,
  "scheduleGroup" | "scheduleRoleArn" | "timerFunctionArn" | "deadLetterArn"
>;

/** Schedules of EventBridge Scheduler, whose client is loaded when it is first used. */
export function openSchedules(target: ScheduleTarget): Schedules {
  return lazily<Schedules>({ once: true }, async () =>
    (await import("./eventbridge-schedules.ts")).openEventBridgeSchedules(target),
  );
}
