import { isLeased, leaseMs, metaKey } from "../../shared/session/state.ts";
import type { TableCall } from "../support/memory-table.ts";
import { Automaton, type Node } from "./automaton.ts";
import { changeFaults, doneFaults, isDone, restFaults } from "./invariants.ts";
import { maskRequest } from "./mask.ts";
import type { Answer, Happening, Program, Request } from "./process.ts";
import { sweeper, toolResult, toolTimeout } from "./programs.ts";
import { isAcquire, type Outcome, Snapshots, sessionKey } from "./snapshot.ts";
import {
  describeAsked,
  exchanged,
  isAtWork,
  type Member,
  Members,
  type Mishaps,
  type Schedule,
  type World,
} from "./world.ts";

/** What is explored: who takes part, and what may go wrong. */
export interface Scenario {
  name: string;
  /** The agent's invocations by their wakes: all of this program. */
  agent: Program;
  /** Invocations of the agent that nobody asked for, as repeated deliveries of a wake are. */
  extraAgents: readonly Program[];
  senders: readonly Program[];
  /** What has happened before, undisturbed: a sender whose messages are answered. */
  before?: Program;
  mishaps: Mishaps;
  /** Renewals that one invocation may make. */
  renewals: number;
  /** Stands between the code and the table: leaves a condition out, to show that the check finds it. */
  mutate?: (call: TableCall) => TableCall;
}

/** One thing that can happen next. */
export interface Move {
  /** Says what happens; worked out only when it is shown. */
  describe(): string;
  world: World;
  /** What happened that must not. */
  faults: readonly string[];
  /** Whether it would be another move at another time. */
  readsClock?: boolean;
}

/** How long after everything has come to rest a sweep comes: past every lease, deadline and grace. */
const longMs = 3_600_000;

/** Starts with the clock at a time that no arithmetic takes for an absent one. */
const firstMoment = 1_000_000_000_000;

/** What can happen in a world, by the real code's own doing and by the mishaps that are left. */
export class Moves {
  readonly automaton = new Automaton(maskRequest);
  private readonly scenario: Scenario;
  private readonly snapshots = new Snapshots(changeFaults);
  private readonly members = new Members();
  private readonly mutated = new Map<number, TableCall>();

  constructor(scenario: Scenario) {
    this.scenario = scenario;
  }

  async first(): Promise<World> {
    const { before, senders, extraAgents, mishaps } = this.scenario;
    const world: World = {
      table: this.snapshots.of([]),
      members: [],
      schedules: [],
      calls: [],
      clock: firstMoment,
      left: mishaps,
      crashed: false,
      swept: 0,
      told: [],
    };
    let first = world;
    if (before) {
      first = await this.begun(first, before);
      while (!this.isAtRest(first)) first = (await this.from(first))[0]?.world ?? first;
    }
    for (const program of [...senders, ...extraAgents]) first = await this.begun(first, program);
    return first;
  }

  /** Everything that can happen next. */
  async from(world: World): Promise<Move[]> {
    const moves: Move[] = [];
    const { members, left } = world;
    for (const member of members) {
      if (!this.isIndependent(world, member)) continue;
      await this.ofMember(world, member, moves);
      if (left.pauses === 0 || !moves.some(({ readsClock }) => readsClock)) return moves;
      moves.length = 0;
    }
    for (const [i, member] of members.entries()) {
      if (member === members[i - 1]) continue;
      await this.ofMember(world, member, moves);
    }
    for (const schedule of world.schedules) await this.firing(world, schedule, moves);
    for (const callId of world.calls) await this.answering(world, callId, moves);
    if (left.pauses > 0 && members.length > 0) moves.push(paused(world));
    if (left.sweeps > 0) {
      const swept = { ...world, left: { ...left, sweeps: left.sweeps - 1 } };
      const begun = await this.begun(swept, sweeper);
      moves.push({ describe: () => "a sweep begins", world: begun, faults: [] });
    }
    if (!members.some(isAtWork)) await this.atRest(world, moves);
    return moves;
  }

  isAtRest({ members }: World): boolean {
    return !members.some(isAtWork);
  }

  /** What is wrong with the world as it stands, when nobody is at work. */
  faultsOf(world: World): readonly string[] {
    const { table, members, schedules, clock, crashed } = world;
    if (members.some(isAtWork)) return [];
    const isScheduled = (runId: string, step: number) =>
      schedules.some(({ event }) => event.runId === runId && event.step === step);
    const faults = crashed ? [] : restFaults(table, clock, isScheduled);
    if (!isDone(table)) return faults;
    const stopped = new Set(world.told.filter((one) => one.startsWith("error ")).map((one) => one.slice(6)));
    return [...faults, ...doneFaults(table, stopped), ...this.toldFaults(world, stopped)];
  }

  /** Without a mishap each answer is told once. */
  private toldFaults({ table, told }: World, stopped: ReadonlySet<string>): string[] {
    if (!this.countsAnswers()) return [];
    const accepted = Object.keys(table.session?.recent ?? {}).filter((id) => !stopped.has(id));
    const times = (id: string) => told.filter((one) => one === `final ${id}`).length;
    return accepted
      .filter((id) => times(id) !== 1)
      .map((id) => `the answer to ${id} was told ${times(id)} times`);
  }

  private countsAnswers(): boolean {
    const { crashes, failures, pauses } = this.scenario.mishaps;
    return crashes + failures + pauses === 0;
  }

  /**
   * Whether nothing that others do can meet what this process does next: then it need not be tried before and after
   * each of their moves, and it may as well come first.
   */
  private isIndependent(world: World, member: Member): boolean {
    const { waiting } = member.node;
    return waiting.length > 0 && waiting.every(({ request }) => this.meetsNobody(world, member, request));
  }

  private meetsNobody(world: World, member: Member, request: Request): boolean {
    switch (request.to) {
      case "agent":
      case "model":
        return true;
      case "scheduler":
        return !world.schedules.some(({ name }) => name === request.name);
      case "node":
        return !world.calls.includes(request.callId);
      case "table":
        if (isOwnerRead(request.call) && isAgent(member.node.program) && member.epoch === 0) return true;
        return isOfMessages(request.call) && this.holdsAlone(world, member);
    }
  }

  /** Whether this process alone can reach the messages: it has the lease, and nobody else has had one. */
  private holdsAlone({ table, members, clock, left }: World, member: Member): boolean {
    const { session } = table;
    if (this.scenario.mutate || left.pauses > 0 || !session?.owner || session.epoch !== member.epoch)
      return false;
    return isLeased(session, clock) && members.every((other) => other === member || other.epoch === 0);
  }

  private async ofMember(world: World, member: Member, moves: Move[]): Promise<void> {
    const { node } = member;
    const { left } = world;
    const { program } = node;
    const by = `${program.name}${member.epoch > 0 ? ` (epoch ${member.epoch})` : ""}`;
    if (!node.via) {
      const begun = await this.told(world, member, "start", () => "start");
      moves.push({ ...begun, describe: () => `${by}: starts` });
    }
    for (const [place, asked] of node.waiting.entries()) {
      const what = () => describeAsked(program, asked).replace(program.name, by);
      const effect = await this.effect(world, member, place);
      const answered = await this.answered(member, place, effect);
      moves.push({ ...answered, describe: () => `${what()}${effect.failed ? " – refused" : ""}` });
      if (left.failures > 0) await this.failing(world, member, place, effect, what, moves);
      if (left.repeats > 0 && member.repeated < 0 && effect.repeatable) {
        const kept = { ...member, epoch: effect.epoch, repeated: place };
        const world2 = this.exchange(
          { ...effect.world, left: { ...left, repeats: left.repeats - 1 } },
          member,
          kept,
        );
        moves.push({
          describe: () => `${what()} – its answer lost, asked again`,
          world: world2,
          faults: effect.faults,
        });
      }
    }
    if (node.hasInterval && member.renewals > 0) {
      const renewing = { ...member, renewals: member.renewals - 1 };
      const told = await this.told(world, member, "interval", () => ({ interval: true }), renewing);
      moves.push({ ...told, describe: () => `${by}: its interval is over` });
    }
    if (left.crashes > 0 && isAtWork(member)) {
      const dead = this.exchange(mishapIn(world, "crashes"), member);
      moves.push({ describe: () => `${by}: dies`, world: dead, faults: [] });
    }
    if (!isAtWork(member)) {
      const world2 = this.exchange(world, member);
      moves.push({ describe: () => `${by}: is frozen after its end`, world: world2, faults: [] });
    }
  }

  /** What a request does to the world, before anybody is told. */
  private async effect(world: World, member: Member, place: number): Promise<Effect> {
    const asked = member.node.waiting[place];
    if (!asked) throw new Error(`nothing is asked at ${place}`);
    const { request } = asked;
    const unchanged = { world, epoch: member.epoch, failed: false, faults: [], repeatable: false };
    switch (request.to) {
      case "table":
        return this.onTable(world, member, asked.id, request);
      case "agent":
        return { ...unchanged, ...nothing, world: await this.begun(world, this.scenario.agent) };
      case "scheduler": {
        const known = world.schedules.some(({ name }) => name === request.name);
        const schedule = this.members.schedule(request.name, request.event as Schedule["event"]);
        const schedules = known
          ? world.schedules
          : [...world.schedules, schedule].sort((a, b) => a.id - b.id);
        return { ...unchanged, ...nothing, world: { ...world, schedules } };
      }
      case "node": {
        const calls = [...new Set([...world.calls, request.callId])].sort();
        return { ...unchanged, ...nothing, world: { ...world, calls } };
      }
      case "model":
        return { ...unchanged, ...nothing };
    }
  }

  private onTable(world: World, member: Member, id: number, request: Request & { to: "table" }): Effect {
    const { mutate } = this.scenario;
    let { call } = request;
    if (mutate) {
      call = this.mutated.get(id) ?? mutate(call);
      this.mutated.set(id, call);
    }
    const outcome = this.snapshots.apply(world.table, id, call, member.epoch);
    const faults = [...outcome.faults, ...leaseFaults(outcome, call, member, world.clock)];
    const taken = outcome.session && isAcquire(call) ? outcome.session.after.epoch : member.epoch;
    return {
      world: outcome.table === world.table ? world : { ...world, table: outcome.table },
      answerName: outcome.answerName,
      answer: outcome.answer,
      failed: outcome.failed,
      epoch: taken,
      faults,
      repeatable: !outcome.failed && (call.op === "put" || call.op === "update" || call.op === "delete"),
    };
  }

  private async answered(member: Member, place: number, effect: Effect): Promise<Told> {
    const repeated = member.repeated > place ? member.repeated - 1 : member.repeated;
    const next = { ...member, epoch: effect.epoch, repeated: member.repeated === place ? -1 : repeated };
    const happening = () => ({ request: place, answer: effect.answer() });
    const told = await this.told(effect.world, member, `${place}${effect.answerName}`, happening, next);
    return effect.faults.length > 0 ? { ...told, faults: [...effect.faults, ...told.faults] } : told;
  }

  /** The call fails for good, before it takes effect or after. */
  private async failing(
    world: World,
    member: Member,
    place: number,
    effect: Effect,
    what: () => string,
    moves: Move[],
  ): Promise<void> {
    const fault = { answerName: "fault", answer: (): Answer => ({ failure: "fault" }), repeatable: false };
    const before = {
      ...effect,
      ...fault,
      world: mishapIn(world, "failures"),
      epoch: member.epoch,
      faults: [],
    };
    moves.push({ ...(await this.answered(member, place, before)), describe: () => `${what()} – fails` });
    if (effect.world === world) return;
    const after = { ...effect, ...fault, world: mishapIn(effect.world, "failures") };
    const told = await this.answered(member, place, after);
    moves.push({ ...told, describe: () => `${what()} – fails after it has taken effect` });
  }

  /** A process is told something, and goes on to where it rests again. */
  private async told(
    world: World,
    member: Member,
    name: string,
    happening: () => Happening | "start",
    next: Omit<Member, "id" | "node"> = member,
  ): Promise<Told> {
    const { node } = member;
    const { clock } = world;
    const to =
      this.automaton.known(node, name, clock) ?? (await this.automaton.learn(node, name, happening, clock));
    const { epoch, renewals, repeated } = next;
    let after = this.exchange(
      world,
      member,
      to.ended && to.waiting.length === 0 ? undefined : { ...next, node: to, epoch, renewals, repeated },
    );
    const faults: string[] = [];
    for (const item of to.news) {
      if (item.startsWith("fault: ")) faults.push(item.slice(7));
      else if (this.countsAnswers() || item.startsWith("error "))
        after = { ...after, told: [...after.told, item].sort() };
    }
    if (to.ended === "threw") {
      if (!world.crashed) faults.push(`${node.program.name} failed: ${to.error}`);
      after = await this.retried(after, node);
    }
    return { world: after, faults, readsClock: to.readClock };
  }

  /** A failed asynchronous invocation is repeated by Lambda; a node repeats a result that was not acknowledged. */
  private async retried(world: World, { program }: Node): Promise<World> {
    const { senders, agent } = this.scenario;
    if (senders.includes(program)) return world;
    return this.begun(world, isAgent(program) ? agent : program);
  }

  private async firing(world: World, schedule: Schedule, moves: Move[]): Promise<void> {
    const program = toolTimeout(schedule.event);
    if (isUnderWay(world, program)) return;
    const begin = (from: World) => this.begun(from, program);
    const schedules = world.schedules.filter((one) => one !== schedule);
    moves.push({
      describe: () => "the schedule fires",
      world: await begin({ ...world, schedules }),
      faults: [],
    });
    if (world.left.duplicates === 0) return;
    const twice = await begin(await begin({ ...duplicatedIn(world), schedules }));
    moves.push({ describe: () => "the schedule fires, and is delivered twice", world: twice, faults: [] });
  }

  private async answering(world: World, callId: string, moves: Move[]): Promise<void> {
    const program = toolResult(callId);
    if (isUnderWay(world, program)) return;
    const begin = (from: World) => this.begun(from, program);
    const calls = world.calls.filter((one) => one !== callId);
    moves.push({ describe: () => "the node answers", world: await begin({ ...world, calls }), faults: [] });
    if (world.left.duplicates === 0) return;
    const twice = await begin(await begin({ ...duplicatedIn(world), calls }));
    moves.push({ describe: () => "the node answers, twice", world: twice, faults: [] });
  }

  /** Nothing is left to happen: what a crash has left undone, a sweep takes up. */
  private async atRest(world: World, moves: Move[]): Promise<void> {
    const { mishaps } = this.scenario;
    if (world.members.length > 0 || world.schedules.length > 0 || !world.crashed || isDone(world.table))
      return;
    if (world.swept > mishaps.crashes + mishaps.failures) {
      moves.push({ describe: () => "nothing", world, faults: ["sweeps do not mend it"] });
      return;
    }
    const later = { ...world, clock: world.clock + longMs, swept: world.swept + 1 };
    const begun = await this.begun(later, sweeper);
    moves.push({ describe: () => "much later, a sweep begins", world: begun, faults: [] });
  }

  /** A program is started. While nobody can be paused, its start is no step of its own: it changes nothing. */
  private async begun(world: World, program: Program): Promise<World> {
    const node = this.automaton.root(program);
    const fresh = this.members.of({ node, epoch: 0, renewals: this.scenario.renewals, repeated: -1 });
    const added = { ...world, members: exchanged(world.members, undefined, [fresh]) };
    if (this.scenario.mishaps.pauses > 0) return added;
    return (await this.told(added, fresh, "start", () => "start")).world;
  }

  private exchange(world: World, gone: Member, come?: Omit<Member, "id">): World {
    return { ...world, members: exchanged(world.members, gone, come ? [this.members.of(come)] : []) };
  }
}

/** After a refused acquire the agent looks only whether it is the owner itself; a process without an epoch never is. */
function isOwnerRead(call: TableCall): boolean {
  return call.op === "get" && call.key.sk === metaKey(sessionKey).sk;
}

function isAgent({ name }: Program): boolean {
  return name.startsWith("agent");
}

function isOfMessages(call: TableCall): boolean {
  if (call.op === "query") return (call.query.from ?? call.query.prefix ?? "").startsWith("M#");
  if (call.op === "queryIndex") return false;
  return (call.op === "put" ? call.item : call.key).sk.startsWith("M#");
}

type Told = Pick<Move, "world" | "faults" | "readsClock">;

interface Effect {
  world: World;
  answerName: string;
  answer: () => Answer;
  failed: boolean;
  /** The caller's epoch from now on. */
  epoch: number;
  faults: readonly string[];
  repeatable: boolean;
}

const nothing = { answerName: "-", answer: (): Answer => ({ value: undefined }) };

/** What a crash makes happen again waits for the first time to be over; both at once is for `duplicates`. */
function isUnderWay({ members }: World, { name }: Program): boolean {
  return members.some(({ node }) => node.program.name === name);
}

function mishapIn(world: World, kind: "crashes" | "failures"): World {
  return { ...world, crashed: true, left: { ...world.left, [kind]: world.left[kind] - 1 } };
}

function duplicatedIn(world: World): World {
  return { ...world, left: { ...world.left, duplicates: world.left.duplicates - 1 } };
}

function paused(world: World): Move {
  const left = { ...world.left, pauses: world.left.pauses - 1 };
  const later = { ...world, clock: world.clock + leaseMs + 1000, left };
  return { describe: () => "everybody stands still until all leases have run out", world: later, faults: [] };
}

/** Only the newest epoch writes the session, and nobody takes a lease that runs. */
function leaseFaults(
  { session }: Outcome,
  call: TableCall,
  { node, epoch }: Member,
  clock: number,
): string[] {
  if (!session || !isAgent(node.program)) return [];
  const { before, after } = session;
  if (isAcquire(call)) {
    const isLive = before?.leaseUntil !== undefined && before.leaseUntil >= clock;
    return isLive ? ["a lease was taken that had not run out"] : [];
  }
  // A result may be recorded by whoever has it, also by an agent that finds the node gone.
  if (call.op === "update" && call.steps.some(({ path }) => path[1] === "pending")) return [];
  return epoch === after.epoch ? [] : [`epoch ${epoch} wrote the session when ${after.epoch} was the newest`];
}
