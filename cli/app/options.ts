import { usage } from "./failure.ts";

/** A list for an option that may be given several times. */
export type OptionValue = string | boolean | string[] | undefined;

/** What the user typed for one command: its arguments in order, and its own options. */
export interface Invocation {
  args: string[];
  options: Record<string, OptionValue>;
}

/** Options that every command takes, before or after its name. */
export interface GlobalOptions {
  json?: boolean;
  url?: string;
  token?: string;
  config?: string;
  data?: string;
}

/** An option's value as a whole number within bounds, or undefined when it was not given. */
export function wholeNumber(
  name: string,
  value: OptionValue,
  least: number,
  most: number,
): number | undefined {
  if (value === undefined) return undefined;
  const number = typeof value === "string" && /^\d+$/.test(value) ? Number(value) : Number.NaN;
  if (!(number >= least && number <= most))
    throw usage(`${name} must be a whole number from ${least} to ${most}, not ${value}`);
  return number;
}

/** An option's value as text, or undefined when it was not given. */
export function text(value: OptionValue): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The values of an option that may be given several times. */
export function texts(value: OptionValue): readonly string[] {
  return Array.isArray(value) ? value : [];
}
