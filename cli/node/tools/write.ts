import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { ToolDefinition } from "../../../shared/protocol/messages.ts";
import { resolvePath } from "../files/file-paths.ts";
import { explainFaults } from "../files/files.ts";
import { ToolArguments } from "./arguments.ts";
import type { ToolContext, ToolResult } from "./node-tool.ts";

export const definition: ToolDefinition = {
  name: "Write",
  description:
    "Write a text file on this machine, replacing what it held; missing folders are created. To change a part of a " +
    "file use Edit.",
  inputSchema: {
    type: "object",
    properties: {
      path: { type: "string", minLength: 1, description: "Absolute, ~/…, or relative to the workspace." },
      content: { type: "string", description: "The whole content, written as UTF-8." },
    },
    required: ["path", "content"],
  },
};

/** Writes a file; docs/protocol.md, "Tools", Write. */
export async function run(args: unknown, context: ToolContext): Promise<ToolResult> {
  const given = new ToolArguments("Write", args);
  const path = resolvePath(context.workspace, given.text("path"));
  const content = given.content("content");
  await context.files.run(path, () =>
    explainFaults("Write", path, async () => {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, content);
    }),
  );
  return { path, bytes: Buffer.byteLength(content) };
}
