import "../support/loaded-later.ts";
import type { ModelCall } from "../../functions/agent/model/model-call.ts";
import type { TableCall } from "../../local/items/table-call.ts";
import type { ChannelSender } from "../../shared/channels/channel.ts";
import type { JsonObject } from "../../shared/configuration/configuration-paths.ts";
import { defaults } from "../../shared/configuration/defaults.ts";
import { mergeConfiguration, openConfiguration } from "../../shared/configuration/store.ts";
import type { Rendering } from "../../shared/context/view.ts";
import { inTurn } from "../../shared/session/agent-slots.ts";
import { isLeased, metaKey, type SessionState } from "../../shared/session/state.ts";
import type { World } from "../../shared/world/world.ts";
import { type Random, seededRandom } from "../support/random.ts";
import { Machine, type Running } from "./engine/machine.ts";
import { standIn } from "./engine/stand-ins.ts";
import { Timeline } from "./engine/timeline.ts";
import { type Action, drawActions } from "./load/actions.ts";
import { connectedPeers, knownBridge, Peers, peersToken } from "./load/peers.ts";
import { present, type Release } from "./release/present.ts";
import { loadPrevious } from "./release/previous.ts";
import { usualBeats } from "./scenes/beats.ts";
import { maxRuns } from "./scenes/jobs/job-rules.ts";
import type { Scene } from "./scenes/scene.ts";
import { createScenes, drawScenes } from "./scenes/scenes.ts";
import { maxSends } from "./scenes/sends.ts";
import { Ledger } from "./verdict/ledger.ts";
import { checkRequest } from "./verdict/model-request.ts";
import { checkRest } from "./verdict/rest.ts";
import { watchSession } from "./verdict/session-change.ts";
import { SlotWatch } from "./verdict/slot-watch.ts";
import { ruleFault } from "./verdict/write-rule.ts";
import { Cloud } from "./world/cloud.ts";
import { type FaultName, Faults } from "./world/faults.ts";
import { Functions } from "./world/functions.ts";
import { createModel } from "./world/model.ts";
import { Network } from "./world/network.ts";
import { createPlatform, openChannels, type Sent } from "./world/platform.ts";

/** A few minutes before the daily reset. */
const start = Date.parse("2026-03-02T03:57:00Z");

/** Maximum number of actions in one schedule. */
const maxActions = 6;

/** Maximum virtual time, after the last fault, until everything is idle. Milliseconds. */
const restMs = 45 * 60_000;

export interface ScheduleOptions {
  seed: number;
  /** Replaces the drawn actions. */
  actions?: readonly Action[];
  /** Numbers of the faults to leave out. */
  leftOut?: ReadonlySet<number>;
  /** One in this many calls has a fault; drawn if absent. */
  oneIn?: number;
  /** Whether the previous release runs, too; drawn if absent. */
  isMixed?: boolean;
  /** How many agents may run at a time; drawn if absent. */
  maxAgents?: number;
  /** Changes every write to the table. */
  mutate?: (call: TableCall) => TableCall;
  /** Changes how all machines see the services. */
  distort?: (world: World) => World;
  /** Receives a line for each event. */
  trace?: (line: string) => void;
}

/** The result of a schedule. */
export interface ScheduleResult {
  violations: string[];
  actions: readonly Action[];
  messages: number;
  /** The number of drawn faults, including those left out. */
  drawn: number;
  faults: Record<FaultName, number>;
  /** Duration in virtual milliseconds. */
  took: number;
}

/** Runs one schedule, which its seed determines. */
export async function runSchedule(options: ScheduleOptions): Promise<ScheduleResult> {
  const simulation = new Simulation(options, await loadPrevious());
  return simulation.run();
}

const policies = [
  { mode: "manual" },
  { mode: "idle", idleMinutes: 1 },
  { mode: "daily", atHour: 4 },
] as const;

/** The settings that differ from the defaults. */
function settingsFor(policy: (typeof policies)[number], rendering: Rendering): JsonObject {
  return {
    context: { rendering, window: { calls: 1, turns: 2 } },
    model: { provider: "simulated", id: "m", contextWindow: 200_000 },
    channels: {
      sim: { dmPolicy: "open", owners: ["me"], accounts: { default: { apiBaseUrl: "https://sim" } } },
      brg: { dmPolicy: "open", owners: ["me"] },
    },
    session: { defaultResetPolicy: policy, sendLimit: maxSends },
    agents: { list: [{ id: "main" }, { id: "b" }, { id: "c" }], defaultHeartbeat: usualBeats },
    cron: { maxConcurrentRuns: maxRuns },
    // At the price of an unknown model, a few ticks reach the usual budget of heartbeats.
    budgets: { rules: defaults.budgets.rules.filter(({ id }) => id !== "heartbeat") },
  };
}

/** Independent random sources for the parts of a schedule. */
function sourcesOf(
  seed: number,
): Record<"plan" | "ways" | "faults" | "ids" | "peers" | "scenes" | "slots", Random> {
  const of = (part: number) => seededRandom(Math.imul(seed, 2_654_435_761) + part * 40_503);
  return { plan: of(1), ways: of(2), faults: of(3), ids: of(4), peers: of(5), scenes: of(6), slots: of(7) };
}

class Simulation {
  private readonly sources: ReturnType<typeof sourcesOf>;
  private readonly actions: readonly Action[];
  private readonly timeline: Timeline;
  private readonly faults: Faults;
  private readonly running: Running = { machine: undefined };
  private readonly services: Machine;
  private readonly ledger = new Ledger();
  private readonly sent: Sent = [];
  private readonly cloud: Cloud;
  private readonly functions: Functions;
  private readonly peers: Peers;
  private readonly scenes: ReadonlyMap<string, Scene>;
  private readonly maxSkew: number;
  private readonly settings: JsonObject;
  /** The releases that share the data. */
  private readonly releases: readonly Release[];
  /** Undefined: any number. The previous release knows no limit. */
  private readonly maxAgents: number | undefined;
  private readonly slots = new SlotWatch(this.ledger);
  private machines = 0;

  private readonly options: ScheduleOptions;

  constructor(options: ScheduleOptions, previous: Release) {
    this.options = options;
    const { seed, leftOut = new Set(), mutate = (call) => call, distort = (world) => world } = options;
    this.sources = sourcesOf(seed);
    const { plan, ways, faults, peers, scenes } = this.sources;
    this.timeline = new Timeline(start, ways);
    this.faults = new Faults(faults, options.oneIn ?? plan.pick([0, 400, 150, 60, 30]), leftOut);
    this.maxSkew = plan.pick([0, 0, 300, 2_000]);
    // The previous release breaks the rules of the scenes.
    const drawn = [...drawActions(plan, maxActions), ...(options.isMixed ? [] : drawScenes(scenes))];
    // Drawn in any case, so that what else `plan` decides is the same with fewer actions.
    this.actions = options.actions ?? drawn;
    const isAlone = peers.integer(4) > 0 || this.actions.some(({ kind }) => kind === "scene");
    this.releases = (options.isMixed ?? !isAlone) ? [previous, present] : [present];
    // A silent model would make each job overdue.
    const hasJobs = this.actions.some((action) => action.kind === "scene" && action.scene === "jobs");
    const drawnMax = hasJobs ? undefined : this.sources.slots.pick([undefined, undefined, 1, 2]);
    this.maxAgents = this.releases.length > 1 ? undefined : (options.maxAgents ?? drawnMax);
    this.settings = settingsFor(plan.pick(policies), plan.pick(["inline", "pools"] as const));
    this.services = new Machine("services", 0, this.timeline, this.running);
    const network = new Network(this.timeline, this.faults, this.services, this.tell);
    const channels = createPlatform(this.faults, this.sent);
    this.cloud = new Cloud(this.timeline, network, this.events(), mutate);
    this.functions = new Functions({
      timeline: this.timeline,
      faults: this.faults,
      machine: (name) => this.newMachine(name),
      release: () => (this.releases.length > 1 ? peers.pick(this.releases) : present),
      worldOf: (machine) => distort(inTurn({ ...this.cloud.worldOf(machine), maxAgents: this.maxAgents })),
      outsideOf: (world, { modelOf }) => ({
        callModel: modelOf(createModel(this.faults, (call) => this.seeRequest(call))),
        channels: this.seen(
          openChannels(world, channels, openConfiguration(world.table, world.secrets)).sender,
        ),
      }),
      tell: this.tell,
    });
    const { timeline, ledger, functions, sent, tell } = this;
    this.peers = new Peers({
      timeline,
      ledger,
      functions,
      sent,
      configuration: mergeConfiguration(this.settings),
      tell,
      channels,
      faults: this.faults,
      random: peers,
    });
    const stage = { timeline, ledger, cloud: this.cloud, faults: this.faults, peers: this.peers, sent };
    this.scenes = createScenes(this.actions, stage);
  }

  private seeRequest(call: ModelCall): void {
    const name = this.running.machine?.name;
    this.tell(name ?? "", `asks the model with ${call.messages.length} messages`);
    checkRequest(this.ledger, name, call, (key) => this.cloud.bucket.peek(key) !== undefined);
  }

  /** Shows the scenes what the agent delivers. */
  private seen(sender: ChannelSender): ChannelSender {
    return {
      ...sender,
      deliver: (to, id, ...rest) => {
        for (const scene of this.scenes.values()) scene.delivers?.({ id, to: to.peer.id });
        return sender.deliver(to, id, ...rest);
      },
    };
  }

  async run(): Promise<ScheduleResult> {
    const putBack = [
      // Omit the times, which are those of this process.
      ...this.releases.map(({ setLogOutput }) =>
        setLogOutput((line) => this.options.trace?.(`    ${line.replace(/^\{"time":"[^"]*",/, "{")}`)),
      ),
      standIn({ machine: () => this.running.machine ?? this.services, random: this.sources.ids }),
      onUnhandled((error) => this.ledger.fault(`unhandled: ${error instanceof Error ? error.stack : error}`)),
    ];
    try {
      await this.prepare();
      await this.play();
      await checkRest({
        ...{ ledger: this.ledger, cloud: this.cloud, sent: this.sent },
        ...{ faults: this.faults.total, now: this.timeline.now },
      });
      for (const scene of this.scenes.values()) await scene.rest();
    } finally {
      for (const one of putBack.reverse()) one();
    }
    const { actions, ledger, faults } = this;
    const violations = [...ledger.violations];
    const drawn = faults.total;
    const took = this.timeline.now - start;
    return { violations, actions, messages: ledger.messages, drawn, faults: faults.counts, took };
  }

  /** Users act while faults happen; then there are no more faults until everything is idle. */
  private async play(): Promise<void> {
    const { timeline, actions, faults } = this;
    for (const [index, action] of actions.entries())
      timeline.after(action.at, () => void this.perform(action, index + 1));
    const calm = Math.max(...actions.map(({ at }) => at), 0) + 60_000;
    timeline.after(calm, () => {
      faults.isOn = false;
      void this.peers.reconnectBridge();
      for (const scene of this.scenes.values()) void scene.calm();
    });
    const sweep = () => {
      this.functions.fire({ kind: "sweep" });
      timeline.after(60_000, sweep);
    };
    timeline.after(60_000, sweep);
    let quiet = 0;
    const end = start + calm + restMs;
    await timeline.run(() => {
      if (timeline.now < start + calm || !this.isQuiet()) quiet = timeline.now;
      return timeline.now - quiet > 130_000 || timeline.now > end;
    });
  }

  private perform(action: Action, number: number): Promise<void> | undefined {
    if (action.kind !== "scene") return this.peers.perform(action, number);
    return this.scenes.get(action.scene)?.perform(action, `${action.does}-${number}`);
  }

  /** Whether no work is left except for distant schedules. */
  private isQuiet(): boolean {
    if (this.peers.busy > 0 || ![...this.scenes.values()].every((scene) => scene.isQuiet())) return false;
    for (const { at } of this.cloud.schedules.values()) if (at < this.timeline.now + 150_000) return false;
    for (const sessionKey of this.ledger.conversations.keys()) {
      const state = this.cloud.store.get(metaKey(sessionKey)) as unknown as SessionState;
      if (state.run || state.inbox.length > 0 || isLeased(state, this.timeline.now)) return false;
    }
    // An agent may still extract memories, and holds its slot meanwhile.
    const slots = this.cloud.store.get({ pk: "SLOTS", sk: "AGENTS" });
    return [slots?.running ?? []].flat().length === 0;
  }

  private async prepare(): Promise<void> {
    const json = JSON.stringify(this.settings);
    const overrides = { pk: "CONFIG", sk: "GLOBAL", version: 1, overrides: json };
    for (const item of [...connectedPeers, peersToken, knownBridge, overrides])
      await this.cloud.store.write({ pk: String(item.pk), sk: String(item.sk) }, () => item as never);
    for (const scene of this.scenes.values()) await scene.prepare();
  }

  private newMachine(name: string): Machine {
    const skew = this.maxSkew > 0 ? this.sources.plan.integer(2 * this.maxSkew) - this.maxSkew : 0;
    return new Machine(`${name}/${++this.machines}`, skew, this.timeline, this.running);
  }

  private events(): ConstructorParameters<typeof Cloud>[2] {
    return {
      asked: (call) => {
        const fault = ruleFault(call);
        if (fault) this.ledger.fault(fault);
      },
      written: (key, before, after, writer) => {
        for (const scene of this.scenes.values()) scene.written({ key, before, after, writer });
        if (key.pk.startsWith("AP#") && !before) void this.peers.allow(key.pk.slice("AP#".length));
        const { now } = this.timeline;
        const isCalm = this.faults.total === 0;
        if (key.pk === "SLOTS" && after) this.slots.written(before, after, writer, now, isCalm);
        if (key.sk !== "META" || !key.pk.startsWith("S#") || !after) return;
        const states = { before: before as never, after: after as unknown as SessionState };
        const waited = this.slots.waited(states.after.sessionKey, now);
        const change = { ...states, writer, now, waited, isCalm };
        watchSession(this.ledger, change, (one) => this.cloud.store.get(one) as never);
        this.checkAgents();
      },
      posted: (connectionId, frame) => {
        for (const scene of this.scenes.values()) scene.posted?.(connectionId, frame);
        return this.peers.receive(connectionId, frame);
      },
      woken: (...event) => this.functions.wake(...event),
      fired: (event) => this.functions.fire(event),
    };
  }

  /** Without faults, no more sessions are held at a time than agents may run. */
  private checkAgents(): void {
    if (this.maxAgents === undefined || this.faults.total > 0) return;
    const states = [...this.ledger.conversations.keys()].map((key) => this.cloud.store.get(metaKey(key)));
    const held = states.filter((state) => isLeased(state as unknown as SessionState, this.timeline.now));
    if (held.length > this.maxAgents)
      this.ledger.fault(`${held.length} sessions are held, but only ${this.maxAgents} agents may run`);
  }

  private readonly tell = (who: string, what: string): void => {
    this.options.trace?.(`${this.timeline.now - start} ${who}: ${what}`);
  };
}

/** Catches unhandled rejections, which would end a function's process. @returns a function that stops it */
function onUnhandled(note: (error: unknown) => void): () => void {
  const listeners = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection").on("unhandledRejection", note);
  return () => {
    process.removeAllListeners("unhandledRejection");
    for (const listener of listeners) process.on("unhandledRejection", listener);
  };
}
