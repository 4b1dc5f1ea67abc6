import { Interner } from "../intern.ts";
import type { Model, Scenario } from "../scenario.ts";
import { Automaton } from "./automaton.ts";
import { sessionModel } from "./session-model.ts";
import { Snapshots } from "./snapshot.ts";

/** The known behaviour of the programs and the table. */
export interface Known {
  readonly automaton: Automaton;
  /** The effects of the automaton's requests. */
  readonly snapshots: Snapshots;
}

/**
 * The behaviour of the programs and the table, learned by running them. A program depends only on its answers, so one
 * scenario's results hold in all others.
 */
export class Behaviour {
  /** The items in answers by their contents: an answer's name consists of their numbers. */
  private readonly items = new Interner<{ id: number }>();
  /** For scenarios in which processes with the same knowledge count as one. */
  private readonly reduced: Known;
  private readonly whole: Known;
  private readonly model: Model;

  constructor(model = sessionModel) {
    this.model = model;
    this.reduced = this.known(new Automaton(model.mask, true));
    this.whole = this.known(new Automaton(model.mask, false));
  }

  /** The behaviour for such a scenario. A table with changed calls has its own effects. */
  of({ unreduced, mutate }: Pick<Scenario, "unreduced" | "mutate">): Known {
    const known = unreduced ? this.whole : this.reduced;
    return mutate ? this.known(known.automaton) : known;
  }

  private known(automaton: Automaton): Known {
    return { automaton, snapshots: new Snapshots(this.model.changeFaults, this.items) };
  }
}
