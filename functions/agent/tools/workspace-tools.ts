import * as v from "valibot";
import { checkReadable, checkWritable } from "../../../shared/workspace/privacy.ts";
import { nativeTool, objectSchema } from "./native-tool.ts";

const path = v.pipe(v.string(), v.minLength(1), v.maxLength(1024));
const pathProperty = {
  type: "string",
  description: "Path in your workspace, such as MEMORY.md or skills/x/SKILL.md",
};

export const readFile = nativeTool({
  definition: {
    name: "gsv__ReadFile",
    description:
      "Read a text file of your workspace. A path that ends in / (or an empty one) lists that folder.",
    inputSchema: objectSchema({ path: pathProperty }, ["path"]),
  },
  schema: v.object({ path: v.pipe(v.string(), v.maxLength(1024)) }),
  repeatable: true,
  async run(args, { agent, turn }) {
    checkReadable(turn.audience, args.path);
    if (args.path === "" || args.path.endsWith("/")) {
      return { ok: true, result: await agent.workspace.list(turn.agentId, args.path.replace(/\/$/, "")) };
    }
    return { ok: true, result: await agent.workspace.read(turn.agentId, args.path) };
  },
});

export const writeFile = nativeTool({
  definition: {
    name: "gsv__WriteFile",
    description: "Write a text file of your workspace, replacing what it held.",
    inputSchema: objectSchema({ path: pathProperty, content: { type: "string" } }, ["path", "content"]),
  },
  schema: v.object({ path, content: v.string() }),
  repeatable: true,
  async run(args, { agent, turn }) {
    checkWritable(turn.audience, args.path);
    return { ok: true, result: await agent.workspace.write(turn.agentId, args.path, args.content) };
  },
});

export const editFile = nativeTool({
  definition: {
    name: "gsv__EditFile",
    description:
      "Replace text in a file of your workspace. oldString must occur exactly once, unless replaceAll is true.",
    inputSchema: objectSchema(
      {
        path: pathProperty,
        oldString: { type: "string" },
        newString: { type: "string" },
        replaceAll: { type: "boolean" },
      },
      ["path", "oldString", "newString"],
    ),
  },
  schema: v.object({
    path,
    oldString: v.pipe(v.string(), v.minLength(1)),
    newString: v.string(),
    replaceAll: v.optional(v.boolean()),
  }),
  repeatable: false,
  async run(args, { agent, turn }) {
    checkWritable(turn.audience, args.path);
    return { ok: true, result: await agent.workspace.edit(turn.agentId, args.path, args) };
  },
});

export const deleteFile = nativeTool({
  definition: {
    name: "gsv__DeleteFile",
    description: "Delete a file of your workspace.",
    inputSchema: objectSchema({ path: pathProperty }, ["path"]),
  },
  schema: v.object({ path }),
  repeatable: false,
  async run(args, { agent, turn }) {
    checkWritable(turn.audience, args.path);
    return { ok: true, result: await agent.workspace.delete(turn.agentId, args.path) };
  },
});
