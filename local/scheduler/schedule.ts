import type { JsonRecord } from "../http/json.ts";

/** What CreateSchedule and UpdateSchedule set, checked. */
export interface ScheduleInput {
  expression: string;
  timezone?: string;
  target: { Arn: string; RoleArn: string; Input?: string } & JsonRecord;
  enabled: boolean;
  deleteAfterCompletion: boolean;
  description?: string;
  /** Epoch seconds. */
  startDate?: number;
  endDate?: number;
  clientToken?: string;
}

export interface Schedule extends ScheduleInput {
  name: string;
  group: string;
  /** Epoch seconds. */
  createdAt: number;
  modifiedAt: number;
  /** The time of the expression that comes next; absent when it has none left. Epoch milliseconds. */
  nextTime?: number;
  /** When that time is due on this machine's clock, which acceleration brings closer. Epoch milliseconds. */
  dueAt?: number;
}
