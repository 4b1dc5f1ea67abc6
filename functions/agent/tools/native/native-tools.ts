import { activate, deactivate, pin } from "./context-tools.ts";
import { cronTool } from "./cron-tool.ts";
import { memoryCheckpoint, memoryHistory } from "./history-tools.ts";
import { message } from "./message-tool.ts";
import type { NativeTool } from "./native-tool.ts";
import { memoryTool, myStats, recallTool, sessionLogs, whatDoIKnow, whoAmI } from "./self-tools.ts";
import { configGet, logsGet, sessionSend, sessionsList } from "./session-tools.ts";
import { transfer } from "./transfer-tool.ts";
import { webFetch, webSearch } from "./web-tools.ts";
import { deleteFile, editFile, readFile, writeFile } from "./workspace-tools.ts";

/** The gateway's own tools. Owners may use all of them. */
export const nativeTools: readonly NativeTool[] = [
  readFile,
  writeFile,
  editFile,
  deleteFile,
  configGet,
  logsGet,
  message,
  cronTool,
  transfer,
  sessionsList,
  sessionSend,
  activate,
  deactivate,
  pin,
  recallTool,
  sessionLogs,
  whoAmI,
  whatDoIKnow,
  myStats,
  memoryTool,
  memoryHistory,
  memoryCheckpoint,
  webFetch,
  webSearch,
];
