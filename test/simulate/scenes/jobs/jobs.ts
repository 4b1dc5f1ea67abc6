import { type StoredJob, toJob } from "../../../../shared/cron/job-item.ts";
import { addJob, removeJob, runJobs, updateJob } from "../../../../shared/cron/jobs.ts";
import type { CronWorld } from "../../../../shared/cron/plan-run.ts";
import { PeerError } from "../../../../shared/protocol/errors.ts";
import type { Params } from "../../../../shared/protocol/methods.ts";
import type { World } from "../../../../shared/world/world.ts";
import type { SceneAction } from "../../load/actions.ts";
import type { Scene, Stage, Write } from "../scene.ts";
import { type JobsSeen, jobFaults, overdueFaults, runFaults } from "./job-rules.ts";
import { endFaults } from "./jobs-at-rest.ts";

export const jobActions = ["rename", "rename", "replan", "disable", "enable", "force", "due", "remove"];

const everyMinute = { kind: "every", everyMs: 60_000 } as const;

/** Two tasks, which share one slot, and an event. */
const added: Pick<Params<"cron.add">, "name" | "spec">[] = [
  { name: "first", spec: { mode: "task", message: "the first task", timeoutSeconds: 60 } },
  { name: "second", spec: { mode: "task", message: "the second task", timeoutSeconds: 60 } },
  { name: "event", spec: { mode: "systemEvent", text: "an event" } },
];

/** Once a schedule is calm, a job that is overdue for longer than this is dead. Milliseconds. */
const calmMs = 240_000;

/** People edit, run and remove jobs while they run each minute. */
export function createJobs(stage: Stage): Scene {
  const { ledger, peers, timeline, cloud } = stage;
  const ids: string[] = [];
  const seen: JobsSeen = { admitted: new Set(), names: new Set(), forced: new Set() };
  let reported = 0;
  const worldOf = (world: World): CronWorld => ({
    ...peers.intakeOf(world),
    schedules: world.schedules,
  });
  const jobs = () => [...cloud.store.range({ pk: "CRON" })].map((item) => toJob(item as never));
  const fault = (what: string) => ledger.fault(what);
  /** Requests about a job that was removed fail for good. */
  const ask = async (id: string, work: (world: CronWorld) => Promise<unknown>) => {
    let result: unknown;
    const isAnswered = await peers.insist(id, async (world) => {
      try {
        result = await work(worldOf(world));
      } catch (error) {
        if (!(error instanceof PeerError) || error.retryable) throw error;
        result = undefined;
      }
    });
    return isAnswered ? result : undefined;
  };
  const update = (id: string, jobId: string, patch: Params<"cron.update">["patch"]) =>
    ask(id, (world) => updateJob(world, { id: jobId, patch }));
  return {
    async prepare() {
      const world = worldOf(cloud.direct);
      for (const { name, spec } of added)
        ids.push((await addJob(world, { name, spec, enabled: true, schedule: everyMinute })).id);
    },
    async perform({ does, value }: SceneAction, id: string) {
      const jobId = ids[value % ids.length] as string;
      if (does === "rename") {
        const written = await update(id, jobId, { name: id });
        if (written && !seen.names.has(id)) fault(`the edit ${id} was acknowledged but not written`);
      } else if (does === "replan") {
        const everyMs = 60_000 * (1 + (value % 3));
        await update(id, jobId, { schedule: { kind: "every", everyMs } });
      } else if (does === "disable" || does === "enable") {
        await update(id, jobId, { enabled: does === "enable" });
      } else if (does === "remove") {
        await ask(id, (world) => removeJob(world, jobId));
      } else {
        const params =
          does === "force" ? ({ id: jobId, mode: "force" } as const) : ({ mode: "due" } as const);
        const result = (await ask(id, (world) => runJobs(world, params))) as { ran: number } | undefined;
        if (does === "force") reported += result?.ran ?? 0;
      }
    },
    written({ key, before, after }: Write) {
      if (key.pk === "CRONRUN")
        for (const one of runFaults(stage, before as never, after as never)) fault(one);
      if (key.pk !== "CRON") return;
      const change = { before: before as StoredJob | undefined, after: after as StoredJob | undefined };
      for (const one of jobFaults(seen, change, jobs(), cloud.store)) fault(one);
    },
    async calm() {
      await timeline.pass(calmMs);
      for (const one of overdueFaults(jobs(), timeline.now)) fault(one);
      for (const { id, removed } of jobs()) if (!removed) await update(`end-${id}`, id, { enabled: false });
    },
    isQuiet: () => jobs().every(({ enabled, run }) => !enabled && run === undefined),
    async rest() {
      for (const one of endFaults(stage, seen, jobs())) fault(one);
      if (reported > seen.forced.size)
        fault(`${reported} forced runs were reported, ${seen.forced.size} ran`);
    },
  };
}
