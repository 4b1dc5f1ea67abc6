import type { Agent } from "../../functions/agent/agent.ts";
import type { ModelCall, ModelOutcome } from "../../functions/agent/model/model-call.ts";
import { holdSession } from "../../functions/agent/session-loop.ts";
import { sweep } from "../../functions/timer/sweep.ts";
import type { Timer } from "../../functions/timer/timer.ts";
import { fireCron } from "../../functions/timer/timer-handler.ts";
import type { ChannelOrigin } from "../../shared/channels/channel.ts";
import { createLastActive } from "../../shared/channels/last-active.ts";
import { defaults } from "../../shared/configuration/defaults.ts";
import type { Configuration } from "../../shared/configuration/schema.ts";
import { addJob, allJobs } from "../../shared/cron/jobs.ts";
import { listRuns } from "../../shared/cron/run-history.ts";
import type { CronJob, CronRun } from "../../shared/protocol/cron.ts";
import { textOf } from "../../shared/protocol/messages.ts";
import { parseParams } from "../../shared/protocol/methods.ts";
import { readSession } from "../../shared/session/sessions.ts";
import type { TimerEvent } from "../../shared/world/world.ts";
import { type Bench, immortal, Killed, type Life, mortal, openBench } from "../agent/bench.ts";
import { type State, startState } from "../support/state.ts";

export const minute = 60_000;
export const hour = 3_600_000;

/** Friday. */
export const friday = Date.parse("2026-02-13T15:00:00Z");

type CronEvent = Extract<TimerEvent, { kind: "cron" }>;

/** Scheduled jobs in virtual time: the code of timer and agent over the local world, with a scripted model. */
export class CronBench {
  now = friday;
  configuration: Configuration = structuredClone(defaults);
  /** What a read that accepts a cached configuration returns; absent: the newest one. */
  cached: Configuration | undefined;
  /** By name; an existing name is not changed. */
  schedules = new Map<string, { at: number; event: CronEvent }>();
  /** The event of the schedule that a test fired. */
  fired: CronEvent | undefined;
  woken = new Set<string>();
  calls: ModelCall[] = [];
  /** Texts delivered to channels, by delivery id. */
  delivered = new Map<string, { origin: ChannelOrigin; text: string }>();
  deliver: () => { ok: true } | { ok: false; reason: string } = () => ({ ok: true });
  answer: (call: ModelCall) => ModelOutcome | Promise<ModelOutcome> = () => answered("done");
  declare state: State;
  declare bench: Bench;

  async start(): Promise<void> {
    this.state = await startState();
    this.bench = openBench(this.state, this.configuration.model);
  }

  close(): Promise<void> {
    return this.state.close();
  }

  world(life: Life = immortal()) {
    const once = async (name: string, at: number, event: TimerEvent) => {
      if (event.kind === "cron" && !this.schedules.has(name)) this.schedules.set(name, { at, event });
    };
    const wake = async (sessionKey: string) => {
      this.woken.add(sessionKey);
    };
    return {
      table: mortal(this.state.table, "table", life),
      schedules: mortal({ once }, "schedules", life),
      wake: mortal({ wake }, "lambda", life).wake,
      configuration: { load: this.load },
      now: () => this.now,
    };
  }

  private load = async ({ fresh = false }: { fresh?: boolean } = {}) =>
    fresh ? this.configuration : (this.cached ?? this.configuration);

  timer(life?: Life): Timer {
    const files = { read: async () => undefined };
    const sweepMemories = async () => {};
    return {
      ...this.world(life),
      files,
      sweepMemories,
      sockets: { post: async () => "sent", close: async () => {} },
    };
  }

  add(job: object): Promise<CronJob> {
    return addJob(this.world(), parseParams("cron.add", { name: "job", ...job }));
  }

  /** Records a direct message of a person who is an owner at that time. */
  hear({ channel, accountId, peer }: Omit<ChannelOrigin, "kind"> & { kind: string }, senderId: string) {
    const note = createLastActive(this.state.table, () => this.now);
    return note({ agentId: "main", channel, accountId, peer, senderId, role: "owner" });
  }

  async job(id: string): Promise<(CronJob["state"] & { enabled: boolean }) | undefined> {
    const found = (await allJobs(this.world())).find((job) => job.id === id);
    if (!found) return undefined;
    const { run, ...state } = found;
    return { ...state, ...(run ? { runningAtMs: run.since } : {}) };
  }

  runs(jobId?: string): Promise<CronRun[]> {
    return listRuns(this.state.table, { jobId, offset: 0, limit: 2000 }, this.now);
  }

  event(): CronEvent {
    if (!this.fired) throw new Error("no schedule was fired");
    return this.fired;
  }

  /** Fires a schedule. False when the timer was killed. */
  fire(event: CronEvent, life?: Life): Promise<boolean> {
    return survives(fireCron(this.timer(life), event));
  }

  sweep(life?: Life): Promise<boolean> {
    return survives(sweep(this.timer(life)));
  }

  /** Lets the agent process all sessions for which it was woken. False when it was killed. */
  async work(life?: Life): Promise<boolean> {
    for (const key of this.woken) {
      this.woken.delete(key);
      if (!(await survives(holdSession(this.agent(life), key, () => 900_000)))) return false;
    }
    return true;
  }

  agent(life: Life = immortal()): Agent {
    this.bench.later = this.now - Date.now();
    const deliver = async (origin: ChannelOrigin, id: string, text: string) => {
      if (life.left <= 0) throw new Killed();
      const outcome = this.deliver();
      if (outcome.ok) this.delivered.set(id, { origin, text });
      return outcome;
    };
    const base = this.bench.agent(life);
    return {
      ...base,
      ...this.world(life),
      configuration: { ...base.configuration, load: this.load },
      channels: { ...base.channels, deliver },
      callModel: async (call) => {
        this.calls.push(call);
        return this.answer(call);
      },
    };
  }

  /** Moves the clock, fires all schedules that become due, and lets the agent work. */
  async until(at: number): Promise<void> {
    for (;;) {
      const due = [...this.schedules]
        .filter(([, one]) => one.at <= at)
        .sort(([, a], [, b]) => a.at - b.at)[0];
      if (!due) break;
      const [name, { event }] = due;
      this.schedules.delete(name);
      this.now = Math.max(this.now, event.at);
      await this.fire(event);
      await this.work();
    }
    this.now = at;
  }

  /** The texts of users' messages in a session. */
  async asked(sessionKey: string): Promise<string[]> {
    if (!(await readSession(this.state.table, sessionKey))) return [];
    const live = await this.bench.live(sessionKey);
    return live.filter(({ role }) => role === "user").map((message) => textOf(message));
  }
}

async function survives(work: Promise<unknown>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (error instanceof Killed) return false;
    throw error;
  }
}

export function answered(text: string): ModelOutcome {
  const content = [{ type: "text" as const, text }];
  return { status: "answered", message: { role: "assistant", content, timestamp: 0 } };
}

export const task = (message: string, more: object = {}) => ({ mode: "task", message, ...more });
export const telegram = { deliver: true, channel: "telegram", to: "42" };
