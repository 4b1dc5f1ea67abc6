import { isRecord, parseRecord } from "../../../local/http/json.ts";
import { decodeCallAddress } from "../../../shared/session/call-address.ts";
import { sessionOfUpdate } from "./channel.ts";

/** What an invocation does. */
export interface Task {
  functionName: string;
  /** The session that the event names; empty if none. */
  sessionKey: string;
  /** The kind of work: `chat.send`, `tool.result {call}`, `$connect`, `agent`, `sweep`. */
  occasion: string;
}

/** Describes the work that an event requests. `callName` maps a call's id to a name that is the same in every run. */
export function readTask(functionName: string, event: unknown, callName: (callId: string) => string): Task {
  const fields = isRecord(event) ? event : {};
  const sessionKey = typeof fields.sessionKey === "string" ? fields.sessionKey : "";
  if (functionName === "socket") return { functionName, ...readSocketEvent(fields, callName) };
  if (functionName === "webhook")
    return { functionName, sessionKey: sessionOfUpdate(fields.body) ?? "", occasion: functionName };
  return { functionName, sessionKey, occasion: String(fields.kind ?? functionName) };
}

function readSocketEvent(event: Record<string, unknown>, callName: (callId: string) => string) {
  const context = isRecord(event.requestContext) ? event.requestContext : {};
  const frame = typeof event.body === "string" ? parseRecord(event.body) : undefined;
  if (frame === undefined) return { sessionKey: "", occasion: String(context.routeKey) };
  const occasion = String(frame.method);
  const params = isRecord(frame.params) ? frame.params : {};
  if (typeof params.sessionKey === "string") return { sessionKey: params.sessionKey, occasion };
  const address = typeof params.callId === "string" ? decodeCallAddress(params.callId) : undefined;
  if (!address) return { sessionKey: "", occasion };
  return { sessionKey: address.sessionKey, occasion: `${occasion} ${callName(address.callId)}` };
}
