import type { Scenario } from "./moves.ts";
import { agent, sender } from "./programs.ts";
import type { Mishaps } from "./world.ts";

const none: Mishaps = { crashes: 0, failures: 0, pauses: 0, repeats: 0, duplicates: 0, sweeps: 0 };

export function scenario(
  name: string,
  parts: Partial<Omit<Scenario, "mishaps">>,
  mishaps: Partial<Mishaps> = {},
): Scenario {
  return {
    name,
    agent: agent(),
    extraAgents: [],
    senders: [sender("m1")],
    renewals: 0,
    ...parts,
    mishaps: { ...none, ...mishaps },
  };
}
