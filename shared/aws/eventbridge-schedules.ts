import {
  ConflictException,
  CreateScheduleCommand,
  SchedulerClient,
  ValidationException,
} from "@aws-sdk/client-scheduler";
import type { Environment } from "../runtime/environment.ts";
import { atExpression } from "../world/schedule-time.ts";
import type { Schedules } from "../world/world.ts";
import { type CallLimits, clientSettings, scheduleLimits } from "./call-limits.ts";

/** The group, role, target and dead-letter queue of schedules. */
export type ScheduleTarget = Pick<
  Environment,
  "scheduleGroup" | "scheduleRoleArn" | "timerFunctionArn" | "deadLetterArn"
>;

/**
 * How far a near time is postponed when the Scheduler rejects it, in milliseconds: it was past on the Scheduler's clock when
 * the request arrived, because the clocks differ or the request was repeated. A schedule may fire a minute late anyway.
 */
const clockMarginMs = 60_000;

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
      const create = (expression: string) =>
        client.send(
          new CreateScheduleCommand({
            Name: name,
            GroupName: environment.scheduleGroup,
            ScheduleExpression: expression,
            ScheduleExpressionTimezone: "UTC",
            FlexibleTimeWindow: { Mode: "OFF" },
            ActionAfterCompletion: "DELETE",
            Target: target,
          }),
        );
      const now = Date.now();
      try {
        await create(atExpression(at, now)).catch((error: unknown) => {
          const isNear = at < now + clockMarginMs;
          if (!isNear || !(error instanceof ValidationException)) throw error;
          return create(atExpression(Date.now() + clockMarginMs, Date.now()));
        });
      } catch (error) {
        if (!(error instanceof ConflictException)) throw error;
      }
    },
  };
}
