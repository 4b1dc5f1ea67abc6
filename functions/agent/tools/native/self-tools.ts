import * as v from "valibot";
import { memoryIdField, memoryTextField, memoryTypes } from "../../../../shared/protocol/memory-schemas.ts";
import { count } from "../../../../shared/protocol/schemas.ts";
import { nativeTool } from "./native-tool.ts";

export const whoAmI = nativeTool({
  name: "gsv__who_am_i",
  description: "Your id, model, workspace, identity, and the beginning of SOUL.md.",
  arguments: {},
  repeatable: true,
  forGuests: false,
  isOffered: ({ memory }) => memory.selfReport,
  async run(_, context) {
    const report = await import("../../self/self-report.ts");
    return { ok: true, ...(await report.whoAmI(context)) };
  },
});

export const whatDoIKnow = nativeTool({
  name: "gsv__what_do_i_know",
  description: "MEMORY.md by sections.",
  arguments: {
    section: v.optional(v.pipe(v.string(), v.maxLength(256), v.description("Part of a heading"))),
    limit: v.optional(v.pipe(v.number(), v.integer(), v.description("Default 20, max 50"))),
  },
  repeatable: true,
  forGuests: false,
  isOffered: ({ memory }) => memory.selfReport,
  async run(args, context) {
    const report = await import("../../self/self-report.ts");
    return { ok: true, ...(await report.whatDoIKnow(args, context)) };
  },
});

export const myStats = nativeTool({
  name: "gsv__my_stats",
  description: "Your conversations, memories, recalls and dreams in numbers.",
  arguments: {},
  repeatable: true,
  forGuests: false,
  isOffered: ({ memory }) => memory.selfReport,
  async run(_, context) {
    const stats = await import("../../self/agent-stats.ts");
    return { ok: true, result: await stats.myStats(context) };
  },
});

const wish = (words: string) => v.optional(v.pipe(v.number(), v.integer(), v.description(words)));

const logArguments = {
  action: v.picklist(["list_sessions", "read_session", "search", "recent"]),
  session_id: v.optional(
    v.pipe(v.string(), v.maxLength(256), v.description("Id or key. recent: default this one")),
  ),
  query: v.optional(v.pipe(v.string(), v.maxLength(2000), v.description("Words or a question"))),
  limit: wish("Default 50, max 500; recent 10"),
  max_chars: wish("Per text: 20-4000, default 200"),
  from_message: wish("read_session: first message"),
};

export const sessionLogs = nativeTool({
  name: "gsv__session_logs",
  description:
    "What was said before, in this and earlier conversations, archived ones too. Say where you found it.",
  arguments: logArguments,
  repeatable: true,
  forGuests: false,
  isOffered: ({ memory }) => memory.sessionLogs,
  async run(args, context) {
    const { readLogs } = await import("../../self/read-logs.ts");
    return { ok: true, ...(await readLogs(args, context)) };
  },
});

export const memoryTool = nativeTool({
  name: "gsv__memory",
  description:
    "Your memories: recall what fits query, remember one fact a call, forget one by its id. " +
    "supersedes: id of the memory that the new one corrects. What was said is in gsv__session_logs.",
  arguments: {
    action: v.picklist(["recall", "remember", "forget"]),
    query: v.optional(v.pipe(v.string(), v.maxLength(2000))),
    content: v.optional(v.pipe(memoryTextField, v.description("A self-contained sentence"))),
    id: v.optional(memoryIdField),
    type: v.optional(v.picklist(memoryTypes)),
    supersedes: v.optional(memoryIdField),
    limit: v.optional(count(1, 50)),
  },
  repeatable: true,
  forGuests: false,
  isOffered: ({ memory }) => memory.tool,
  async run(args, context) {
    const { useMemory } = await import("../../self/answer-memory.ts");
    return useMemory(args, context);
  },
});
