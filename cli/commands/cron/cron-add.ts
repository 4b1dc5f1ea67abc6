import { channels as builtIn } from "../../../shared/channels/channels.ts";
import { shownTime } from "../../../shared/cron/cron-message.ts";
import { checkSchedule, nextRunTimes } from "../../../shared/cron/run-times.ts";
import type { CronJob, CronSchedule, CronSpec } from "../../../shared/protocol/cron.ts";
import { code } from "../../../shared/protocol/errors.ts";
import type { ParamsInput } from "../../../shared/protocol/methods.ts";
import { pairs, shorten } from "../../app/columns.ts";
import type { Context } from "../../app/context.ts";
import { Failure, usage } from "../../app/failure.ts";
import { text } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { confirm } from "../../app/questions.ts";
import { didYouMean } from "../../app/suggestion.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";
import { findJob } from "./cron-commands.ts";
import { hasReceiverDetails, orUsage, readWhen, taskOptions, withReceiverDetails } from "./cron-options.ts";
import { jobLines, receiverText, scheduleText } from "./cron-text.ts";

/** Number of next runs shown before a job is saved. */
const shownRuns = 3;

export const addCronJob: Action = async (context, { args, options }) => {
  const [when = "", ...words] = args;
  const message = words.join(" ").trim();
  if (message === "")
    throw usage('the message is missing: gsv cron add "every weekday at 7:30" "Summarise my mail"');
  const gateway = await context.gateway();
  const { timezone } = await gateway.request("cron.status");
  const schedule = readWhen(when, options, Date.now(), timezone);
  if (options.event && (Object.keys(taskOptions(options)).length > 0 || hasReceiverDetails(options)))
    throw usage(
      "--event excludes the options for receiver, model, thinking and time limit: the main session has its own",
    );
  const spec: CronSpec = options.event
    ? { mode: "systemEvent", text: message }
    : { mode: "task", message, ...taskOptions({ to: "last", ...options }) };
  const [agentId, description] = [text(options.agent), text(options.description)];
  const job: ParamsInput<"cron.add"> = {
    name: text(options.name) ?? shorten(message, 60),
    ...(description === undefined ? {} : { description }),
    ...(agentId === undefined ? {} : { agentId }),
    ...(options.disabled === true ? { enabled: false } : {}),
    ...(schedule.kind === "at" && options.keep !== true ? { deleteAfterRun: true } : {}),
    schedule,
    spec,
  };
  await checkReceiver(context, gateway, spec);
  await showPlan(context, { schedule, spec }, timezone, options.yes === true, "Add it?");
  const answer = await gateway.request("cron.add", job);
  context.print(answer, `added: ${answer.job.id}`);
};

export const editCronJob: Action = async (context, { args, options }) => {
  const gateway = await context.gateway();
  const [job, { timezone }] = await Promise.all([
    findJob(gateway, args[0] ?? ""),
    gateway.request("cron.status"),
  ]);
  const when = text(options.when);
  const schedule = when === undefined ? undefined : readWhen(when, options, Date.now(), timezone);
  const spec = changedSpec(job, options);
  const patch: ParamsInput<"cron.update">["patch"] = {
    ...named("name", text(options.name)),
    ...named("description", text(options.description)),
    ...named("agentId", text(options.agent)),
    ...(schedule === undefined ? {} : { schedule }),
    ...(spec === undefined ? {} : { spec }),
  };
  if (Object.keys(patch).length === 0)
    throw usage("nothing to change; use --when, --message, --to, --name; see --help");
  const planned = { schedule: schedule ?? job.schedule, spec: spec ?? job.spec };
  if (options.to !== undefined || options.account !== undefined)
    await checkReceiver(context, gateway, planned.spec);
  if (schedule || spec) await showPlan(context, planned, timezone, options.yes === true, "Change it?");
  const answer = await gateway.request("cron.update", { id: job.id, patch });
  context.print(answer, pairs(jobLines(answer.job, timezone)));
};

function named<N extends string>(name: N, value: string | undefined): { [K in N]?: string } {
  return (value === undefined ? {} : { [name]: value }) as { [K in N]?: string };
}

/** The spec changed by the options; undefined when they change nothing. */
function changedSpec({ spec }: CronJob, options: Parameters<typeof taskOptions>[0]): CronSpec | undefined {
  const message = text(options.message);
  const given = taskOptions(options);
  const changesTask =
    Object.keys(given).length > 0 || options.to !== undefined || hasReceiverDetails(options);
  if (message === undefined && !changesTask) return undefined;
  if (spec.mode === "systemEvent") {
    if (changesTask) throw usage("this job is an event of the main session: only --message changes it");
    return { ...spec, text: message ?? spec.text };
  }
  const { deliver, channel, to, accountId, peerKind, bestEffortDeliver, ...rest } = spec;
  return {
    ...(options.to === undefined ? withReceiverDetails(spec, options) : rest),
    ...(message === undefined ? {} : { message }),
    ...given,
  };
}

/** Shows when a job will run and where its answer goes, and asks for confirmation. @throws Failure when refused */
async function showPlan(
  context: Context,
  { schedule, spec }: { schedule: CronSchedule; spec: CronSpec },
  timezone: string,
  isSure: boolean,
  question: string,
): Promise<void> {
  const now = Date.now();
  orUsage(() => checkSchedule(schedule, now, timezone));
  if (context.json) return;
  const anchored = schedule.kind === "every" ? { anchorMs: now, ...schedule } : schedule;
  const zone = schedule.kind === "cron" ? (schedule.tz ?? timezone) : timezone;
  const runs = nextRunTimes(anchored, now, timezone, shownRuns).map((at) => shownTime(at, zone));
  const lines = [
    ["when", scheduleText(schedule, timezone)],
    ...runs.map((run, index) => [index === 0 ? "runs" : "", run] as const),
    ["answer", receiverText(spec)],
  ] as const;
  context.note(pairs(lines));
  if (isSure) return;
  if (context.terminal.stdin.isTTY !== true) throw usage("no terminal to ask for confirmation; pass --yes");
  if (!(await confirm(context.terminal, question))) throw new Failure("cancelled", "nothing was changed");
}

/**
 * Checks that the account that sends a job's answer exists, so that an undeliverable job is not saved. A stopped account
 * is only a warning, because it may be started before the job runs.
 * @throws Failure when the account does not exist
 */
async function checkReceiver(context: Context, gateway: Gateway, spec: CronSpec): Promise<void> {
  if (spec.mode !== "task" || spec.channel === undefined || spec.channel === "last") return;
  const { channel, accountId = "default" } = spec;
  const { channels: accounts } = await gateway.request("channels.list");
  const account = accounts.find((one) => one.channel === channel && one.accountId === accountId);
  const named = accountId === "default" ? channel : `${channel} ${accountId}`;
  if (!account) {
    const names = [...new Set([...Object.keys(builtIn), ...accounts.map((one) => one.channel)])];
    const todo = names.includes(channel)
      ? `\`gsv channel add ${named}\` connects it`
      : `the channels are ${names.join(", ")}${didYouMean(channel, names)}`;
    throw new Failure(
      code.notFound,
      `the answer cannot be sent: ${channel} has no account ${accountId}; ${todo}`,
    );
  }
  if (account.stopped)
    context.note(
      `gsv: ${channel}/${accountId} is stopped; to send answers, run \`gsv channel start ${named}\``,
    );
}
