import { AwsError } from "../../../local/http/aws-error.ts";
import { isRecord, type JsonRecord, stringField } from "../../../local/http/json.ts";
import type { Schedule, ScheduleInput } from "../../../local/scheduler/schedule.ts";

/**
 * Checks the body of CreateSchedule and UpdateSchedule. Targets other than a Lambda function, and flexible time
 * windows, are refused: the local scheduler has none.
 * @throws AwsError ValidationException
 */
export function readScheduleInput(body: JsonRecord): ScheduleInput {
  const expression = stringField(body, "ScheduleExpression");
  if (expression === undefined) throw invalid("ScheduleExpression is required");
  const window = isRecord(body.FlexibleTimeWindow) ? body.FlexibleTimeWindow.Mode : undefined;
  if (window !== "OFF") throw invalid("FlexibleTimeWindow must be OFF: the local scheduler has no other");
  if (body.State !== undefined && body.State !== "ENABLED" && body.State !== "DISABLED") {
    throw invalid("State must be ENABLED or DISABLED");
  }
  return {
    expression,
    timezone: stringField(body, "ScheduleExpressionTimezone"),
    target: readTarget(body.Target),
    enabled: body.State !== "DISABLED",
    deleteAfterCompletion: body.ActionAfterCompletion === "DELETE",
    description: stringField(body, "Description"),
    startDate: numberField(body, "StartDate"),
    endDate: numberField(body, "EndDate"),
    clientToken: stringField(body, "ClientToken"),
  };
}

/** The output of GetSchedule. */
export function describeSchedule(schedule: Schedule, arn: string): JsonRecord {
  return {
    Arn: arn,
    GroupName: schedule.group,
    Name: schedule.name,
    ScheduleExpression: schedule.expression,
    ScheduleExpressionTimezone: schedule.timezone ?? "UTC",
    StartDate: schedule.startDate,
    EndDate: schedule.endDate,
    Description: schedule.description,
    State: schedule.enabled ? "ENABLED" : "DISABLED",
    CreationDate: schedule.createdAt,
    LastModificationDate: schedule.modifiedAt,
    Target: schedule.target,
    FlexibleTimeWindow: { Mode: "OFF" },
    ActionAfterCompletion: schedule.deleteAfterCompletion ? "DELETE" : "NONE",
  };
}

/** @throws AwsError ValidationException for what is not 1 to 64 of the characters that names have */
export function checkScheduleName(name: string): void {
  if (!/^[\w.-]{1,64}$/.test(name)) throw invalid(`${name} is not a schedule name`);
}

function readTarget(target: unknown): ScheduleInput["target"] {
  if (!isRecord(target)) throw invalid("Target is required");
  const { Arn, RoleArn, Input } = target;
  if (typeof Arn !== "string" || !/^arn:aws:lambda:[^:]+:\d+:function:/.test(Arn)) {
    throw invalid("Target.Arn must be a Lambda function's: the local scheduler has no other targets");
  }
  if (typeof RoleArn !== "string" || !/^arn:aws:iam::\d+:role\//.test(RoleArn)) {
    throw invalid("Target.RoleArn must be a role's");
  }
  if (Input !== undefined && (typeof Input !== "string" || !isJson(Input))) {
    throw invalid("Target.Input of a Lambda function must be JSON");
  }
  return { ...target, Arn, RoleArn, Input };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function numberField(record: JsonRecord, name: string): number | undefined {
  const value = record[name];
  return typeof value === "number" ? value : undefined;
}

function invalid(message: string): AwsError {
  return new AwsError(400, "ValidationException", message);
}
