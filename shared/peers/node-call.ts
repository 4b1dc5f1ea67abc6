import type { Events } from "../protocol/events.ts";
import { type EventFrame, eventFrame } from "../protocol/frames.ts";

/** A call to a node: the event and its payload without the call id. */
export type NodeCall =
  | { event: "tool.invoke"; payload: Omit<Events["tool.invoke"], "callId"> }
  | { event: "logs.get"; payload: Omit<Events["logs.get"], "callId"> };

/** The event frame of a call. The node's result carries `callId`. */
export function nodeCallFrame(callId: string, call: NodeCall): EventFrame {
  return call.event === "tool.invoke"
    ? eventFrame("tool.invoke", { callId, ...call.payload })
    : eventFrame("logs.get", { callId, ...call.payload });
}
