import type { TransferEvent } from "../transfer/file-transfers.ts";
import { answerLogs } from "./logs-get.ts";
import type { NodeEventHandler, NodeParts } from "./node-parts.ts";
import { answerPing } from "./node-ping.ts";
import { answerProbe } from "./node-probe.ts";

type NodeEvents = {
  [E in
    | "tool.invoke"
    | "tool.cancel"
    | "logs.get"
    | "node.probe"
    | "node.ping"
    | TransferEvent]: NodeEventHandler<E>;
};

/** Every event that a node handles. Others are ignored. */
const nodeEvents: NodeEvents = {
  "tool.invoke": ({ calls }, payload) => calls.invoke(payload),
  "tool.cancel": ({ calls }, payload) => calls.cancel(payload),
  "logs.get": answerLogs,
  "node.probe": answerProbe,
  "node.ping": answerPing,
  "transfer.send": ({ transfers }, payload) => transfers.handle("transfer.send", payload),
  "transfer.receive": ({ transfers }, payload) => transfers.handle("transfer.receive", payload),
  "transfer.start": ({ transfers }, payload) => transfers.handle("transfer.start", payload),
  "transfer.end": ({ transfers }, payload) => transfers.handle("transfer.end", payload),
  "transfer.cancel": ({ transfers }, payload) => transfers.handle("transfer.cancel", payload),
};

/** Calls the handler of each event that arrives on the node's connection. */
export function handleEvents(node: NodeParts): void {
  for (const event of Object.keys(nodeEvents) as (keyof NodeEvents)[]) subscribe(node, event);
}

function subscribe<E extends keyof NodeEvents>(node: NodeParts, event: E): void {
  const handle: NodeEventHandler<E> = nodeEvents[event];
  node.connection.onEvent(event, (payload) => handle(node, payload));
}
