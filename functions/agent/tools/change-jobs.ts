import {
  addJob,
  allJobs,
  cronStatus,
  listJobs,
  removeJob,
  runJobs,
  updateJob,
} from "../../../shared/cron/jobs.ts";
import { listRuns } from "../../../shared/cron/run-history.ts";
import { readWrittenJob, readWrittenPatch, type WritingContext } from "../../../shared/cron/written-job.ts";
import { joinOrigins } from "../../../shared/origins/origins.ts";
import type { CronJob } from "../../../shared/protocol/cron.ts";
import { code, PeerError } from "../../../shared/protocol/errors.ts";
import { normalizeAgentId } from "../../../shared/session/key/session-key.ts";
import type { Agent } from "../agent.ts";
import type { ToolTurn } from "./native/native-tool.ts";

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

/** The agents whose jobs a call changes or runs: those that it names, and the agent of the job that it names. */
export async function agentsOfChange(agent: Agent, args: JobRequest): Promise<string[]> {
  const { action, id, job, patch } = args;
  if (!["add", "update", "remove", "run"].includes(action)) return [];
  const existing = id === undefined ? [] : (await allJobs(agent)).filter((one) => one.id === id);
  return [job?.agentId, patch?.agentId, ...existing.map((one) => one.agentId)]
    .filter((one) => typeof one === "string")
    .map(normalizeAgentId);
}

/** Carries out a call of `gsv__Cron`. `origins`: whose words the result contains, besides the owner's. @throws PeerError for an error that the model can fix */
export async function changeJobs(
  agent: Agent,
  args: JobRequest,
  context: WritingContext,
  { sender, origins }: Pick<ToolTurn, "sender" | "origins">,
): Promise<{ result: unknown; origins?: string[] }> {
  const writer = { sender, origins };
  const { action, agentId, includeDisabled = true, limit = 200, offset = 0, jobId } = args;
  switch (action) {
    case "status":
      return { result: await cronStatus(agent) };
    case "list": {
      const listed = await listJobs(agent, { agentId, includeDisabled, limit: Math.min(limit, 500), offset });
      return { result: listed, origins: joinOrigins(...listed.jobs.map((job) => job.origins)) };
    }
    case "add":
      return written(await addJob(agent, readWrittenJob(required("job", args.job), context), writer));
    case "update": {
      const patch = readWrittenPatch(required("patch", args.patch ?? args.job), context);
      return written(await updateJob(agent, { id: required("id", args.id), patch }, writer));
    }
    case "remove":
      await removeJob(agent, required("id", args.id));
      return { result: { ok: true, removed: true } };
    case "run":
      return { result: await runJobs(agent, { id: args.id, mode: args.mode ?? "due" }) };
    case "runs": {
      const runs = await listRuns(agent.table, { jobId, limit, offset }, agent.now());
      return { result: { runs, count: runs.length } };
    }
  }
}

function written({ origins = [], ...job }: CronJob): { result: unknown; origins: string[] } {
  return { result: { ok: true, job }, origins };
}

function required<T>(name: string, value: T | undefined): T {
  if (value !== undefined) return value;
  throw new PeerError(code.badRequest, `${name}: this action needs it`);
}
