import { deleteFile, editFile, readFile, writeFile } from "./files.ts";
import { configGet, logsGet } from "./gateway.ts";
import { message } from "./message.ts";
import type { NativeTool } from "./native.ts";

/** The tools that the gateway itself offers to every agent, by name. */
export const nativeTools: Record<string, NativeTool> = Object.fromEntries(
  [readFile, writeFile, editFile, deleteFile, configGet, logsGet, message].map((tool) => [
    tool.definition.name,
    tool,
  ]),
);
