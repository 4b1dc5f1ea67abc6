import { readFile } from "node:fs/promises";
import * as v from "valibot";
import { imageTypeOf } from "../../../shared/media/image-format.ts";
import { resolvePath } from "../files/file-paths.ts";
import { explainFaults, inspectFile, isBinary, lineBatches } from "../files/node-files.ts";
import { jsonBytes } from "../truncate.ts";
import { integerBetween, integerFrom, text } from "./arguments.ts";
import { nodeTool, type ToolResult } from "./node-tool.ts";

const maxImageBytes = 10 * 1024 * 1024;
const defaultLines = 2000;
const maxLines = 100_000;
const maxLineChars = 10_000;
/** Maximum size of the content as UTF-8 JSON, in bytes. */
const maxContentBytes = 100_000;

/** Reads a file; docs/reference/protocol.md, "Tools", Read. `lines` is the number of lines in `content`. */
export const readTool = nodeTool({
  name: "Read",
  description:
    "Read a text file of this machine with numbered lines (from 1), up to 100 KB, or an image (PNG, JPEG, GIF, WebP, up " +
    "to 10 MB). If truncated, go on at nextOffset.",
  capability: "filesystem.read",
  arguments: {
    path: text("Absolute, ~/…, or relative to the workspace"),
    offset: v.optional(integerFrom(0, "Lines to skip. Default: 0")),
    limit: v.optional(integerBetween(1, maxLines, "Lines. Default: 2000")),
  },
  async run(args, context) {
    const path = resolvePath(context.workspace, args.path);
    const offset = args.offset ?? 0;
    const limit = args.limit ?? defaultLines;
    const { size, sample } = await inspectFile("Read", path);
    const mimeType = imageTypeOf(sample);
    if (mimeType !== undefined) return readImage(path, mimeType, size);
    if (isBinary(sample)) {
      throw new Error(`Read: ${path} is a binary file (${size} bytes) and cannot be shown as text`);
    }
    return explainFaults("Read", path, () => readText(path, offset, limit));
  },
});

async function readImage(path: string, mimeType: string, size: number): Promise<ToolResult> {
  if (size > maxImageBytes) {
    throw new Error(
      `Read: ${path} is an image of ${size} bytes; images up to ${maxImageBytes} bytes can be shown`,
    );
  }
  const data = await explainFaults("Read", path, () => readFile(path, "base64"));
  return {
    content: [
      { type: "text", text: `${path} (${mimeType}, ${size} bytes)` },
      { type: "image", data, mimeType },
    ],
  };
}

async function readText(path: string, offset: number, limit: number): Promise<ToolResult> {
  const shown: string[] = [];
  let bytes = 0;
  let seen = 0;
  for await (const batch of lineBatches(path, maxLineChars)) {
    for (const line of batch) {
      const number = ++seen;
      if (number <= offset) continue;
      const numbered = `${number}\t${line}`;
      bytes += jsonBytes(numbered);
      if (shown.length === limit || bytes > maxContentBytes) {
        return {
          path,
          content: shown.join("\n"),
          lines: shown.length,
          truncated: true,
          nextOffset: number - 1,
        };
      }
      shown.push(numbered);
    }
  }
  return { path, content: shown.join("\n"), lines: shown.length, totalLines: seen };
}
