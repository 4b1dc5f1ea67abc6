import type { Timer } from "../../../functions/timer/timer.ts";
import { fireCron } from "../../../functions/timer/timer-handler.ts";
import { defaults } from "../../../shared/configuration/defaults.ts";
import type { Configuration } from "../../../shared/configuration/schema.ts";
import { type JobChange, jobKey } from "../../../shared/cron/job-item.ts";
import { removeJob, runJobs, updateJob } from "../../../shared/cron/jobs.ts";
import type { CronWorld } from "../../../shared/cron/plan-run.ts";
import { recordRunning } from "../../../shared/cron/run-history.ts";
import { advanceJob } from "../../../shared/cron/run-job.ts";
import { settleCronRun } from "../../../shared/cron/settle-run.ts";
import type { Params } from "../../../shared/protocol/methods.ts";
import { dueFields } from "../../../shared/session/due.ts";
import type { InboxEntry } from "../../../shared/session/inbox-entry.ts";
import { cronSessionKey } from "../../../shared/session/key/session-key.ts";
import { metaKey, newSession } from "../../../shared/session/state.ts";
import { equal, remove } from "../../../shared/world/expression.ts";
import { type Item, succeeds } from "../../../shared/world/world.ts";
import { firstMoment } from "../model/moves.ts";
import type { Program, Surroundings } from "../model/process.ts";
import { only } from "../model/programs.ts";

export const periodMs = 3_600_000;

/** The first time of every job: just before the start, so that all are due. A forced run has another time. */
export const dueAt = firstMoment - 1000;

/** The number of runs that may have a slot at a time. */
export const maxRuns = 1;

const settings: Configuration = { ...defaults, cron: { ...defaults.cron, maxConcurrentRuns: maxRuns } };

export const sessionOf = (jobId: string) => metaKey(cronSessionKey("main", jobId));

function worldOf({ table, ask, now }: Surroundings): CronWorld {
  return {
    table,
    now,
    configuration: { load: async () => settings },
    schedules: { once: async (name, _at, event) => void (await ask({ to: "scheduler", name, event })) },
    wake: async () => void (await ask({ to: "agent" })),
  };
}

const program = (name: string, run: Program["run"]): Program => ({ name, run });

/** Adds tasks that are due, with their sessions. */
export function addedJobs(...ids: string[]): Program {
  return program(`jobs ${ids}`, async ({ table }) => {
    for (const id of ids) {
      const job: JobChange = {
        ...{ id, agentId: "main", name: id, enabled: true, version: 1, createdAtMs: dueAt - periodMs },
        ...{ updatedAtMs: 0, schedule: { kind: "every", everyMs: periodMs } },
        ...{ spec: { mode: "task", message: "x" }, nextRunAtMs: dueAt },
      };
      await table.put({ ...(job as Item), ...dueFields(jobKey(id), dueAt), ...jobKey(id) });
      const session = newSession(cronSessionKey("main", id), "session", dueAt);
      await table.put({ ...(session as unknown as Item), ...sessionOf(id) });
    }
  });
}

/** The timer function, invoked by a job's schedule. */
export function fire(jobId: string, at = dueAt): Program {
  const event = { kind: "cron", jobId, at } as const;
  const name = `fire of ${jobId} at ${(at - dueAt) / periodMs}`;
  return program(name, (surroundings) => fireCron(only<Timer>("timer", worldOf(surroundings)), event));
}

/** What the sweep does with a job. */
export function sweepOf(jobId: string): Program {
  return program(`sweep of ${jobId}`, async (surroundings) => {
    await advanceJob(worldOf(surroundings), jobId, surroundings.now());
  });
}

export function force(jobId: string): Program {
  return program(`force of ${jobId}`, (all) => runJobs(worldOf(all), { id: jobId, mode: "force" }));
}

export function edit(jobId: string, patch: Params<"cron.update">["patch"]): Program {
  const name = `edit of ${jobId}: ${JSON.stringify(patch)}`;
  return program(name, (surroundings) => updateJob(worldOf(surroundings), { id: jobId, patch }));
}

export function removal(jobId: string): Program {
  return program(`removal of ${jobId}`, (surroundings) => removeJob(worldOf(surroundings), jobId));
}

/** The agent, as far as jobs are concerned: it processes the messages of the jobs' sessions. Here, two may do so at once. */
export function worker(...jobIds: string[]): Program {
  return program(`agent of ${jobIds}`, async ({ table, now, forget }) => {
    for (const jobId of jobIds) {
      for (;;) {
        forget(jobId);
        const session = await table.get(sessionOf(jobId));
        const [entry] = (session?.inbox ?? []) as unknown as Extract<InboxEntry, { kind: "message" }>[];
        if (entry?.task?.kind !== "cron") break;
        await recordRunning(table, entry.task);
        await settleCronRun({ table, now }, entry.task, { status: "ok" });
        const isFirst = equal(["inbox", 0, "id"], entry.id);
        await succeeds(table.update(sessionOf(jobId), [remove(["inbox", 0])], isFirst));
      }
    }
  });
}
