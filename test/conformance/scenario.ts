import type { TableCall } from "../../local/items/table-call.ts";
import type { Program } from "./model/process.ts";
import type { Mishaps } from "./model/world.ts";

/** What is explored: who takes part, and what may go wrong. */
export interface Scenario {
  name: string;
  /** What has happened before, undisturbed: a sender whose messages are answered. */
  before?: Program;
  senders: readonly Program[];
  /** What every wake of the agent starts. */
  agent: Program;
  /** Invocations of the agent that nobody asked for, as a wake that is delivered again makes them. */
  extraAgents: readonly Program[];
  /** Renewals that one invocation may make. */
  renewals: number;
  mishaps: Mishaps;
  /** Stands between the code and the table: leaves a condition out, to show that the check finds it. */
  mutate?: (call: TableCall) => TableCall;
  /** Tries also what makes no difference: see `independence.ts`, and `forget` of a process. */
  unreduced?: boolean;
}

const none: Mishaps = { crashes: 0, failures: 0, pauses: 0, repeats: 0, duplicates: 0, sweeps: 0 };

/** A scenario in which nothing goes wrong but what `mishaps` says. */
export function scenario(
  name: string,
  parts: Omit<Scenario, "name" | "extraAgents" | "renewals" | "mishaps"> & Partial<Scenario>,
  mishaps: Partial<Mishaps> = {},
): Scenario {
  return { extraAgents: [], renewals: 0, ...parts, name, mishaps: { ...none, ...mishaps } };
}
