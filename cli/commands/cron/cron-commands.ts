import { shownTime } from "../../../shared/cron/cron-message.ts";
import type { CronJob } from "../../../shared/protocol/cron.ts";
import { columns, durationText, pairs, shorten, visible } from "../../app/columns.ts";
import { Failure, usage } from "../../app/failure.ts";
import { text, wholeNumber } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { confirm } from "../../app/questions.ts";
import { didYouMean } from "../../app/suggestion.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";
import { jobLines, lastText, nextText, scheduleText } from "./cron-text.ts";

/** Number of characters of a job's id that lists show. Commands accept them, too. */
const shortId = 8;

/** Max number of jobs that one `cron.list` returns. */
const pageSize = 500;

/** Finds a job by its id, the beginning of its id, or its name. @throws Failure when none or several match */
export async function findJob(gateway: Gateway, wanted: string): Promise<CronJob> {
  const jobs = await everyJob(gateway);
  const exact = jobs.find(({ id }) => id === wanted);
  if (exact) return exact;
  const name = wanted.trim().toLowerCase();
  const found = jobs.filter(
    (job) => job.name.toLowerCase() === name || (wanted.length >= 4 && job.id.startsWith(name)),
  );
  const [first, second] = found;
  if (first && !second) return first;
  if (first)
    throw usage(`several jobs match ${wanted}; use one of the ids ${found.map(({ id }) => id).join(", ")}`);
  const meant = didYouMean(
    wanted,
    jobs.map((job) => job.name),
  );
  throw new Failure("not found", `there is no job ${wanted}${meant}; \`gsv cron list\` shows the jobs`);
}

async function everyJob(gateway: Gateway): Promise<CronJob[]> {
  const all: CronJob[] = [];
  for (;;) {
    const { jobs } = await gateway.request("cron.list", { limit: pageSize, offset: all.length });
    all.push(...jobs);
    if (jobs.length < pageSize) return all;
  }
}

export const showCronStatus: Action = async (context) => {
  const status = await (await context.gateway()).request("cron.status");
  const { enabled, count, dueCount, runningCount, nextRunAtMs, maxJobs, maxConcurrentRuns, timezone } =
    status;
  const lines = pairs([
    ["scheduled jobs", enabled ? "on" : "off: gsv config set cron.enabled true"],
    ["jobs", `${count} of at most ${maxJobs}`],
    ["running", `${runningCount} of at most ${maxConcurrentRuns}`],
    ["due", String(dueCount)],
    ["next run", nextRunAtMs === undefined ? "none" : shownTime(nextRunAtMs, timezone)],
    ["timezone", `${timezone} (gsv config set userTimezone …)`],
  ]);
  context.print(status, lines);
};

export const listCronJobs: Action = async (context, { options }) => {
  const gateway = await context.gateway();
  const agentId = text(options.agent);
  const [{ timezone }, jobs] = await Promise.all([gateway.request("cron.status"), everyJob(gateway)]);
  const shown = jobs.filter(
    (job) => (agentId === undefined || job.agentId === agentId) && (options.enabled !== true || job.enabled),
  );
  const rows = shown.map((job) => [
    job.id.slice(0, shortId),
    shorten(visible(job.name), 40),
    scheduleText(job.schedule, timezone),
    nextText(job, timezone),
    shorten(lastText(job), 60),
  ]);
  const none = 'no jobs; add one with `gsv cron add "every weekday at 7:30" "Summarise my mail"`';
  const table = columns(["ID", "NAME", "WHEN", "NEXT", "LAST"], rows);
  context.print({ jobs: shown, count: shown.length }, rows.length > 0 ? table : none);
};

export const removeCronJob: Action = async (context, { args, options }) => {
  const gateway = await context.gateway();
  const { id, name } = await findJob(gateway, args[0] ?? "");
  if (options.yes !== true) {
    if (context.terminal.stdin.isTTY !== true)
      throw usage(`no terminal to ask for confirmation; pass --yes to remove ${visible(name)}`);
    if (!(await confirm(context.terminal, `Remove the job ${visible(name)}?`)))
      throw new Failure("cancelled", "nothing was removed");
  }
  const answer = await gateway.request("cron.remove", { id });
  context.print({ ...answer, id }, `removed: ${visible(name)}; \`gsv cron runs ${id}\` shows its runs`);
};

export const runCronJobs: Action = async (context, { args, options }) => {
  const gateway = await context.gateway();
  const wanted = args[0];
  if ((wanted === undefined) === (options.due !== true))
    throw usage("name one job, or pass --due for all due jobs");
  const job = wanted === undefined ? undefined : await findJob(gateway, wanted);
  const answer = await gateway.request("cron.run", job ? { id: job.id, mode: "force" } : { mode: "due" });
  const lines = answer.results.map(
    ({ jobId, status, error, summary }) =>
      `${jobId.slice(0, shortId)}  ${status}  ${visible(error ?? summary ?? "")}`,
  );
  context.print(answer, lines.join("\n") || "nothing is due");
};

export const listCronRuns: Action = async (context, { args, options }) => {
  const gateway = await context.gateway();
  const limit = wholeNumber("--limit", options.limit, 1, 2000) ?? 20;
  const wanted = args[0];
  // The runs of a removed job can only be found by its complete id.
  const isWhole = /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(wanted ?? "");
  const jobId = wanted === undefined || isWhole ? wanted : (await findJob(gateway, wanted)).id;
  const [{ timezone }, answer] = await Promise.all([
    gateway.request("cron.status"),
    gateway.request("cron.runs", { limit, ...(jobId === undefined ? {} : { jobId }) }),
  ]);
  const rows = answer.runs.map(({ jobId: job, ts, status, durationMs, error, summary }) => [
    job.slice(0, shortId),
    shownTime(ts, timezone),
    status,
    durationMs === undefined ? "-" : durationText(durationMs),
    visible(error ?? summary ?? ""),
  ]);
  context.print(
    answer,
    rows.length > 0 ? columns(["JOB", "AT", "STATUS", "TOOK", "WHAT"], rows) : "no runs yet",
  );
};

const switchTo =
  (enabled: boolean): Action =>
  async (context, { args }) => {
    const gateway = await context.gateway();
    const [job, { timezone }] = await Promise.all([
      findJob(gateway, args[0] ?? ""),
      gateway.request("cron.status"),
    ]);
    const answer = await gateway.request("cron.update", { id: job.id, patch: { enabled } });
    context.print(answer, pairs(jobLines(answer.job, timezone)));
  };

export const enableCronJob = switchTo(true);
export const disableCronJob = switchTo(false);
