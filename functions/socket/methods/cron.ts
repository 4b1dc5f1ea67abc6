import { addJob, cronStatus, listJobs, removeJob, runJobs, updateJob } from "../../../shared/cron/jobs.ts";
import { listRuns } from "../../../shared/cron/run-history.ts";
import { readFailing } from "../../../shared/session/failing-items.ts";
import type { MethodTable } from "../gateway.ts";

export const cronMethods: Pick<
  MethodTable,
  "cron.status" | "cron.list" | "cron.add" | "cron.update" | "cron.remove" | "cron.run" | "cron.runs"
> = {
  "cron.status": {
    modes: ["client"],
    async handle(gateway) {
      const [status, failing] = await Promise.all([
        cronStatus(gateway),
        readFailing(gateway.table, gateway.now()),
      ]);
      return { ...status, failing: [...failing.values()] };
    },
  },
  "cron.list": { modes: ["client"], handle: listJobs },
  "cron.add": {
    modes: ["client"],
    handle: async (gateway, params) => ({ ok: true, job: await addJob(gateway, params) }),
  },
  "cron.update": {
    modes: ["client"],
    handle: async (gateway, params) => ({ ok: true, job: await updateJob(gateway, params) }),
  },
  "cron.remove": {
    modes: ["client"],
    async handle(gateway, { id }) {
      await removeJob(gateway, id);
      return { ok: true, removed: true };
    },
  },
  "cron.run": { modes: ["client"], handle: runJobs },
  "cron.runs": {
    modes: ["client"],
    async handle({ table, now }, params) {
      const runs = await listRuns(table, params, now());
      return { runs, count: runs.length };
    },
  },
};
