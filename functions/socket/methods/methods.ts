import type { MethodTable } from "../gateway.ts";
import { approvalMethods } from "./approvals.ts";
import { bridgeMethods } from "./bridge.ts";
import { channelMethods, pairingMethods } from "./channels.ts";
import { chatMethods } from "./chat.ts";
import { configMethods } from "./config.ts";
import { contextMethods } from "./context.ts";
import { cronMethods } from "./cron.ts";
import { heartbeatMethods } from "./heartbeat.ts";
import { historyMethods } from "./history.ts";
import { mcpMethods } from "./mcp.ts";
import { mediaMethods } from "./media.ts";
import { dreamMethods, memoryMethods } from "./memory.ts";
import { logMethods, nodeMethods, probeMethods } from "./nodes.ts";
import { objectMethods } from "./objects.ts";
import { searchMethods } from "./search.ts";
import { sessionMethods } from "./sessions.ts";
import { skillMethods } from "./skills.ts";
import { deviceMethods, programMethods, tokenMethods } from "./tokens.ts";
import { toolMethods } from "./tools.ts";
import { payloadMethods, transferMethods } from "./transfer.ts";
import { usageMethods } from "./usage.ts";
import { workspaceHistoryMethods, workspaceMethods } from "./workspace.ts";

/** Every method of the protocol and its handler. A method without a handler is a type error. */
export const methodTable: MethodTable = {
  ...chatMethods,
  ...mediaMethods,
  ...toolMethods,
  ...logMethods,
  ...nodeMethods,
  ...probeMethods,
  ...skillMethods,
  ...transferMethods,
  ...configMethods,
  ...heartbeatMethods,
  ...usageMethods,
  ...sessionMethods,
  ...historyMethods,
  ...objectMethods,
  ...contextMethods,
  ...searchMethods,
  ...workspaceMethods,
  ...workspaceHistoryMethods,
  ...memoryMethods,
  ...dreamMethods,
  ...channelMethods,
  ...bridgeMethods,
  ...pairingMethods,
  ...cronMethods,
  ...approvalMethods,
  ...mcpMethods,
  ...payloadMethods,
  ...deviceMethods,
  ...tokenMethods,
  ...programMethods,
};
