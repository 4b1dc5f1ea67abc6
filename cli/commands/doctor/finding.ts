import { failureOf } from "../../app/failure.ts";
import { fill, type Placeholders } from "../../app/template.ts";
import type { State } from "./finding-entry.ts";
import { findings } from "./findings.ts";

/** The result of one check of `gsv doctor`. */
export interface Finding {
  /** The checked thing, in one word. */
  check: string;
  state: State;
  found: string;
  /** The remedy. */
  todo?: string;
}

type Name = keyof typeof findings;
type Texts<N extends Name> = Extract<(typeof findings)[N][keyof (typeof findings)[N]], string>;
type Values<N extends Name> = Readonly<Record<Placeholders<Texts<N>>, string | number>>;

/** A finding of the table, with the values of its placeholders. */
export function finding<N extends Name>(
  name: N,
  ...[values = {} as Values<N>]: [Placeholders<Texts<N>>] extends [never] ? [] : [Values<N>]
): Finding {
  const { check, state, found, todo }: Finding = findings[name];
  const text = (template: string) => fill(template, values as Record<string, string | number>);
  return { check, state, found: text(found), ...(todo === undefined ? {} : { todo: text(todo) }) };
}

/** The finding for a check that threw an error. */
export function failed(check: string, error: unknown): Finding {
  return { check, state: "fault", found: failureOf(error).message };
}

const marks: Record<State, string> = { ok: "✓", warning: "!", fault: "✗", skipped: "-" };

/** Findings as lines for people: each, and below it what to do. */
export function findingLines(found: readonly Finding[]): string[] {
  return found.flatMap((one) => [
    `${marks[one.state]} ${one.check.padEnd(9)} ${one.found}`,
    ...(one.todo === undefined ? [] : [`${" ".repeat(12)}→ ${one.todo}`]),
  ]);
}
