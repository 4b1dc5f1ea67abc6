/**
 * The outcome of a check. `fault`: something does not work. `warning`: it works, but should be improved. `skipped`: it was
 * not checked, or does not apply to this gateway.
 */
export type State = "ok" | "warning" | "fault" | "skipped";

/** A finding without a fault. */
export interface Good {
  check: string;
  state: "ok" | "skipped";
  found: string;
  todo?: string;
}

/** A fault or a warning. */
export interface Bad {
  check: string;
  state: "fault" | "warning";
  found: string;
  /** One sentence for docs/troubleshooting.md, unless `found` says it. `gsv doctor` does not show it. */
  cause?: string;
  todo: string;
}
