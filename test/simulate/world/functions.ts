import type { Agent } from "../../../functions/agent/agent.ts";
import { type AgentEvent, createAgent } from "../../../functions/agent/agent-handler.ts";
import { holdSession } from "../../../functions/agent/session-loop.ts";
import { createTimerHandler } from "../../../functions/timer/timer-handler.ts";
import type { TimerEvent, World } from "../../../shared/world/world.ts";
import type { Machine } from "../engine/machine.ts";
import type { Timeline } from "../engine/timeline.ts";
import type { Faults } from "./faults.ts";

/** Timeout of an agent invocation. Milliseconds. */
const agentMs = 900_000;

/** Lambda repeats a failed asynchronous event after these times. Milliseconds. */
const retryAfterMs = [60_000, 120_000];

type TimerContext = Parameters<ReturnType<typeof createTimerHandler>>[1];

interface Warm {
  machine: Machine;
  agent: Agent;
  isBusy: boolean;
}

export interface Hosting {
  timeline: Timeline;
  faults: Faults;
  /** Creates a cold machine. */
  machine(name: string): Machine;
  worldOf(machine: Machine): World;
  /** The agent's dependencies that are not part of its world: the model's provider and other servers. */
  outsideOf(world: World): Partial<Agent>;
  tell(who: string, what: string): void;
}

/** Runs the real functions, each invocation on one machine. */
export class Functions {
  private readonly warm: Warm[] = [];
  private timer: ReturnType<Functions["coldTimer"]> | undefined;

  private readonly hosting: Hosting;

  constructor(hosting: Hosting) {
    this.hosting = hosting;
  }

  /** Delivers the agent's event, once or, with a fault, twice. */
  wake(sessionKey: string, configurationVersion?: number): void {
    const { timeline, faults } = this.hosting;
    const event = { sessionKey, configurationVersion };
    timeline.after(5 + timeline.jitter(60), () => this.invokeAgent(event));
    if (faults.draw(["duplicates"], 8))
      timeline.after(faults.between(5, 30_000), () => this.invokeAgent(event));
  }

  fire(event: TimerEvent): void {
    const { timeline, tell } = this.hosting;
    if (!this.timer?.machine.isAlive) this.timer = this.coldTimer();
    const { machine, handler } = this.timer;
    tell(machine.name, event.kind);
    const context = { awsRequestId: machine.name, getRemainingTimeInMillis: () => 60_000 } as TimerContext;
    machine.after(timeline.jitter(20), () => void handler(event, context).catch(() => {}));
  }

  private coldTimer() {
    const { machine, worldOf } = this.hosting;
    const host = machine("timer");
    return { machine: host, handler: createTimerHandler(worldOf(host)) };
  }

  /**
   * Handles one request of a peer on a new machine.
   * @returns the answer; never resolves if the machine dies
   */
  request<T>(name: string, work: (world: World) => Promise<T>): Promise<T> {
    const { machine, worldOf, timeline } = this.hosting;
    const host = machine(name);
    return new Promise((resolve, reject) => {
      host.after(timeline.jitter(30), () => void work(worldOf(host)).then(resolve, reject));
    });
  }

  private invokeAgent(event: AgentEvent, failed = 0): void {
    const { sessionKey, configurationVersion } = event;
    const { timeline, tell } = this.hosting;
    const host = this.warm.find(({ machine, isBusy }) => machine.isAlive && !isBusy) ?? this.coldStart();
    host.isBusy = true;
    const { machine, agent } = host;
    const end = timeline.now + agentMs;
    const stopAtEnd = timeline.at(end, () => machine.die());
    const over = () => {
      stopAtEnd();
      host.isBusy = false;
    };
    machine.after(0, () => {
      tell(machine.name, `invoked for ${sessionKey}`);
      agent.configuration.confirm(configurationVersion);
      holdSession(agent, sessionKey, () => end - timeline.now).then(over, (error: unknown) => {
        over();
        tell(machine.name, `failed: ${error}`);
        const wait = retryAfterMs[failed];
        if (wait !== undefined) timeline.after(wait, () => this.invokeAgent(event, failed + 1));
      });
    });
  }

  private coldStart(): Warm {
    const { machine, worldOf, outsideOf } = this.hosting;
    const host = machine("agent");
    const world = worldOf(host);
    const made = { machine: host, agent: { ...createAgent(world), ...outsideOf(world) }, isBusy: false };
    this.warm.push(made);
    return made;
  }
}
