import * as v from "valibot";
import { checkReadable, checkWritable } from "../../../../shared/workspace/privacy.ts";
import { nativeTool } from "./native-tool.ts";

const anyPath = v.pipe(
  v.string(),
  v.maxLength(1024),
  v.description("Path in your workspace, such as MEMORY.md or skills/x/SKILL.md"),
);
const path = v.pipe(anyPath, v.minLength(1));

export const readFile = nativeTool({
  name: "gsv__ReadFile",
  description:
    "Read a text file of your workspace. A path that ends in / (or an empty one) lists that folder.",
  arguments: { path: anyPath },
  repeatable: true,
  forGuests: true,
  async run(args, { agent, turn }) {
    checkReadable(turn.audience, args.path);
    if (args.path === "" || args.path.endsWith("/")) {
      return { ok: true, result: await agent.workspace.list(turn.agentId, args.path.replace(/\/$/, "")) };
    }
    return { ok: true, result: await agent.workspace.read(turn.agentId, args.path) };
  },
});

export const writeFile = nativeTool({
  name: "gsv__WriteFile",
  description: "Write a text file of your workspace, replacing what it held.",
  arguments: { path, content: v.string() },
  repeatable: true,
  forGuests: false,
  async run(args, { agent, turn }) {
    checkWritable(turn.audience, args.path);
    return { ok: true, result: await agent.workspace.write(turn.agentId, args.path, args.content) };
  },
});

export const editFile = nativeTool({
  name: "gsv__EditFile",
  description:
    "Replace text in a file of your workspace. oldString must occur exactly once, unless replaceAll is true.",
  arguments: {
    path,
    oldString: v.pipe(v.string(), v.minLength(1)),
    newString: v.string(),
    replaceAll: v.optional(v.boolean()),
  },
  repeatable: false,
  forGuests: false,
  async run(args, { agent, turn }) {
    checkWritable(turn.audience, args.path);
    return { ok: true, result: await agent.workspace.edit(turn.agentId, args.path, args) };
  },
});

export const deleteFile = nativeTool({
  name: "gsv__DeleteFile",
  description: "Delete a file of your workspace.",
  arguments: { path },
  repeatable: false,
  forGuests: false,
  async run(args, { agent, turn }) {
    checkWritable(turn.audience, args.path);
    return { ok: true, result: await agent.workspace.delete(turn.agentId, args.path) };
  },
});
