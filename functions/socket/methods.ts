import type { MethodTable } from "./gateway.ts";
import { bridgeMethods } from "./methods/bridge.ts";
import { channelMethods } from "./methods/channels.ts";
import { chatMethods } from "./methods/chat.ts";
import { configMethods } from "./methods/config.ts";
import { historyMethods } from "./methods/history.ts";
import { logMethods } from "./methods/logs.ts";
import { pairingMethods } from "./methods/pairing.ts";
import { payloadMethods } from "./methods/payloads.ts";
import { sessionMethods } from "./methods/sessions.ts";
import { tokenMethods } from "./methods/tokens.ts";
import { toolMethods } from "./methods/tools.ts";
import { workspaceMethods } from "./methods/workspace.ts";

/** Every method of the protocol and its handler. Total: a method without a handler does not compile. */
export const methodTable: MethodTable = {
  ...chatMethods,
  ...toolMethods,
  ...logMethods,
  ...configMethods,
  ...sessionMethods,
  ...historyMethods,
  ...workspaceMethods,
  ...channelMethods,
  ...bridgeMethods,
  ...pairingMethods,
  ...payloadMethods,
  ...tokenMethods,
};
