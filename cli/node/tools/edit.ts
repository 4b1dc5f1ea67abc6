import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { resolvePath } from "../files/file-paths.ts";
import { explainFaults, inspectFile } from "../files/node-files.ts";
import { content, flag, text } from "./arguments.ts";
import { nodeTool } from "./node-tool.ts";

const maxFileBytes = 50 * 1024 * 1024;

/** Replaces text in a file; docs/reference/protocol.md, "Tools", Edit. Concurrent edits of one file run one after the other. */
export const editTool = nodeTool({
  name: "Edit",
  description:
    "Replace text in a file of this machine. oldString must be the file's exact text, without Read's line numbers, and " +
    "occur once, unless replaceAll is true.",
  capability: "filesystem.edit",
  arguments: {
    path: text(),
    oldString: text(),
    newString: content(),
    replaceAll: flag(),
  },
  async run(args, context) {
    const { oldString, newString, replaceAll } = args;
    const path = resolvePath(context.workspace, args.path);
    if (oldString === newString) throw new Error("Edit: newString must differ from oldString");
    return context.files.run(path, async () => {
      const parts = (await readText(path)).split(oldString);
      const count = parts.length - 1;
      if (count === 0) throw new Error(`Edit: oldString was not found in ${path} (0 occurrences)`);
      if (count > 1 && !replaceAll) {
        throw new Error(
          `Edit: oldString occurs ${count} times in ${path}; include more of the text around it, or set replaceAll`,
        );
      }
      await explainFaults("Edit", path, () => writeFile(path, parts.join(newString)));
      return { path, replacements: count };
    });
  },
});

/** Reads the file's text. Refuses a file that is not UTF-8, because writing it back would change it. */
async function readText(path: string): Promise<string> {
  const { size } = await inspectFile("Edit", path);
  if (size > maxFileBytes) {
    throw new Error(`Edit: ${path} has ${size} bytes; files up to ${maxFileBytes} bytes can be edited`);
  }
  const bytes = await explainFaults("Edit", path, () => readFile(path));
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Error(`Edit: ${path} is not UTF-8 text`);
  }
}

/** Writes a file; docs/reference/protocol.md, "Tools", Write. */
export const writeTool = nodeTool({
  name: "Write",
  description:
    "Write a whole UTF-8 text file on this machine; missing folders are created. To change a part, use Edit.",
  capability: "filesystem.write",
  arguments: {
    path: text(),
    content: content(),
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
