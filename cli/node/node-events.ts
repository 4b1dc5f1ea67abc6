import type { Events } from "../../shared/protocol/events.ts";
import type { Connection } from "../gateway/connection.ts";
import type { LogBuffer } from "./log-buffer.ts";
import { fieldsOf, type NodeCalls } from "./running-calls.ts";
import { findBins } from "./shell/bins.ts";
import type { FileTransfers, TransferEvent } from "./transfer/file-transfers.ts";

/** The parts of the node that event handlers use. */
interface NodeParts {
  connection: Connection;
  calls: NodeCalls;
  logs: LogBuffer;
  transfers: FileTransfers;
  /** Environment of the commands. */
  environment: NodeJS.ProcessEnv;
}

/** Handles one event. The gateway's payload is not validated. A handler never throws. */
type NodeEventHandler<E extends keyof Events> = (node: NodeParts, payload: Events[E]) => void;

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

/** Maximum JSON size of the log lines in one frame, in bytes. */
const maxLogBytes = 120 * 1024;

/** Answers `logs.get` with the newest lines of the node's log. */
function answerLogs({ connection, logs }: NodeParts, payload: Events["logs.get"]): void {
  const { callId, lines } = fieldsOf(payload);
  if (typeof callId !== "string") return;
  const count = typeof lines === "number" && lines > 0 ? Math.floor(lines) : 100;
  connection.request("logs.result", { callId, ...logs.newest(count, maxLogBytes) }).catch(() => {
    // After a lost connection the answer is not needed.
  });
}

/** Answers `node.ping`: another process wants this node's id, and gets it only if this process does not answer. */
function answerPing({ connection }: NodeParts): void {
  connection.request("node.pong").catch(() => {
    // After a lost connection the answer is not needed.
  });
}

/** Bounds and default of a probe's timeout, in milliseconds. The gateway may request a timeout within them. */
const probeMs = { min: 1000, default: 10_000, max: 120_000 };

/** Answers `node.probe` with the programs that the node's shell finds. */
function answerProbe({ connection, environment }: NodeParts, payload: Events["node.probe"]): void {
  const { probeId, kind, bins, timeoutMs } = fieldsOf(payload);
  if (typeof probeId !== "string") return;
  const find = async () => {
    if (kind !== "bins" || !Array.isArray(bins)) throw new Error("only probes of kind bins are supported");
    const names = bins.filter((name) => typeof name === "string");
    const requestedMs = typeof timeoutMs === "number" ? timeoutMs : probeMs.default;
    const maxMs = Math.min(probeMs.max, Math.max(probeMs.min, requestedMs));
    return { ok: true, bins: await findBins(names, maxMs, environment) };
  };
  find()
    .catch((error: Error) => ({ ok: false, error: error.message }))
    .then((found) => connection.request("node.probe.result", { probeId, ...found }))
    .catch(() => {
      // After a lost connection the answer is not needed.
    });
}
