import * as v from "valibot";
import { memoryIdField, memoryTextField, memoryTypes } from "../../../../shared/protocol/memory-schemas.ts";
import { count } from "../../../../shared/protocol/schemas.ts";
import { nativeTool } from "./native-tool.ts";

export const memoryTool = nativeTool({
  name: "gsv__memory",
  description:
    "Your memories: recall what fits a question, remember one fact a call, forget one by its id. " +
    "remember with supersedes corrects the memory of that id. What was said in conversations is in gsv__session_logs.",
  arguments: {
    action: v.picklist(["recall", "remember", "forget"]),
    query: v.optional(v.pipe(v.string(), v.maxLength(2000))),
    content: v.optional(v.pipe(memoryTextField, v.description("One fact, as a sentence that stands alone"))),
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
