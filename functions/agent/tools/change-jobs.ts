import { addJob, cronStatus, listJobs, removeJob, runJobs, updateJob } from "../../../shared/cron/jobs.ts";
import { listRuns } from "../../../shared/cron/run-history.ts";
import { readWrittenJob, readWrittenPatch, type WritingContext } from "../../../shared/cron/written-job.ts";
import { code, PeerError } from "../../../shared/protocol/errors.ts";
import type { Sender } from "../../../shared/session/inbox-entry.ts";
import type { Agent } from "../agent.ts";

/** The arguments of `gsv__Cron`. */
export interface JobRequest {
  action: "status" | "list" | "add" | "update" | "remove" | "run" | "runs";
  id?: string | undefined;
  mode?: "due" | "force" | undefined;
  agentId?: string | undefined;
  includeDisabled?: boolean | undefined;
  limit?: number | undefined;
  offset?: number | undefined;
  job?: Record<string, unknown> | undefined;
  patch?: Record<string, unknown> | undefined;
  jobId?: string | undefined;
}

/** Carries out a call of `gsv__Cron`. @throws PeerError for an error that the model can fix */
export async function changeJobs(
  agent: Agent,
  args: JobRequest,
  context: WritingContext,
  sender: Sender | undefined,
): Promise<unknown> {
  const { action, agentId, includeDisabled = true, limit = 200, offset = 0, jobId } = args;
  switch (action) {
    case "status":
      return cronStatus(agent);
    case "list":
      return listJobs(agent, { agentId, includeDisabled, limit: Math.min(limit, 500), offset });
    case "add":
      return {
        ok: true,
        job: await addJob(agent, readWrittenJob(required("job", args.job), context), sender),
      };
    case "update": {
      const patch = readWrittenPatch(required("patch", args.patch ?? args.job), context);
      return { ok: true, job: await updateJob(agent, { id: required("id", args.id), patch }, sender) };
    }
    case "remove":
      await removeJob(agent, required("id", args.id));
      return { ok: true, removed: true };
    case "run":
      return runJobs(agent, { id: args.id, mode: args.mode ?? "due" });
    case "runs": {
      const runs = await listRuns(agent.table, { jobId, limit, offset }, agent.now());
      return { runs, count: runs.length };
    }
  }
}

function required<T>(name: string, value: T | undefined): T {
  if (value !== undefined) return value;
  throw new PeerError(code.badRequest, `${name}: this action needs it`);
}
