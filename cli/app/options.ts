import { usage } from "./failure.ts";

/** The value of one option. Repeatable options have an array. */
export type OptionValue = string | boolean | string[] | undefined;

/** The parsed input of one command: its arguments in order, and its own options. */
export interface Invocation {
  args: string[];
  options: Record<string, OptionValue>;
}

/** Options of every command. They may precede or follow the command's name. */
export interface GlobalOptions {
  json?: boolean;
  url?: string;
  token?: string;
  config?: string;
  data?: string;
}

/**
 * Parses an option as a whole number from `min` to `max`. Returns undefined when the option is absent.
 * @throws Failure (usage) when the value is not such a number
 */
export function wholeNumber(name: string, value: OptionValue, min: number, max: number): number | undefined {
  if (value === undefined) return undefined;
  const number = typeof value === "string" && /^\d+$/.test(value) ? Number(value) : Number.NaN;
  if (!(number >= min && number <= max))
    throw usage(`${name} must be a whole number from ${min} to ${max}, not ${value}`);
  return number;
}

/** The option's value, or undefined when it is absent or not a string. */
export function text(value: OptionValue): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The values of a repeatable option; empty when it is absent. */
export function texts(value: OptionValue): readonly string[] {
  return Array.isArray(value) ? value : [];
}
