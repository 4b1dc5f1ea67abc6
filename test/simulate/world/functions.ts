import type { Agent } from "../../../functions/agent/agent.ts";
import type { AgentEvent } from "../../../functions/agent/agent-handler.ts";
import type { TimerEvent, World } from "../../../shared/world/world.ts";
import type { Machine } from "../engine/machine.ts";
import type { Timeline } from "../engine/timeline.ts";
import { present, type Release } from "../release/present.ts";
import type { Faults } from "./faults.ts";

/** Timeout of an agent invocation. Milliseconds. */
const agentMs = 900_000;

/** Lambda repeats a failed asynchronous event after these times. Milliseconds. */
const retryAfterMs = [60_000, 120_000];

type TimerContext = Parameters<ReturnType<Release["createTimerHandler"]>>[1];

interface Warm {
  machine: Machine;
  agent: Agent;
  release: Release;
  isBusy: boolean;
}

export interface Hosting {
  timeline: Timeline;
  faults: Faults;
  /** Creates a cold machine. */
  machine(name: string): Machine;
  /** The release on a cold machine. */
  release(): Release;
  worldOf(machine: Machine): World;
  /** The agent's dependencies that are not part of its world: the model's provider and other servers. */
  outsideOf(world: World, release: Release): Partial<Agent>;
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
  wake(sessionKey: string, configurationVersion?: number, slot?: string): void {
    const { timeline, faults } = this.hosting;
    const event = { sessionKey, configurationVersion, slot };
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

  /** One of the releases that share the data. */
  release(): Release {
    return this.hosting.release();
  }

  private coldTimer() {
    const { machine, worldOf, release } = this.hosting;
    const host = machine("timer");
    const code = release();
    return { machine: host, handler: code.createTimerHandler(code.worldOf(worldOf(host))) };
  }

  /**
   * Handles one request of a peer on a new machine, by default of this release.
   * @returns the answer; never resolves if the machine dies
   */
  request<T>(name: string, work: (world: World) => Promise<T>, release = present): Promise<T> {
    const { machine, worldOf, timeline } = this.hosting;
    const host = machine(name);
    const world = release.worldOf(worldOf(host));
    return new Promise((resolve, reject) => {
      host.after(timeline.jitter(30), () => void work(world).then(resolve, reject));
    });
  }

  private invokeAgent(event: AgentEvent, failed = 0): void {
    const { sessionKey, configurationVersion, slot } = event;
    const { timeline, tell } = this.hosting;
    const host = this.warm.find(({ machine, isBusy }) => machine.isAlive && !isBusy) ?? this.coldStart();
    host.isBusy = true;
    const { machine, agent, release } = host;
    const end = timeline.now + agentMs;
    const stopAtEnd = timeline.at(end, () => machine.die());
    const over = () => {
      stopAtEnd();
      host.isBusy = false;
    };
    machine.after(0, () => {
      tell(machine.name, `invoked for ${sessionKey} (${release.name})`);
      agent.configuration.confirm(configurationVersion);
      release
        .holdSession(agent, sessionKey, () => end - timeline.now, slot)
        .then(over, (error: unknown) => {
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
    const release = this.hosting.release();
    const world = worldOf(host);
    const agent = { ...release.createAgent(release.worldOf(world)), ...outsideOf(world, release) };
    const made = { machine: host, agent, release, isBusy: false };
    this.warm.push(made);
    return made;
  }
}
