import { arn } from "../../../local/http/aws-account.ts";
import { AwsError } from "../../../local/http/aws-error.ts";
import {
  decodeSegment,
  type Endpoint,
  type HttpRequest,
  type HttpResponse,
  json,
  startHttpEndpoint,
} from "../../../local/http/http-endpoint.ts";
import { type JsonRecord, parseRecord } from "../../../local/http/json.ts";
import type { Schedule } from "../../../local/scheduler/schedule.ts";
import type { Schedules } from "../../../local/scheduler/schedule-store.ts";
import { type Authorize, callerOf, requireAccess } from "./access.ts";
import { checkScheduleName, describeSchedule, readScheduleInput } from "./schedule-input.ts";

export interface SchedulerOptions {
  schedules: Schedules;
  port?: number;
  authorize?: Authorize;
  onError?: (error: unknown) => void;
}

interface Call {
  request: HttpRequest;
  schedules: Schedules;
  name: string;
  group: string;
  /** Asks for an action on the schedule that the call names. */
  access: (action: string, resource?: string, context?: Record<string, string>) => void;
}

/**
 * EventBridge Scheduler for Lambda targets: CreateSchedule, GetSchedule, UpdateSchedule, DeleteSchedule and
 * ListSchedules.
 * https://docs.aws.amazon.com/scheduler/latest/APIReference/
 */
export function startScheduler({ schedules, port, authorize, onError }: SchedulerOptions): Promise<Endpoint> {
  return startHttpEndpoint({
    handle: (request) => handle(request, schedules, authorize),
    maxBodyBytes: 1024 * 1024,
    port,
    onError,
  });
}

async function handle(
  request: HttpRequest,
  schedules: Schedules,
  authorize: Authorize | undefined,
): Promise<HttpResponse> {
  try {
    return json(200, await perform(request, schedules, authorize));
  } catch (error) {
    if (!(error instanceof AwsError)) throw error;
    return json(error.status, { Message: error.message }, { "x-amzn-errortype": error.code });
  }
}

async function perform(
  request: HttpRequest,
  schedules: Schedules,
  authorize: Authorize | undefined,
): Promise<JsonRecord> {
  const accessKeyId = callerOf(request);
  const query = new URLSearchParams(request.rawQuery);
  const [, root, encodedName, ...rest] = request.path.split("/");
  if (root !== "schedules" || rest.length > 0) throw unknownOperation(request);
  const name = decodeSegment(encodedName ?? "");
  const body = parseRecord(request.body.toString()) ?? {};
  const group = String(body.GroupName ?? query.get("groupName") ?? "default");
  const access: Call["access"] = (action, resource = scheduleArn(group, name), context) =>
    requireAccess(authorize, { accessKeyId, action, resource, ...(context ? { context } : {}) });
  if (encodedName === undefined && request.method === "GET") {
    access("scheduler:ListSchedules", arn("scheduler", "schedule/*/*"));
    return list(schedules, query);
  }
  checkScheduleName(name);
  const call = { request, schedules, name, group, access };
  switch (request.method) {
    case "GET":
      access("scheduler:GetSchedule");
      return describeSchedule(schedules.get(group, name), scheduleArn(group, name));
    case "DELETE":
      access("scheduler:DeleteSchedule");
      await schedules.delete(group, name);
      return {};
    case "POST":
      return put(call, body, "create");
    case "PUT":
      return put(call, body, "update");
    default:
      throw unknownOperation(request);
  }
}

async function put(call: Call, body: JsonRecord, operation: "create" | "update"): Promise<JsonRecord> {
  const { schedules, group, name, access } = call;
  access(operation === "create" ? "scheduler:CreateSchedule" : "scheduler:UpdateSchedule");
  const input = readScheduleInput(body);
  access("iam:PassRole", input.target.RoleArn, { "iam:PassedToService": "scheduler.amazonaws.com" });
  await schedules[operation](group, name, input);
  return { ScheduleArn: scheduleArn(group, name) };
}

/** Pages by position in the order of group and name. */
function list(schedules: Schedules, query: URLSearchParams): JsonRecord {
  const group = query.get("ScheduleGroup");
  const prefix = query.get("NamePrefix") ?? "";
  const state = query.get("State");
  const start = Number(query.get("NextToken") ?? 0);
  const end = start + Math.min(Number(query.get("MaxResults") ?? 100), 100);
  const matching = schedules
    .list()
    .filter((schedule) => group === null || schedule.group === group)
    .filter((schedule) => schedule.name.startsWith(prefix))
    .map((schedule) => summarize(schedule))
    .filter((summary) => state === null || summary.State === state);
  const more = end < matching.length ? { NextToken: String(end) } : {};
  return { Schedules: matching.slice(start, end), ...more };
}

function summarize(schedule: Schedule): JsonRecord {
  const arn = scheduleArn(schedule.group, schedule.name);
  const { Arn, GroupName, Name, State, CreationDate, LastModificationDate } = describeSchedule(schedule, arn);
  return {
    Arn,
    GroupName,
    Name,
    State,
    CreationDate,
    LastModificationDate,
    Target: { Arn: schedule.target.Arn },
  };
}

function scheduleArn(group: string, name: string): string {
  return arn("scheduler", `schedule/${group}/${name}`);
}

function unknownOperation({ method, path }: HttpRequest): AwsError {
  return new AwsError(404, "UnknownOperationException", `unknown operation ${method} ${path}`);
}
