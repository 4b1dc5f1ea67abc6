import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { resolvePath } from "../files/file-paths.ts";
import { explainFaults } from "../files/node-files.ts";
import { content, text } from "./arguments.ts";
import { nodeTool } from "./node-tool.ts";

/** Writes a file; docs/reference/protocol.md, "Tools", Write. */
export const writeTool = nodeTool({
  name: "Write",
  description:
    "Write a text file on this machine, replacing what it held; missing folders are created. To change a part of a " +
    "file use Edit.",
  capability: "filesystem.write",
  arguments: {
    path: text("Absolute, ~/…, or relative to the workspace."),
    content: content("The whole content, written as UTF-8."),
  },
  async run(args, context) {
    const path = resolvePath(context.workspace, args.path);
    const { content } = args;
    await context.files.run(path, () =>
      explainFaults("Write", path, async () => {
        await mkdir(dirname(path), { recursive: true });
        await writeFile(path, content);
      }),
    );
    return { path, bytes: Buffer.byteLength(content) };
  },
});
