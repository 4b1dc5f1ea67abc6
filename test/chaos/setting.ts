import type { ClockSettings } from "./faults/clock.mjs";

/** Options of every mode. */
export interface Setting {
  seed: number;
  clock: ClockSettings;
  /** Folder of the built bundles. */
  bundles: string;
  /** When the run gives up, in epoch milliseconds of its own clock. */
  deadline: number;
  /** Keep the functions' logs even if nothing was found. */
  keep: boolean;
  /** Prints a line of progress. */
  say(line: string): void;
}
