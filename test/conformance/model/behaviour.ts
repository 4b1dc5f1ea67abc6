import { Interner } from "../intern.ts";
import { Automaton } from "./automaton.ts";
import { maskRequest } from "./mask.ts";

/**
 * How the programs behave, as far as it was found out by running them. What a program does depends on nothing but its
 * answers, so what one scenario has found out holds in all others.
 */
export class Behaviour {
  /** The items of answers by their contents: an answer's name is made of their numbers. */
  readonly items = new Interner<{ id: number }>();
  /** Where processes with the same knowledge count as one. */
  readonly reduced = new Automaton(maskRequest, true);
  readonly whole = new Automaton(maskRequest, false);
}
