import { isRecord, parseRecord } from "../../../local/http/json.ts";
import { decodeCallAddress } from "../../../shared/session/call-address.ts";
import { sessionOfUpdate } from "./channel.ts";

/** What an invocation is about. */
export interface Task {
  functionName: string;
  /** The session, where the event names one; empty otherwise. */
  sessionKey: string;
  /** Which of the function's kinds of work: `chat.send`, `tool.result {call}`, `$connect`, `agent`, `sweep`. */
  occasion: string;
}

/** Reads what an event asks a function to do. `callName` names a call by its id, the same in every run. */
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
