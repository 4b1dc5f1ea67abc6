import * as v from "valibot";
import { nativeTool } from "./native-tool.ts";

export const whoAmI = nativeTool({
  name: "gsv__who_am_i",
  description: "Who you are: your id, model, workspace, identity, and the beginning of SOUL.md.",
  arguments: {},
  repeatable: true,
  forGuests: false,
  isOffered: ({ memory }) => memory.selfReport,
  async run(_, context) {
    const report = await import("../../self/self-report.ts");
    return { ok: true, result: await report.whoAmI(context) };
  },
});

export const whatDoIKnow = nativeTool({
  name: "gsv__what_do_i_know",
  description: "MEMORY.md by sections.",
  arguments: {
    section: v.optional(v.pipe(v.string(), v.maxLength(256), v.description("Part of a heading"))),
    limit: v.optional(v.pipe(v.number(), v.integer(), v.description("Sections: default 20, most 50"))),
  },
  repeatable: true,
  forGuests: false,
  isOffered: ({ memory }) => memory.selfReport,
  async run(args, context) {
    const report = await import("../../self/self-report.ts");
    return { ok: true, result: await report.whatDoIKnow(args, context) };
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
