import { answerLogs } from "./logs-get.ts";
import type { NodeEventHandler, NodeParts } from "./node-parts.ts";
import { answerPing } from "./node-ping.ts";
import { answerProbe } from "./node-probe.ts";

type NodeEvents = {
  [E in "tool.invoke" | "tool.cancel" | "logs.get" | "node.probe" | "node.ping"]: NodeEventHandler<E>;
};

/** Every event that a node handles. Others are ignored. */
const nodeEvents: NodeEvents = {
  "tool.invoke": ({ calls }, payload) => calls.invoke(payload),
  "tool.cancel": ({ calls }, payload) => calls.cancel(payload),
  "logs.get": answerLogs,
  "node.probe": answerProbe,
  "node.ping": answerPing,
};

/** Calls the handler of each event that arrives on the node's connection. */
export function handleEvents(node: NodeParts): void {
  for (const event of Object.keys(nodeEvents) as (keyof NodeEvents)[]) subscribe(node, event);
}

function subscribe<E extends keyof NodeEvents>(node: NodeParts, event: E): void {
  const handle: NodeEventHandler<E> = nodeEvents[event];
  node.connection.onEvent(event, (payload) => handle(node, payload));
}
