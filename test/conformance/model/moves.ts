import { describeMember, describeRequest } from "../describe.ts";
import { newsFaults } from "../invariants.ts";
import { Rereads } from "../reread.ts";
import { countsAnswers, type Model, type Scenario } from "../scenario.ts";
import type { Automaton, Node } from "./automaton.ts";
import type { Behaviour } from "./behaviour.ts";
import { type Effect, Effects } from "./effects.ts";
import type { Answer, Happening, Program } from "./process.ts";
import { isAgent, toolResult } from "./programs.ts";
import { sessionModel } from "./session-model.ts";
import {
  type Crew,
  type Member,
  type Mishaps,
  type Outside,
  Parts,
  type Schedule,
  type World,
} from "./world.ts";

/** A possible next move. */
export interface Move {
  what: string;
  /** The process, and the index of its request. */
  by?: Member;
  place?: number;
  world: World;
  /** The rules that it breaks. */
  faults: readonly string[];
  /** Whether the move depends on the time. */
  readsClock?: boolean;
  /** Descriptions of the moves that followed, because no other one could. */
  more?: readonly string[];
}

type Told = Pick<Move, "world" | "faults" | "readsClock">;

/** The next step of a program that has not been run yet. */
interface Unknown {
  node: Node;
  name: string;
  happening: () => Happening | "start";
  clock: number;
}

/** Start of the clock. Code could mistake 0 for an absent time. */
export const firstMoment = 1_000_000_000_000;

const fault = { answerName: "fault", answer: (): Answer => ({ failure: "fault" }), repeatable: false };

/** The possible moves in a world: steps of the real code, and the remaining mishaps. */
export class Moves {
  readonly automaton: Automaton;
  private readonly scenario: Scenario;
  private readonly model: Model;
  private readonly parts = new Parts();
  private readonly effects: Effects;
  /** Absent: reads and the writes that follow from them are separate steps. */
  readonly rereads: Rereads | undefined;
  private unknown: Unknown[] = [];
  /** The programs that outside events start, by the reason of the event. */
  private readonly arrivals = new Map<string, Program>();
  private readonly countsAnswers: boolean;

  constructor(scenario: Scenario, behaviour: Behaviour) {
    const known = behaviour.of(scenario);
    const { automaton, snapshots } = known;
    if (!scenario.unreduced && !scenario.splitsReads) this.rereads = new Rereads(known, scenario);
    this.scenario = scenario;
    this.automaton = automaton;
    const begin = (world: World, program: Program) => this.begun(world, program);
    this.effects = new Effects(scenario, this.parts, snapshots, begin);
    this.model = scenario.model ?? sessionModel;
    this.countsAnswers = countsAnswers(scenario);
  }

  async first(): Promise<World> {
    const { before, senders, extraAgents, mishaps } = this.scenario;
    let world = this.effects.empty(firstMoment, mishaps);
    if (before) {
      const started = world;
      world = await this.foundOut(() => this.begun(started, before));
      while (world.crew.isAtWork) world = (await this.from(world))[0]?.world ?? world;
    }
    const programs = [...senders, ...extraAgents];
    return this.foundOut(() => programs.reduce((all, program) => this.begun(all, program), world));
  }

  /** All possible next moves, or the subset that has to be tried. */
  async from(world: World): Promise<Move[]> {
    const all = await this.foundOut(() => this.movesIn(world));
    for (const move of all) this.rereads?.moved(world.table, move.world.table);
    return all;
  }

  /**
   * Follows a move as long as only one can be next, because a process does what concerns nobody else. The worlds between need
   * not be remembered.
   */
  async settled(move: Move): Promise<Move> {
    let last = move;
    while (last.faults.length === 0 && !this.scenario.unreduced && this.isAlone(last.world)) {
      const [next, ...others] = await this.from(last.world);
      if (!next || others.length > 0) break;
      const more = [...(last.more ?? []), this.describe(next)];
      last = { ...last, world: next.world, faults: next.faults, more };
    }
    return last;
  }

  private isAlone(world: World): boolean {
    const { schedules } = world.outside;
    if (schedules.some(({ event }) => this.model.isPast?.(world, event))) return true;
    return world.crew.members.some(
      (member) =>
        this.rereads?.isWriting(world.table, member) ||
        this.model.isIndependent(world, member, this.scenario),
    );
  }

  /** The faults of the world when no process is running. */
  faultsOf(world: World): readonly string[] {
    return world.crew.isAtWork ? [] : this.model.restFaults(world, this.scenario);
  }

  /** A line for the printed schedule of a violation. */
  describe({ what, by, place }: Move): string {
    if (!by) return what;
    const asked = place === undefined ? undefined : by.node.waiting[place];
    return `${describeMember(by)}: ${asked ? describeRequest(asked.request) : ""}${what}`;
  }

  /** Computes a value, and first runs programs whose next step is unknown. */
  private async foundOut<T>(work: () => T): Promise<T> {
    for (;;) {
      this.unknown = [];
      const result = work();
      if (this.unknown.length === 0) return result;
      for (const { node, name, happening, clock } of this.unknown) {
        if (!this.automaton.known(node, name, clock))
          await this.automaton.learn(node, name, happening, clock);
      }
    }
  }

  private movesIn(world: World): Move[] {
    const { members, isAtWork } = world.crew;
    const { left, schedules, calls } = world.outside;
    const moves: Move[] = [];
    const past = this.scenario.unreduced
      ? undefined
      : schedules.find(({ event }) => this.model.isPast?.(world, event));
    if (past) {
      const others = schedules.filter((one) => one !== past);
      return [{ what: "a past schedule fires", world: this.with(world, { schedules: others }), faults: [] }];
    }
    const writer = members.find((member) => this.rereads?.isWriting(world.table, member));
    if (writer) {
      this.ofMember(world, writer, moves);
      return moves;
    }
    for (const member of members) {
      if (!this.model.isIndependent(world, member, this.scenario)) continue;
      this.ofMember(world, member, moves);
      if (left.pauses === 0 || !moves.some(({ readsClock }) => readsClock)) return moves;
      moves.length = 0;
    }
    for (const [i, member] of members.entries()) {
      if (member !== members[i - 1]) this.ofMember(world, member, moves);
    }
    for (const schedule of schedules) if (this.isDue(world, schedule)) this.firing(world, schedule, moves);
    for (const callId of calls) this.answering(world, callId, moves);
    if (left.pauses > 0 && members.length > 0) {
      const later = { left: less(left, "pauses"), clock: world.outside.clock + this.model.pauseMs };
      const what = "all processes pause until all leases have expired";
      moves.push({ what, world: this.with(world, later), faults: [] });
    }
    if (left.sweeps > 0) {
      const swept = this.with(world, { left: less(left, "sweeps") });
      moves.push({ what: "a sweep begins", world: this.sweeping(swept), faults: [] });
    }
    if (!isAtWork) this.atRest(world, moves);
    return moves;
  }

  private ofMember(world: World, member: Member, moves: Move[]): void {
    const { node } = member;
    const { left } = world.outside;
    const by = member;
    if (!node.via) moves.push({ what: "starts", by, ...this.told(world, member, "start", () => "start") });
    for (const [place, asked] of node.waiting.entries()) {
      const effect = this.effects.of(world, member, asked);
      const what = effect.failed ? " – refused" : "";
      moves.push({ what, by, place, ...this.answered(member, place, effect) });
      if (left.failures > 0) this.failing(world, member, place, effect, moves);
      if (left.repeats > 0 && member.repeated < 0 && effect.repeatable) {
        const kept = this.parts.member({ ...member, epoch: effect.epoch, repeated: place });
        const after = this.with(this.exchange(effect.world, member, kept), { left: less(left, "repeats") });
        moves.push({ what: " – its answer is lost", by, place, world: after, faults: effect.faults });
      }
    }
    if (node.hasInterval && member.renewals > 0) {
      const renewing = { ...member, renewals: member.renewals - 1 };
      const told = this.told(world, member, "interval", () => ({ interval: true }), renewing);
      moves.push({ what: "its interval is over", by, ...told });
    }
    if (node.ended) {
      moves.push({ what: "is frozen", by, world: this.exchange(world, member), faults: [] });
    } else if (left.crashes > 0 && (this.scenario.unreduced || !isReading(member))) {
      const dead = this.exchange(this.with(world, mishap(left, "crashes")), member);
      moves.push({ what: "dies", by, world: dead, faults: [] });
    }
  }

  private answered(member: Member, place: number, effect: Effect): Told {
    const repeated = member.repeated > place ? member.repeated - 1 : member.repeated;
    const next = { ...member, epoch: effect.epoch, repeated: member.repeated === place ? -1 : repeated };
    const { answer } = effect;
    const happening = () => ({ request: place, answer: answer() });
    const told = this.told(effect.world, member, `${place}${effect.answerName}`, happening, next);
    return effect.faults.length > 0 ? { ...told, faults: [...effect.faults, ...told.faults] } : told;
  }

  /** The call fails for good, before it takes effect or after. */
  private failing(world: World, by: Member, place: number, effect: Effect, moves: Move[]): void {
    const failed = mishap(world.outside.left, "failures");
    const before = { ...effect, ...fault, world: this.with(world, failed), epoch: by.epoch, faults: [] };
    moves.push({ what: " – fails", by, place, ...this.answered(by, place, before) });
    if (effect.failed) return;
    const after = { ...effect, ...fault, world: this.with(effect.world, failed) };
    moves.push({ what: " – fails after its effect", by, place, ...this.answered(by, place, after) });
  }

  /** A process gets an answer and runs until it waits again. */
  private told(
    world: World,
    member: Member,
    name: string,
    happening: () => Happening | "start",
    next: Omit<Member, "id"> = member,
  ): Told {
    const { node } = member;
    const { clock, crashed } = world.outside;
    const to = this.automaton.known(node, name, clock);
    if (!to) {
      this.unknown.push({ node, name, happening, clock });
      return { world, faults: [] };
    }
    const isOver = to.ended !== undefined && to.waiting.length === 0;
    let after = this.exchange(world, member, isOver ? undefined : this.parts.member({ ...next, node: to }));
    const faults = to.news.filter((item) => item.startsWith("fault: "));
    faults.push(...newsFaults(world.table, to.news));
    const said = to.news.filter(
      (item) => item.startsWith("error ") || (this.countsAnswers && /^(final|answered) /.test(item)),
    );
    if (said.length > 0) after = this.with(after, { told: [...after.outside.told, ...said].sort() });
    if (to.ended === "threw") {
      if (!crashed) faults.push(`${node.program.name} failed: ${to.error}`);
      after = this.retried(after, node.program);
    }
    return { world: after, faults, readsClock: to.readClock };
  }

  /** Lambda retries a failed asynchronous invocation, and a node repeats a result that was not acknowledged. */
  private retried(world: World, program: Program): World {
    const { senders, agent } = this.scenario;
    if (senders.some(({ name }) => name === program.name)) return world;
    return this.begun(world, isAgent(program) ? agent : program);
  }

  private firing(world: World, schedule: Schedule, moves: Move[]): void {
    const schedules = world.outside.schedules.filter((one) => one !== schedule);
    const program = this.arrival(`schedule ${schedule.id}`, () => this.model.fired(schedule.event));
    this.arriving(world, program, { schedules }, "the schedule fires", moves);
  }

  private answering(world: World, callId: string, moves: Move[]): void {
    const calls = world.outside.calls.filter((one) => one !== callId);
    const program = this.arrival(`call ${callId}`, () => toolResult(callId));
    this.arriving(world, program, { calls }, "the node answers", moves);
  }

  private arrival(name: string, make: () => Program): Program {
    const program = this.arrivals.get(name) ?? make();
    this.arrivals.set(name, program);
    return program;
  }

  /** An outside event. After a crash it may be repeated once handled; two at once are a mishap of `duplicates`. */
  private arriving(
    world: World,
    program: Program,
    change: Partial<Outside>,
    what: string,
    moves: Move[],
  ): void {
    if (world.crew.members.some(({ node }) => node.program.name === program.name)) return;
    const { left } = world.outside;
    this.beginning(this.with(world, change), program, what, moves);
    if (left.duplicates === 0) return;
    const arrived = this.with(world, { ...change, left: less(left, "duplicates") });
    const twice = this.begun(this.begun(arrived, program), program);
    moves.push({ what: `${what}, and is delivered twice`, world: twice, faults: [] });
  }

  /**
   * The start of a program and its first request are one move: nobody else observes whether an event that may still be delayed
   * has arrived.
   */
  private beginning(world: World, program: Program, what: string, moves: Move[]): void {
    const begun = this.begun(world, program);
    const { unreduced, mishaps } = this.scenario;
    const come = begun.crew.members.find(({ node }) => node.via?.from === this.automaton.root(program));
    if (unreduced || mishaps.pauses > 0 || !come?.node.waiting.length)
      return void moves.push({ what, world: begun, faults: [] });
    const first: Move[] = [];
    this.ofMember(begun, come, first);
    for (const move of first) moves.push({ ...move, what: `${what}; ${this.describe(move)}`, by: undefined });
  }

  /** If no other move is left, a sweep continues the remaining work. */
  private atRest(world: World, moves: Move[]): void {
    const { schedules, swept, clock } = world.outside;
    const isQuiet = world.crew.members.length === 0 && !schedules.some((one) => this.isDue(world, one));
    if (!isQuiet || this.model.isDone(world)) return;
    const { crashes, failures } = this.scenario.mishaps;
    if (swept > crashes + failures + this.model.calmSweeps) {
      moves.push({ what: "nothing more happens", world, faults: ["sweeps do not fix it"] });
      return;
    }
    const later = this.with(world, { clock: clock + this.model.restMs, swept: swept + 1 });
    moves.push({ what: "much later, a sweep begins", world: this.sweeping(later), faults: [] });
  }

  private sweeping(world: World): World {
    return this.model.sweepers(world).reduce((all, program) => this.begun(all, program), world);
  }

  private isDue({ outside }: World, { event }: Schedule): boolean {
    return (this.model.timeOf?.(event) ?? 0) <= outside.clock;
  }

  /** Starts a program. If no pause is possible, the start is not a separate step, because it changes nothing. */
  private begun(world: World, program: Program): World {
    const node = this.automaton.root(program);
    const fresh = this.parts.member({ node, epoch: 0, renewals: this.scenario.renewals, repeated: -1 });
    const added = this.exchange(world, undefined, fresh);
    return this.scenario.mishaps.pauses > 0 ? added : this.told(added, fresh, "start", () => "start").world;
  }

  private exchange(world: World, gone?: Member, come?: Member): World {
    const { table, crew, outside } = world;
    const next: Crew = this.parts.exchange(crew, gone, come);
    return { table, crew: next, outside };
  }

  private with({ table, crew, outside }: World, change: Partial<Outside>): World {
    return { table, crew, outside: this.parts.outside({ ...outside, ...change }) };
  }
}

/**
 * Whether a process only waits for answers of reads. Then its death is tried at its next write: reads change nothing, so it
 * has the same effect there.
 */
function isReading({ node }: Member): boolean {
  const { waiting } = node;
  return (
    waiting.length > 0 &&
    waiting.every(({ request }) => request.to === "table" && /^(get|query)/.test(request.call.op))
  );
}

function less(left: Mishaps, kind: keyof Mishaps): Mishaps {
  return { ...left, [kind]: left[kind] - 1 };
}

function mishap(left: Mishaps, kind: "crashes" | "failures"): Partial<Outside> {
  return { crashed: true, left: less(left, kind) };
}
