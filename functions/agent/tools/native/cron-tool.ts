import * as v from "valibot";
import { placeOf } from "../../../../shared/channels/conversation-place.ts";
import { count } from "../../../../shared/protocol/schemas.ts";
import { checkSchedulable } from "../../../../shared/workspace/privacy.ts";
import { checkDelegate } from "../agent-rights.ts";
import { nativeTool } from "./native-tool.ts";

const job = v.pipe(
  v.looseObject({
    name: v.optional(v.string()),
    schedule: v.optional(
      v.pipe(
        v.union([v.string(), v.looseObject({})]),
        v.description(
          "in 20 minutes; tomorrow 9:15am; 2026-02-14 09:30; every 2 hours; every weekday at 7:30; 30 7 * * 1-5; " +
            "or {kind: every, everyMs, anchor?} or {kind: cron, expr, tz?}. Default timezone: the user's",
        ),
      ),
    ),
    spec: v.optional(
      v.pipe(
        v.looseObject({}),
        v.description(
          "{mode: task, message, model?, thinking?, timeoutSeconds?, deliver?, channel?, to?, accountId?, peerKind?, bestEffortDeliver?}: " +
            "you work on message in a session of its own; the answer goes to channel and to, by default here. " +
            "{mode: systemEvent, text}: puts text into the main session",
        ),
      ),
    ),
    enabled: v.optional(v.boolean()),
    deleteAfterRun: v.optional(v.boolean()),
  }),
  v.description("For add; patch for update is alike"),
);

const cronArguments = {
  action: v.picklist(["status", "list", "add", "update", "remove", "run", "runs"]),
  id: v.optional(v.pipe(v.string(), v.description("For update, remove, run"))),
  mode: v.optional(v.pipe(v.picklist(["due", "force"]), v.description("For run. force: now, needs id"))),
  agentId: v.optional(v.string()),
  includeDisabled: v.optional(v.boolean()),
  limit: v.optional(count(1, 2000)),
  offset: v.optional(count(0, 1_000_000)),
  job: v.optional(job),
  patch: v.optional(v.looseObject({})),
  jobId: v.optional(v.pipe(v.string(), v.description("For runs"))),
};
export const cronTool = nativeTool({
  name: "gsv__Cron",
  description:
    "Scheduled jobs: reminders, reports, regular tasks. message must say all that is needed: it is read without this conversation. " +
    "Tell the user the next run (nextRunAtMs) in their timezone.",
  arguments: cronArguments,
  repeatable: false,
  forGuests: false,
  async run(args, { agent, turn, address: { sessionKey } }) {
    checkSchedulable(turn.audience);
    const { agentId } = turn;
    const configuration = await agent.configuration.load({ fresh: true });
    const { userTimezone: timezone } = configuration;
    const lastChannel = turn.lastChannel ?? (await placeOf(agent.table, configuration, { sessionKey }));
    const context = { agentId, now: agent.now(), timezone, ...(lastChannel ? { lastChannel } : {}) };
    const { changeJobs, agentsOfChange } = await import("../change-jobs.ts");
    for (const other of await agentsOfChange(agent, args)) checkDelegate(configuration, agentId, other);
    return { ok: true, ...(await changeJobs(agent, args, context, turn)) };
  },
});
