import type { ClockSettings } from "./faults/clock.mjs";

/** What every mode runs with. */
export interface Setting {
  seed: number;
  clock: ClockSettings;
  /** Folder of the built bundles. */
  bundles: string;
  /** When a run gives up, in epoch milliseconds of its own clock. */
  deadline: number;
  /** Keep the functions' logs also when nothing was found. */
  keep: boolean;
  /** Writes a line for whoever waits. */
  say(line: string): void;
}
