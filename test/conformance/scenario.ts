import type { TableCall } from "../../local/items/table-call.ts";
import type { Program, Request } from "./model/process.ts";
import type { Snapshot } from "./model/snapshot.ts";
import type { Member, Mishaps, Schedule, World } from "./model/world.ts";

/** What the check explores: the programs that outside events start, the rules, and the reductions. */
export interface Model {
  /** Removes the parts of a request that no decision reads, and replaces random ids by fixed names. */
  mask(request: Request): Request;
  /** Whether the next moves of a process are independent of all moves of the others. */
  isIndependent(world: World, member: Member, scenario: Scenario): boolean;
  /** The rules that a change of the table breaks. */
  changeFaults(before: Snapshot, after: Snapshot): string[];
  /** The faults of a world in which no process is running. */
  restFaults(world: World, scenario: Scenario): readonly string[];
  /** Whether nothing is left to do. */
  isDone(world: World): boolean;
  /** The time of a schedule, epoch ms. Absent: it may fire at any moment. */
  timeOf?(event: Schedule["event"]): number;
  /** Whether the function of a schedule will change nothing, whenever it is invoked. Absent: none is known. */
  isPast?(world: World, event: Schedule["event"]): boolean;
  /** The function that a schedule invokes. */
  fired(event: Schedule["event"]): Program;
  /** The programs that continue what is left to do, `restMs` after the last move. */
  sweepers(world: World): readonly Program[];
  /** Sweeps that may be needed even without a crash. */
  calmSweeps: number;
  restMs: number;
  /** Length of a pause of all processes, ms. */
  pauseMs: number;
}

/** The processes that take part, and the mishaps that may happen. */
export interface Scenario {
  name: string;
  /** Absent: a session. */
  model?: Model;
  /** A sender whose messages are answered before the start, without faults. */
  before?: Program;
  senders: readonly Program[];
  /** The program that each wake of the agent starts. */
  agent: Program;
  /** Additional invocations of the agent, as caused by a repeated wake. */
  extraAgents: readonly Program[];
  /** Maximum number of renewals per invocation. */
  renewals: number;
  mishaps: Mishaps;
  /** Changes the calls to the table: removes a condition, to show that the check finds the fault. */
  mutate?: (call: TableCall) => TableCall;
  /** Whether processes are interleaved only at their calls for jobs, not at those for sessions and histories. */
  isCoarse?: boolean;
  /** Whether others may write between a process's read of the session and its write: see `reread.ts`. */
  splitsReads?: boolean;
  /** Disables the reductions: see `independence.ts`, and `forget` of a process. */
  unreduced?: boolean;
}

const none: Mishaps = { crashes: 0, failures: 0, pauses: 0, repeats: 0, duplicates: 0, sweeps: 0 };

/** A scenario with no mishaps except those in `mishaps`. */
export function scenario(
  name: string,
  parts: Omit<Scenario, "name" | "extraAgents" | "renewals" | "mishaps"> & Partial<Scenario>,
  mishaps: Partial<Mishaps> = {},
): Scenario {
  return { extraAgents: [], renewals: 0, ...parts, name, mishaps: { ...none, ...mishaps } };
}

/** Whether clients must receive each answer exactly once, which holds without crashes and pauses. */
export function countsAnswers({ mishaps: { crashes, failures, pauses } }: Scenario): boolean {
  return crashes + failures + pauses === 0;
}
