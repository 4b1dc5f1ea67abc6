import { configGet, logsGet } from "./gateway-tools.ts";
import { message } from "./message-tool.ts";
import type { NativeTool } from "./native-tool.ts";
import { deleteFile, editFile, readFile, writeFile } from "./workspace-tools.ts";

/** The tools that the gateway itself offers to every agent, by name. */
export const nativeTools: Record<string, NativeTool> = Object.fromEntries(
  [readFile, writeFile, editFile, deleteFile, configGet, logsGet, message].map((tool) => [
    tool.definition.name,
    tool,
  ]),
);
