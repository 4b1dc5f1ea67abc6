import type { Events } from "../protocol/events.ts";
import { type EventFrame, eventFrame } from "../protocol/frames.ts";

/** An event by which a node is asked for something, without the call's id. */
export type NodeCall =
  | { event: "tool.invoke"; payload: Omit<Events["tool.invoke"], "callId"> }
  | { event: "logs.get"; payload: Omit<Events["logs.get"], "callId"> };

/** The frame that asks a node. It answers with `callId`. */
export function nodeCallFrame(callId: string, call: NodeCall): EventFrame {
  return call.event === "tool.invoke"
    ? eventFrame("tool.invoke", { callId, ...call.payload })
    : eventFrame("logs.get", { callId, ...call.payload });
}
