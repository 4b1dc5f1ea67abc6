import { type Move, Moves, type Scenario } from "./moves.ts";
import { type World, worldName } from "./world.ts";

export interface Violation {
  faults: readonly string[];
  /** What happened, from the beginning. */
  schedule: string[];
}

export interface Exploration {
  scenario: string;
  /** Different states of the whole system. */
  states: number;
  /** Moves from one state to another. */
  transitions: number;
  /** States in which nobody is at work. */
  rests: number;
  /** Runs of the real code from a program's start. */
  runs: number;
  /** False when the bound was met before everything was seen. */
  complete: boolean;
  violations: Violation[];
}

/**
 * Goes through every state that a scenario can reach, breadth first, so that the first violation found is one of the
 * shortest. Ends at the first violation.
 * @param maxStates a bound for scenarios that are larger than was thought
 */
export async function explore(
  scenario: Scenario,
  maxStates = Number.POSITIVE_INFINITY,
): Promise<Exploration> {
  const moves = new Moves(scenario);
  const first = await moves.first();
  const seen = new Set([worldName(first)]);
  /** For each state the number of the one before, and which of its moves led here. */
  const before: number[] = [-1];
  const by: number[] = [-1];
  let level: World[] = [first];
  let number = 0;
  const found: Exploration = {
    scenario: scenario.name,
    states: 0,
    transitions: 0,
    rests: 0,
    runs: 0,
    complete: false,
    violations: [],
  };
  while (level.length > 0 && seen.size < maxStates && found.violations.length === 0) {
    const next: World[] = [];
    for (const world of level) {
      const following = await moves.from(world);
      if (moves.isAtRest(world)) found.rests++;
      for (const [i, move] of following.entries()) {
        found.transitions++;
        const name = worldName(move.world);
        const isNew = !seen.has(name);
        const faults = isNew ? [...move.faults, ...moves.faultsOf(move.world)] : move.faults;
        if (faults.length > 0) {
          const path = [...pathTo(number, before, by), i];
          found.violations.push({ faults, schedule: await describePath(moves, first, path) });
          break;
        }
        if (!isNew) continue;
        seen.add(name);
        before.push(number);
        by.push(i);
        next.push(move.world);
      }
      if (found.violations.length > 0) break;
      number++;
    }
    level = next;
  }
  found.complete = level.length === 0;
  found.states = seen.size;
  found.runs = moves.automaton.runs;
  return found;
}

function pathTo(number: number, before: readonly number[], by: readonly number[]): number[] {
  const path: number[] = [];
  for (let at = number; at > 0; at = before[at] ?? 0) path.push(by[at] ?? 0);
  return path.reverse();
}

async function describePath(moves: Moves, first: World, path: readonly number[]): Promise<string[]> {
  const lines: string[] = [];
  let world = first;
  for (const i of path) {
    const move: Move | undefined = (await moves.from(world))[i];
    if (!move) throw new Error("the same state had other moves");
    lines.push(move.describe());
    world = move.world;
  }
  return lines;
}
