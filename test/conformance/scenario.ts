import type { TableCall } from "../../local/items/table-call.ts";
import type { Program } from "./model/process.ts";
import type { Mishaps } from "./model/world.ts";

/** The processes that take part, and the mishaps that may happen. */
export interface Scenario {
  name: string;
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
