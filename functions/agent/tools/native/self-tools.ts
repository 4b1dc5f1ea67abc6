import * as v from "valibot";
import { memoryIdField, memoryTextField, memoryTypes } from "../../../../shared/protocol/memory-schemas.ts";
import { count } from "../../../../shared/protocol/schemas.ts";
import { nativeTool } from "./native-tool.ts";

const section = v.optional(v.pipe(v.string(), v.maxLength(256)));
const whole = v.optional(v.pipe(v.number(), v.integer()));

const about = v.optional(v.picklist(["memory", "stats"]));

export const whoAmI = nativeTool({
  name: "gsv__who_am_i",
  description: "Who you are; about: MEMORY.md, or figures.",
  arguments: { about },
  accepts: { about, section },
  repeatable: true,
  forGuests: false,
  isOffered: ({ memory }) => memory.selfReport,
  async run({ about, ...args }, context) {
    if (about === "stats") return myStats.run({} as never, context);
    const report = await import("../../self/self-report.ts");
    const answer = about === "memory" ? report.whatDoIKnow(args, context) : report.whoAmI(context);
    return { ok: true, ...(await answer) };
  },
});

/** The seed's names of two parts of `gsv__who_am_i`. */
export const whatDoIKnow = nativeTool({
  name: "gsv__what_do_i_know",
  description: "MEMORY.md by sections.",
  arguments: { section, limit: whole },
  repeatable: true,
  forGuests: false,
  isHidden: true,
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
  isHidden: true,
  isOffered: ({ memory }) => memory.selfReport,
  async run(_, context) {
    const stats = await import("../../self/agent-stats.ts");
    return { ok: true, result: await stats.myStats(context) };
  },
});

const query = v.pipe(v.string(), v.maxLength(2000));
const day = v.optional(v.pipe(v.string(), v.regex(/^\d{4}-\d{2}-\d{2}$/, "expected YYYY-MM-DD")));

const recallArguments = {
  queries: v.pipe(v.array(query), v.minLength(1), v.maxLength(4)),
  from: day,
  to: day,
};

export const recallTool = nativeTool({
  name: "gsv__recall",
  description: "Search memories and conversations; days as YYYY-MM-DD.",
  arguments: recallArguments,
  accepts: { ...recallArguments, limit: whole },
  repeatable: true,
  forGuests: false,
  isOffered: ({ memory }) => memory.tool || memory.sessionLogs,
  async run(args, context) {
    const { answerRecall } = await import("../../self/answer-recall.ts");
    return answerRecall({ ...args, limit: Math.min(50, Math.max(1, args.limit ?? 10)) }, context);
  },
});

const logArguments = {
  session_id: v.optional(v.pipe(v.string(), v.maxLength(256))),
  from_message: whole,
};

export const sessionLogs = nativeTool({
  name: "gsv__session_logs",
  description: "List conversations, or read one.",
  arguments: logArguments,
  accepts: {
    ...logArguments,
    action: v.optional(v.picklist(["list", "read", "recent", "list_sessions", "read_session", "search"])),
    query: v.optional(query),
    limit: whole,
    max_chars: whole,
  },
  repeatable: true,
  forGuests: false,
  isOffered: ({ memory }) => memory.sessionLogs,
  async run(args, context) {
    const { readLogs } = await import("../../self/read-logs.ts");
    const action = args.action ?? (args.session_id === undefined ? "list" : "read");
    return { ok: true, ...(await readLogs({ ...args, action }, context)) };
  },
});

const memoryArguments = {
  action: v.picklist(["remember", "correct", "forget"]),
  id: v.optional(memoryIdField),
  content: v.optional(memoryTextField),
};

export const memoryTool = nativeTool({
  name: "gsv__memory",
  description: "Remember one self-contained fact; correct or forget it by id.",
  arguments: memoryArguments,
  accepts: {
    ...memoryArguments,
    action: v.picklist([...memoryArguments.action.options, "recall"]),
    type: v.optional(v.picklist(memoryTypes)),
    query: v.optional(query),
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
