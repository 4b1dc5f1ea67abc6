import { ConflictException, CreateScheduleCommand, SchedulerClient } from "@aws-sdk/client-scheduler";
import type { Environment } from "../runtime/environment.ts";
import type { Schedules } from "../world/world.ts";
import { type CallLimits, clientSettings, scheduleLimits } from "./call-limits.ts";

/** The group, role, target and dead-letter queue of schedules. */
export type ScheduleTarget = Pick<
  Environment,
  "scheduleGroup" | "scheduleRoleArn" | "timerFunctionArn" | "deadLetterArn"
>;

/** Region, credentials and endpoint come from the environment, as the SDK reads them. */
export function openEventBridgeSchedules(
  environment: ScheduleTarget,
  limits: CallLimits = scheduleLimits,
): Schedules {
  const client = new SchedulerClient(clientSettings(limits));
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
        // Rounded up to seconds: a schedule must not fire early.
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
