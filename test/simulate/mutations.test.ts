import { expect, it } from "vitest";
import { jobMutations } from "../conformance/jobs/job-mutations.ts";
import { seededRandom } from "../support/random.ts";
import { type Action, drawActions } from "./load/actions.ts";
import { noTools } from "./load/script.ts";
import { distortions, mutations } from "./mutations.ts";
import { drawSceneOf } from "./scenes/scenes.ts";
import { runSchedule, type ScheduleOptions } from "./schedule.ts";

/** Messages and stops in quick succession, so that stops meet the ends of runs. */
function crowd(seed: number): Action[] {
  const random = seededRandom(seed);
  const about = () => ({ at: random.integer(4_000), via: "client", session: "main" }) as const;
  const script = { ...noTools, ms: 100 };
  return Array.from({ length: 12 }, (_, number) =>
    number % 3 > 0
      ? { ...about(), kind: "stop" }
      : { ...about(), kind: "message", script: { ...script, number: number + 1 }, hasImage: false },
  );
}

/** A message whose run calls a node's tool and the gateway's own. */
function tools(): Action[] {
  const script = { number: 1, rounds: 2, node: 1, native: 2, fails: 0, refuses: 0, ms: 50 };
  return [{ at: 0, via: "client", session: "main", kind: "message", script, hasImage: false }];
}

/** Users' messages and commands, as in a schedule without scenes. */
const users = (seed: number) => drawActions(seededRandom(seed), 6);

/** The actions of one scene. */
const scene = (name: string) => (seed: number) => drawSceneOf(name, seededRandom(seed));

/** Maximum number of schedules for a mutation. */
const maxSchedules = 600;

/**
 * Settings that find a mutation: one in how many calls fails, and the actions; `users` if absent. `from`: the
 * first seed, if the one that finds it is far from 0.
 */
const settings: Record<
  string,
  { oneIn: number; actions?: (seed: number) => Action[]; from?: number; isMixed?: boolean }
> = {
  "the partition in which the previous release sweeps": { oneIn: 20, isMixed: true },
  "a pending call at the waiting release": { oneIn: 0, actions: tools, from: 220 },
  "the epoch of a commit": { oneIn: 20, from: 135 },
  "the entry that is taken out": { oneIn: 20, from: 82 },
  "the run that ends": { oneIn: 10, actions: crowd, from: 335 },
  "the run that a stop is for": { oneIn: 10, actions: crowd, from: 8 },
  "a result that is still awaited": { oneIn: 10, actions: tools, from: 15 },
  "the runs that a message may start": { oneIn: 60, actions: scene("sends") },
  "the epoch of a tick": { oneIn: 20, actions: scene("beats") },
  "the tombstone of a memory": { oneIn: 20, actions: scene("memories") },
  "the lease of a sweep of memories": { oneIn: 20, actions: scene("memories") },
  "a session that does not exist yet": { oneIn: 10, actions: crowd },
  "the version that a restore overwrites": { oneIn: 60, actions: scene("restores") },
  "the newest owners": { oneIn: 0, actions: scene("owners") },
  "the newest edit of a message": { oneIn: 10, actions: scene("edits"), from: 10 },
  "the entry that an edit replaces": { oneIn: 60, actions: scene("edits") },
  "the entries that a message moves before": { oneIn: 20, actions: scene("edits") },
  "the step of a transfer": { oneIn: 20, actions: scene("transfers") },
  ...Object.fromEntries(
    Object.keys(jobMutations).map((name) => [name, { oneIn: 20, actions: scene("jobs") }]),
  ),
};

const faults: [string, Pick<ScheduleOptions, "mutate" | "distort">][] = [
  ...Object.entries(mutations).map(
    ([name, mutate]) => [name, { mutate }] as [string, { mutate: typeof mutate }],
  ),
  ...Object.entries(distortions).map(
    ([name, distort]) => [name, { distort }] as [string, { distort: typeof distort }],
  ),
];

it.each(faults)("finds a fault when a write lacks its condition: %s", async (name, seeded) => {
  const { oneIn, actions = users, from = 1, isMixed = false } = settings[name] ?? { oneIn: 20 };
  let found: string[] = [];
  for (let seed = from; seed < from + maxSchedules && found.length === 0; seed++) {
    const options = { seed, oneIn, isMixed, actions: actions(seed) };
    found = (await runSchedule({ ...options, ...seeded })).violations;
    if (found.length > 0) expect((await runSchedule(options)).violations).toEqual([]);
  }
  expect(found).not.toEqual([]);
});
