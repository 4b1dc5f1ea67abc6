import type { MethodTable } from "../gateway.ts";
import { bridgeMethods } from "./bridge.ts";
import { channelMethods } from "./channels.ts";
import { chatMethods } from "./chat.ts";
import { configMethods } from "./config.ts";
import { cronMethods } from "./cron.ts";
import { heartbeatMethods } from "./heartbeat.ts";
import { historyMethods } from "./history.ts";
import { contextMethods } from "./memory/context.ts";
import { dreamMethods } from "./memory/dreaming.ts";
import { memoryMethods } from "./memory/memory.ts";
import { objectMethods } from "./memory/objects.ts";
import { searchMethods } from "./memory/search.ts";
import { logMethods } from "./node/logs.ts";
import { nodeMethods } from "./node/nodes.ts";
import { probeMethods } from "./node/probes.ts";
import { toolMethods } from "./node/tools.ts";
import { pairingMethods } from "./pairing.ts";
import { payloadMethods } from "./payloads.ts";
import { sessionMethods } from "./sessions.ts";
import { skillMethods } from "./skills.ts";
import { tokenMethods } from "./tokens.ts";
import { transferMethods } from "./transfer.ts";
import { workspaceMethods } from "./workspace/workspace.ts";
import { workspaceHistoryMethods } from "./workspace/workspace-history.ts";

/**
 * Every method of the protocol and its handler. The table is total: a method without a handler is a type
 * error.
 */
export const methodTable: MethodTable = {
  ...chatMethods,
  ...toolMethods,
  ...logMethods,
  ...nodeMethods,
  ...probeMethods,
  ...skillMethods,
  ...transferMethods,
  ...configMethods,
  ...heartbeatMethods,
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
  ...payloadMethods,
  ...tokenMethods,
};
