import type { Program } from "../model/process.ts";
import type { Mishaps } from "../model/world.ts";
import { type Scenario, scenario } from "../scenario.ts";
import { jobModel } from "./job-model.ts";
import { addedJobs, edit, fire, force, removal, worker } from "./job-programs.ts";

/** A scenario of one job, or of two that share one slot. */
export function jobScenario(
  name: string,
  senders: readonly Program[],
  mishaps: Partial<Mishaps> = {},
  more: { two?: boolean; isCoarse?: boolean } = {},
): Scenario {
  const { two = false, isCoarse = false } = more;
  const ids = two ? ["a", "b"] : ["a"];
  const parts = { model: jobModel, before: addedJobs(...ids), agent: worker(...ids), senders, isCoarse };
  return scenario(`${two ? "two jobs" : "a job"}: ${name}`, parts, mishaps);
}

const fires = [fire("a"), fire("a")];
const renamed = edit("a", { name: "renamed" });
const replanned = edit("a", { enabled: true, description: "again" });
const disabled = edit("a", { enabled: false, description: "off" });
const slot = { two: true };
const coarse = { isCoarse: true };

/** Explored completely in every test run. */
export const quickJobScenarios: readonly Scenario[] = [
  jobScenario("an edit", [fire("a"), renamed]),
  jobScenario("disabled", [fire("a"), disabled]),
  jobScenario("removed", [fire("a"), removal("a")]),
  jobScenario("a crash", [fire("a"), renamed], { crashes: 1 }),
  jobScenario("forced, a crash", [force("a")], { crashes: 1 }, coarse),
  jobScenario("a repeated write", [fire("a"), renamed], { repeats: 1 }),
  jobScenario("two edits", [fire("a"), renamed, replanned], {}, coarse),
  jobScenario("two fires", fires, {}, coarse),
  jobScenario("two fires, a crash", fires, { crashes: 1 }, coarse),
  jobScenario("forced", [fire("a"), force("a")], {}, coarse),
  jobScenario("a sweep at any time", [fire("a")], { sweeps: 1 }, coarse),
  jobScenario("a pause", [fire("a")], { pauses: 1 }, coarse),
  jobScenario("one slot", [fire("a"), fire("b")], {}, { ...coarse, ...slot }),
  jobScenario("one slot, a crash", [fire("a"), fire("b")], { crashes: 1 }, { ...coarse, ...slot }),
];

/** Scenarios that need some minutes. */
export const deepJobScenarios: readonly Scenario[] = [
  ...quickJobScenarios,
  jobScenario("two fires, an edit", [...fires, replanned], {}, coarse),
  jobScenario("two fires, every call", fires),
  jobScenario("two edits, every call", [fire("a"), renamed, replanned]),
  jobScenario("one slot, every call", [fire("a"), fire("b")], {}, slot),
  jobScenario("forced, every call", [fire("a"), force("a")]),
  jobScenario("one slot, forced", [fire("a"), force("b")], { crashes: 1 }, { ...coarse, ...slot }),
  jobScenario("all, a crash", [...fires, renamed, replanned, force("a")], { crashes: 1 }, coarse),
  jobScenario("all, a repeated write", [...fires, renamed, replanned, force("a")], { repeats: 1 }, coarse),
];
