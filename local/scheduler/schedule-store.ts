import { AwsError } from "../http/aws-error.ts";
import type { Schedule, ScheduleInput } from "./schedule.ts";
import {
  firstTime,
  parseScheduleExpression,
  type ScheduleExpression,
  timeAfter,
} from "./schedule-expression.ts";
import type { StoredSchedules } from "./stored-schedules.ts";

export interface SchedulesOptions {
  stored: StoredSchedules;
  groups: readonly string[];
  /** Invokes the target. Resolves when the event is handled or finally failed. Never rejects. */
  fire: (schedule: Schedule) => Promise<unknown>;
  /** How many times faster than the clock schedules come due. */
  acceleration: number;
  onError?: (error: unknown) => void;
}

/**
 * Persistent schedules. A schedule that came due while the process was stopped fires once. A one-shot
 * schedule is kept until its target has handled it, so that a crash repeats it and does not lose it.
 */
export class Schedules {
  private readonly options: SchedulesOptions;
  private readonly stored: Map<string, Schedule>;
  private readonly timers: ScheduleTimers;
  private started = false;

  constructor(options: SchedulesOptions) {
    this.options = options;
    this.stored = options.stored.all();
    this.timers = openScheduleTimers((key) => {
      this.fire(key).catch((error: unknown) => options.onError?.(error));
    });
  }

  /** Starts firing schedules, overdue ones first. */
  start(): void {
    this.started = true;
    for (const [key, stored] of this.stored) {
      const schedule = this.afterClockWasSetBack(stored);
      this.stored.set(key, schedule);
      this.arm(key, schedule);
    }
  }

  stop(): void {
    this.started = false;
    this.timers.clearAll();
  }

  /** @throws AwsError ResourceNotFoundException, ConflictException, ValidationException, also for a time that is past */
  async create(group: string, name: string, input: ScheduleInput): Promise<void> {
    const existing = this.stored.get(this.keyOf(group, name));
    if (existing !== undefined) {
      // A retry of the SDK after a lost response.
      if (input.clientToken !== undefined && input.clientToken === existing.clientToken) return;
      throw new AwsError(409, "ConflictException", `Schedule ${name} already exists.`);
    }
    await this.put({ ...input, group, name, createdAt: Date.now() / 1000, modifiedAt: Date.now() / 1000 });
  }

  /** @throws AwsError */
  async update(group: string, name: string, input: ScheduleInput): Promise<void> {
    const { createdAt } = this.get(group, name);
    await this.put({ ...input, group, name, createdAt, modifiedAt: Date.now() / 1000 });
  }

  /** @throws AwsError ResourceNotFoundException */
  get(group: string, name: string): Schedule {
    const schedule = this.stored.get(this.keyOf(group, name));
    if (schedule === undefined)
      throw new AwsError(404, "ResourceNotFoundException", `Schedule ${name} does not exist.`);
    return schedule;
  }

  /** @throws AwsError ResourceNotFoundException */
  async delete(group: string, name: string): Promise<void> {
    this.get(group, name);
    await this.remove(this.keyOf(group, name));
  }

  /** In the order of their keys. */
  list(): Schedule[] {
    return [...this.stored].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, schedule]) => schedule);
  }

  private keyOf(group: string, name: string): string {
    if (this.options.groups.includes(group)) return `${group}/${name}`;
    throw new AwsError(404, "ResourceNotFoundException", `Schedule group ${group} does not exist.`);
  }

  private async put(schedule: Schedule): Promise<void> {
    const now = Date.now();
    const expression = parse(schedule);
    if (expression.kind === "at" && expression.at <= now) throw refusal("the time is past", schedule);
    const first = firstTime(expression, Math.max(now, (schedule.startDate ?? 0) * 1000));
    const planned = this.plan(schedule, first, { time: now, dueAt: now });
    const key = this.keyOf(schedule.group, schedule.name);
    await this.store(key, planned);
    this.arm(key, planned);
  }

  /**
   * Sets the next time, unless it lies beyond the schedule's end.
   * @param since a time of the schedule and when it was due here: the distance from it is what acceleration shortens
   */
  private plan(
    schedule: Schedule,
    nextTime: number | undefined,
    since: { time: number; dueAt: number },
  ): Schedule {
    const isOver =
      nextTime === undefined || (schedule.endDate !== undefined && nextTime > schedule.endDate * 1000);
    if (isOver) return { ...schedule, nextTime: undefined, dueAt: undefined };
    return {
      ...schedule,
      nextTime,
      dueAt: since.dueAt + (nextTime - since.time) / this.options.acceleration,
    };
  }

  private arm(key: string, { enabled, dueAt }: Schedule): void {
    if (this.started && enabled && dueAt !== undefined) this.timers.set(key, dueAt);
    else this.timers.clear(key);
  }

  private async fire(key: string): Promise<void> {
    const schedule = this.stored.get(key);
    if (schedule?.nextTime === undefined) return;
    const expression = parse(schedule);
    if (expression.kind === "at") {
      await this.options.fire(schedule);
      // Skip when the schedule was deleted or updated meanwhile, or when the store is closing.
      if (this.started && this.stored.get(key) === schedule) await this.complete(key, schedule);
      return;
    }
    const planned = this.planNext(schedule, expression, {
      time: schedule.nextTime,
      dueAt: schedule.dueAt ?? 0,
    });
    if (planned.nextTime === undefined) await this.complete(key, planned);
    else {
      this.arm(key, planned);
      await this.store(key, planned);
    }
    await this.options.fire(schedule);
  }

  /** Plans the next time. Times missed while the process was stopped fire once in total. */
  private planNext(
    schedule: Schedule,
    expression: ScheduleExpression,
    fired: { time: number; dueAt: number },
  ): Schedule {
    const planned = this.plan(schedule, timeAfter(expression, fired.time), fired);
    const now = Date.now();
    if (planned.dueAt !== undefined && planned.dueAt <= now) {
      return this.plan(schedule, timeAfter(expression, now), { time: now, dueAt: now });
    }
    return this.afterClockWasSetBack(planned);
  }

  /**
   * The schedule itself, unless it is a rate whose next time is more than one interval away: then the clock was set back
   * since that time was planned, and the next time is one interval from now.
   */
  private afterClockWasSetBack(schedule: Schedule): Schedule {
    const expression = parse(schedule);
    const { dueAt, startDate = 0 } = schedule;
    const now = Date.now();
    if (expression.kind !== "rate" || dueAt === undefined || startDate * 1000 > now) return schedule;
    if (dueAt - now <= expression.everyMs / this.options.acceleration) return schedule;
    return this.plan(schedule, now + expression.everyMs, { time: now, dueAt: now });
  }

  private async complete(key: string, schedule: Schedule): Promise<void> {
    if (schedule.deleteAfterCompletion) return this.remove(key);
    await this.store(key, { ...schedule, nextTime: undefined, dueAt: undefined });
  }

  private async remove(key: string): Promise<void> {
    this.timers.clear(key);
    this.stored.delete(key);
    await this.options.stored.delete(key);
  }

  private store(key: string, schedule: Schedule): Promise<void> {
    this.stored.set(key, schedule);
    return this.options.stored.put(key, schedule);
  }
}

/** @throws AwsError ValidationException */
function parse({ expression, timezone }: ScheduleInput): ScheduleExpression {
  try {
    return parseScheduleExpression(expression, timezone);
  } catch (error) {
    throw refusal((error as Error).message, { expression });
  }
}

function refusal(reason: string, { expression }: Pick<ScheduleInput, "expression">): AwsError {
  return new AwsError(400, "ValidationException", `Invalid Schedule Expression ${expression}: ${reason}`);
}

/** The longest delay that a timer takes, in milliseconds. */
const maxDelayMs = 2 ** 31 - 1;

/** Calls back at set times, one for each key. */
interface ScheduleTimers {
  /** @param dueAt epoch milliseconds, however far; what is past is called at once. Replaces the key's earlier time. */
  set(key: string, dueAt: number): void;
  clear(key: string): void;
  clearAll(): void;
}

function openScheduleTimers(onDue: (key: string) => void): ScheduleTimers {
  const timers = new Map<string, NodeJS.Timeout>();

  function set(key: string, dueAt: number): void {
    clear(key);
    const delay = Math.max(0, dueAt - Date.now());
    const wait = () => {
      timers.delete(key);
      if (delay > maxDelayMs) set(key, dueAt);
      else onDue(key);
    };
    timers.set(key, setTimeout(wait, Math.min(delay, maxDelayMs)));
  }

  function clear(key: string): void {
    clearTimeout(timers.get(key));
    timers.delete(key);
  }

  return {
    set,
    clear,
    clearAll() {
      for (const key of [...timers.keys()]) clear(key);
    },
  };
}
