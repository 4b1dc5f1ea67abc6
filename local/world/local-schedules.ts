import { atExpression } from "../../shared/world/schedule-time.ts";
import type { Schedules } from "../../shared/world/world.ts";
import { scheduleGroup, scheduleRoleArn } from "../cloud-names.ts";
import { AwsError } from "../http/aws-error.ts";
import { functionArn } from "../lambda/host.ts";
import type { Schedules as ScheduleStore } from "../scheduler/schedule-store.ts";

/** One-shot schedules in the store that the local EventBridge Scheduler serves. */
export function openLocalSchedules(store: ScheduleStore): Schedules {
  return {
    async once(name, at, event) {
      try {
        await store.create(scheduleGroup, name, {
          expression: atExpression(at, Date.now()),
          timezone: "UTC",
          target: { Arn: functionArn("timer"), RoleArn: scheduleRoleArn, Input: JSON.stringify(event) },
          enabled: true,
          deleteAfterCompletion: true,
        });
      } catch (error) {
        if (!(error instanceof AwsError && error.code === "ConflictException")) throw error;
      }
    },
  };
}
