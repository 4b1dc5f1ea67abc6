import { ConflictException, CreateScheduleCommand, SchedulerClient } from "@aws-sdk/client-scheduler";
import type { Environment } from "../config.ts";

/** What the timer function is invoked with. */
export type TimerEvent =
  | { kind: "tool-timeout"; sessionKey: string; runId: string; step: number }
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

export function openSchedules(
  environment: Pick<Environment, "scheduleGroup" | "scheduleRoleArn" | "timerFunctionArn" | "deadLetterArn">,
): Schedules {
  const client = new SchedulerClient({ maxAttempts: 5 });
  return {
    async once(name, at, event) {
      const target = {
        Arn: environment.timerFunctionArn,
        RoleArn: environment.scheduleRoleArn,
        Input: JSON.stringify(event),
        DeadLetterConfig: { Arn: environment.deadLetterArn },
      };
      const command = new CreateScheduleCommand({
        Name: name,
        GroupName: environment.scheduleGroup,
        // Rounded up: a deadline is a floor.
        ScheduleExpression: `at(${new Date(Math.ceil(at / 1000) * 1000).toISOString().slice(0, 19)})`,
        ScheduleExpressionTimezone: "UTC",
        FlexibleTimeWindow: { Mode: "OFF" },
        ActionAfterCompletion: "DELETE",
        Target: target,
      });
      try {
        await client.send(command);
      } catch (error) {
        if (!(error instanceof ConflictException)) throw error;
      }
    },
  };
}
