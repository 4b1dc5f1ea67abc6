import type { TableCall } from "../../../local/items/table-call.ts";
import type { Scenario } from "../scenario.ts";
import type { Asked } from "./automaton.ts";
import type { Answer, Program, Request } from "./process.ts";
import { isAgent } from "./programs.ts";
import { isAcquire, type Outcome, type Snapshots } from "./snapshot.ts";
import type { Member, Mishaps, Parts, Schedule, World } from "./world.ts";

/** The effect of a request on the world, before its process gets the answer. */
export interface Effect {
  world: World;
  /** The answer, by a name that equal answers to one request share. */
  answerName: string;
  answer: () => Answer;
  /** Whether the table refused it. */
  failed: boolean;
  /** The caller's epoch from now on. */
  epoch: number;
  faults: readonly string[];
  /** Whether the SDK would repeat it after a lost answer, and the repeat could have an effect. */
  repeatable: boolean;
}

const noAnswer = {
  answerName: "-",
  answer: (): Answer => ({ value: undefined }),
  failed: false,
  faults: [],
  repeatable: false,
};

export class Effects {
  private readonly scenario: Scenario;
  private readonly parts: Parts;
  private readonly begin: (world: World, program: Program) => World;
  private readonly snapshots: Snapshots;
  private readonly mutated = new Map<number, TableCall>();

  constructor(
    scenario: Scenario,
    parts: Parts,
    snapshots: Snapshots,
    begin: (world: World, program: Program) => World,
  ) {
    this.scenario = scenario;
    this.parts = parts;
    this.snapshots = snapshots;
    this.begin = begin;
  }

  /** A world in which nothing has happened. */
  empty(clock: number, left: Mishaps): World {
    const outside = { schedules: [], calls: [], clock, left, crashed: false, swept: 0, told: [] };
    return { table: this.snapshots.empty, crew: this.parts.crew([]), outside: this.parts.outside(outside) };
  }

  of(world: World, member: Member, asked: Asked): Effect {
    const { request } = asked;
    if (request.to === "table") return this.onTable(world, member, asked.id, request.call);
    const { epoch } = member;
    return { ...noAnswer, world: this.after(world, request), epoch };
  }

  private after(world: World, request: Exclude<Request, { to: "table" }>): World {
    switch (request.to) {
      case "agent":
        return this.begin(world, this.scenario.agent);
      case "scheduler":
        return this.scheduled(world, request.name, request.event);
      case "node": {
        const calls = [...new Set([...world.outside.calls, request.callId])].sort();
        return { ...world, outside: this.parts.outside({ ...world.outside, calls }) };
      }
      case "model":
        return world;
    }
  }

  /** An existing schedule of the same name is left unchanged. */
  private scheduled(world: World, name: string, event: Schedule["event"]): World {
    const { schedules } = world.outside;
    if (schedules.some((one) => one.name === name)) return world;
    const more = [...schedules, this.parts.schedule(name, event)].sort((a, b) => a.id - b.id);
    return { ...world, outside: this.parts.outside({ ...world.outside, schedules: more }) };
  }

  private onTable(world: World, member: Member, id: number, asked: TableCall): Effect {
    const { crew, outside } = world;
    const call = this.mutate(id, asked);
    const outcome = this.snapshots.apply(world.table, id, call, member.epoch);
    const fault = leaseFault(outcome, call, member, outside.clock);
    const taken = outcome.session && isAcquire(call);
    return {
      world: outcome.table === world.table ? world : { table: outcome.table, crew, outside },
      answerName: outcome.answerName,
      answer: outcome.answer,
      failed: outcome.failed,
      epoch: taken ? (outcome.session?.after.epoch ?? 0) : member.epoch,
      faults: fault ? [...outcome.faults, fault] : outcome.faults,
      repeatable: !outcome.failed && (call.op === "put" || call.op === "update" || call.op === "delete"),
    };
  }

  private mutate(id: number, call: TableCall): TableCall {
    const { mutate } = this.scenario;
    if (!mutate) return call;
    const known = this.mutated.get(id) ?? mutate(call);
    this.mutated.set(id, known);
    return known;
  }
}

/** Only the newest epoch writes the session, and no process acquires an unexpired lease. */
function leaseFault(
  { session }: Outcome,
  call: TableCall,
  { node, epoch }: Member,
  clock: number,
): string | undefined {
  if (!session || !isAgent(node.program)) return undefined;
  const { before, after } = session;
  if (isAcquire(call)) {
    const isLive = before?.leaseUntil !== undefined && before.leaseUntil >= clock;
    return isLive ? "an unexpired lease was acquired" : undefined;
  }
  // Any process may record a result, including an agent that finds the node disconnected.
  if (call.op === "update" && call.steps.some(({ path }) => path[1] === "pending")) return undefined;
  if (epoch === after.epoch) return undefined;
  return `epoch ${epoch} wrote the session, but ${after.epoch} was the newest`;
}
