import type { CommandEntry } from "../../app/program.ts";

const specOptions = [
  [
    "--to <receiver>",
    "where the answer goes: last (where an owner last wrote directly), clients, nowhere, or channel:id",
  ],
  ["--account <account>", "the channel's account that sends the answer"],
  ["--kind <kind>", "kind of the receiver: dm, group, channel or thread"],
  ["--strict", "an answer that cannot be delivered counts as a failed run"],
  ["--model <model>", "model of the runs: provider/id, or an id of the current provider"],
  ["--thinking <level>", "thinking level of the runs"],
  ["--timeout <duration>", "max duration of a run, such as 5m (default 1h)"],
  ["--tz <timezone>", "timezone of the times (default: userTimezone of the configuration)"],
  ["--name <name>", "name of the job"],
  ["--description <text>", "purpose of the job"],
  ["--agent <agent>", "the agent that runs it"],
  ["--yes", "do not ask"],
] as const;

const job = "<job>";

/** `gsv cron …` */
export const cronCommand: CommandEntry = {
  name: "cron",
  summary: "scheduled jobs: what the agent does at certain times",
  examples: ['cron add "every weekday at 7:30" "Summarise my mail"', "cron list"],
  commands: [
    {
      name: "status",
      summary: "the scheduled jobs in figures, and the next run",
      examples: ["cron status"],
      load: async () => (await import("./cron-commands.ts")).showCronStatus,
    },
    {
      name: "list",
      summary: "all jobs, the next to run first",
      options: [
        ["--agent <agent>", "only jobs of this agent"],
        ["--enabled", "only enabled jobs"],
      ],
      examples: ["cron list"],
      load: async () => (await import("./cron-commands.ts")).listCronJobs,
    },
    {
      name: "add <when> <message...>",
      summary: "add a job; shows its next three runs before it is saved",
      options: [
        ...specOptions,
        ["--event", "send the message to the main session instead of the job's own session"],
        ["--keep", "keep a one-shot job after its run, disabled"],
        ["--disabled", "add it disabled"],
      ],
      examples: [
        'cron add "in 20 minutes" "Remind me to stretch"',
        'cron add "tomorrow 9:15am" "What is on my calendar?" --to telegram:42',
        'cron add "30 7 * * 1-5" "Summarise my mail" --tz Europe/Berlin --name mail',
      ],
      load: async () => (await import("./cron-add.ts")).addCronJob,
    },
    {
      name: `edit ${job}`,
      summary: "change a job; <job> is its id, the beginning of the id, or its name",
      options: [["--when <when>", "another time"], ["--message <text>", "another message"], ...specOptions],
      examples: ['cron edit mail --when "every weekday at 8:00"'],
      load: async () => (await import("./cron-add.ts")).editCronJob,
    },
    {
      name: `remove ${job}`,
      summary: "remove a job; its runs remain in the history",
      options: [["--yes", "do not ask"]],
      examples: ["cron remove mail"],
      load: async () => (await import("./cron-commands.ts")).removeCronJob,
    },
    {
      name: "run [job]",
      summary: "run a job now, or all due jobs with --due",
      options: [["--due", "all jobs that are due"]],
      examples: ["cron run mail", "cron run --due"],
      load: async () => (await import("./cron-commands.ts")).runCronJobs,
    },
    {
      name: "runs [job]",
      summary: "the history: when jobs ran, and how each run ended",
      options: [["--limit <n>", "number of runs (default 20, max 2000)"]],
      examples: ["cron runs", "cron runs mail --limit 5"],
      load: async () => (await import("./cron-commands.ts")).listCronRuns,
    },
    {
      name: `enable ${job}`,
      summary: "let a job run again",
      examples: ["cron enable mail"],
      load: async () => (await import("./cron-commands.ts")).enableCronJob,
    },
    {
      name: `disable ${job}`,
      summary: "keep a job without running it",
      examples: ["cron disable mail"],
      load: async () => (await import("./cron-commands.ts")).disableCronJob,
    },
  ],
};
