/** What one check of `gsv doctor` found. */
export interface Finding {
  /** What was checked, in one word. */
  check: string;
  /**
   * `fault`: something does not work. `warning`: it works, but not as well as it could. `skipped`: it was not checked, or
   * does not concern this gateway.
   */
  state: "ok" | "warning" | "fault" | "skipped";
  found: string;
  /** What to do about it. */
  todo?: string;
}

type Make = (check: string, found: string, todo?: string) => Finding;

const make =
  (state: Finding["state"]): Make =>
  (check, found, todo) => ({ check, state, found, ...(todo === undefined ? {} : { todo }) });

export const ok = make("ok");
export const warning = make("warning");
export const fault = make("fault");
export const skipped = make("skipped");
