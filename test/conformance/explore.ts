import { canonicalJson } from "./intern.ts";
import { Behaviour } from "./model/behaviour.ts";
import { firstMoment, Moves } from "./model/moves.ts";
import { replaceGlobals } from "./model/process.ts";
import { Seen, type World } from "./model/world.ts";
import type { Scenario } from "./scenario.ts";

export interface Violation {
  faults: readonly string[];
  /** The moves from the start state to the violation. */
  schedule: string[];
}

export interface Exploration {
  scenario: string;
  /** Different states of the whole system. */
  states: number;
  /** Moves from one state to another. */
  transitions: number;
  /** Final states, which have no further move, by their description. */
  ends: ReadonlySet<string>;
  /** Runs of the real code from a program's start. */
  runs: number;
  /** False when `maxStates` ended the search early. */
  complete: boolean;
  violations: Violation[];
  /** Why reads and writes were explored apart (`reread.ts`). */
  differences?: string[];
}

export interface Options {
  /** A bound in case a scenario is larger than expected. */
  maxStates?: number;
  /** The known behaviour of the programs. The exploration extends it. */
  behaviour?: Behaviour;
}

/** How a state was reached: the number of the previous state, and the index of its move. */
interface Trail {
  before: number[];
  by: number[];
}

/**
 * Visits every reachable state of a scenario, breadth first, so the violation found is one of the shortest. Ends at the
 * first violation.
 */
export async function explore(
  scenario: Scenario,
  { maxStates = Number.POSITIVE_INFINITY, behaviour = new Behaviour(scenario.model) }: Options = {},
): Promise<Exploration> {
  const putBack = replaceGlobals();
  try {
    return await exploreStates(scenario, maxStates, behaviour);
  } finally {
    putBack();
  }
}

async function exploreStates(
  scenario: Scenario,
  maxStates: number,
  behaviour: Behaviour,
): Promise<Exploration> {
  const moves = new Moves(scenario, behaviour);
  const { runs } = moves.automaton;
  const start = await moves.first();
  const seen = new Seen();
  seen.add(start);
  const trail: Trail = { before: [-1], by: [-1] };
  const found = { scenario: scenario.name, transitions: 0 };
  const ends = new Set<string>();
  const violations: Violation[] = [];
  let level: World[] = [start];
  let number = 0;
  while (level.length > 0 && seen.size < maxStates && violations.length === 0) {
    const next: World[] = [];
    for (const world of level) {
      const following = await moves.from(world);
      if (world.crew.members.length === 0 && world.outside.schedules.length === 0) ends.add(nameOfEnd(world));
      found.transitions += following.length;
      for (const [i, first] of following.entries()) {
        const move = await moves.settled(first);
        const isNew = seen.add(move.world);
        const faults = isNew ? [...move.faults, ...moves.faultsOf(move.world)] : move.faults;
        if (faults.length > 0) {
          violations.push({
            faults,
            schedule: await describePath(moves, start, [...pathTo(number, trail), i]),
          });
          break;
        }
        if (!isNew) continue;
        trail.before.push(number);
        trail.by.push(i);
        next.push(move.world);
      }
      if (violations.length > 0) break;
      number++;
    }
    level = next;
  }
  const complete = level.length === 0;
  const differences = violations.length === 0 ? await moves.rereads?.differences(firstMoment) : undefined;
  if (differences?.length) {
    const split = await exploreStates({ ...scenario, splitsReads: true }, maxStates, behaviour);
    return split.violations.length > 0 ? split : { ...split, differences };
  }
  return { ...found, states: seen.size, ends, runs: moves.automaton.runs - runs, complete, violations };
}

/** Equal for equal ends of different explorations. A death after which a process had nothing to write is no difference. */
function nameOfEnd({ table, outside }: World): string {
  const { told, calls, clock } = outside;
  return canonicalJson([[...table.items.values()], told, calls, clock]);
}

function pathTo(number: number, { before, by }: Trail): number[] {
  const path: number[] = [];
  for (let at = number; at > 0; at = before[at] ?? 0) path.push(by[at] ?? 0);
  return path.reverse();
}

async function describePath(moves: Moves, first: World, path: readonly number[]): Promise<string[]> {
  const lines: string[] = [];
  let world = first;
  for (const i of path) {
    const move = (await moves.from(world))[i];
    if (!move) throw new Error("a state had other moves than before");
    const settled = await moves.settled(move);
    lines.push(moves.describe(move), ...(settled.more ?? []));
    world = settled.world;
  }
  return lines;
}
