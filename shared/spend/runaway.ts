import type { DayView } from "./day-view.ts";
import type { UsedLimit } from "./fit.ts";
import type { CallKind } from "./rules.ts";

/** A run that costs this many times as much as usual is a runaway. */
const factor = 10;

/** So many runs of a kind have to end on a day before something is usual. */
const minRuns = 10;

/** A run as a limit that it has passed, if it costs far more than the day's runs of its kind. @param used by the run, μ$ */
export function runawayOf({ runs, marks }: DayView, kind: CallKind, used: number): UsedLimit | undefined {
  const ended = [...(runs.get(kind) ?? [])].sort((a, b) => a - b);
  const id = `runaway-${kind}`;
  const max = factor * (ended[Math.floor(ended.length / 2)] ?? 0);
  if (ended.length < minRuns || max === 0 || used <= max || marks[`${id}@80`] !== undefined) return undefined;
  return { rule: { id, scope: "run", atLimit: "warn" }, scope: "run", used, max };
}
