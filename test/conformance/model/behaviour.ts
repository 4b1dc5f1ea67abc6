import { Interner } from "../intern.ts";
import { changeFaults } from "../invariants.ts";
import type { Scenario } from "../scenario.ts";
import { Automaton } from "./automaton.ts";
import { maskRequest } from "./mask.ts";
import { Snapshots } from "./snapshot.ts";

/** What was found out about the programs and about the table. */
export interface Known {
  readonly automaton: Automaton;
  /** The effects of the automaton's requests. */
  readonly snapshots: Snapshots;
}

/**
 * How the programs and the table behave, as far as it was found out by running them. What a program does depends on
 * nothing but its answers, so what one scenario has found out holds in all others.
 */
export class Behaviour {
  /** The items of answers by their contents: an answer's name is made of their numbers. */
  private readonly items = new Interner<{ id: number }>();
  /** Where processes with the same knowledge count as one. */
  private readonly reduced = this.known(new Automaton(maskRequest, true));
  private readonly whole = this.known(new Automaton(maskRequest, false));

  /** What is known in a scenario like this one. A table whose calls are changed has effects of its own. */
  of({ unreduced, mutate }: Pick<Scenario, "unreduced" | "mutate">): Known {
    const known = unreduced ? this.whole : this.reduced;
    return mutate ? this.known(known.automaton) : known;
  }

  private known(automaton: Automaton): Known {
    return { automaton, snapshots: new Snapshots(changeFaults, this.items) };
  }
}
