import { setTimeout as delay } from "node:timers/promises";
import type { TransferStatus } from "../../../shared/protocol/results.ts";
import { sizeText } from "../../../shared/runtime/size-text.ts";
import { Failure } from "../../app/failure.ts";
import { text } from "../../app/options.ts";
import { untilSignal } from "../../app/process/signals.ts";
import type { Action } from "../../app/program.ts";
import { RequestError } from "../../gateway/connection.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";
import { FileTransfers } from "../../node/transfer/file-transfers.ts";
import { type CopyEnds, readEnds } from "./copy-ends.ts";
import { type Progress, startProgress } from "./copy-progress.ts";

/** Shortest and longest time between two questions of how a transfer goes, in milliseconds. */
const askEvery = { first: 100, most: 2000 };

const transferEvents = [
  "transfer.send",
  "transfer.receive",
  "transfer.start",
  "transfer.end",
  "transfer.cancel",
] as const;

export const copyFile: Action = async (context, { args, options }) => {
  const startedAt = Date.now();
  const { terminal } = context;
  const ends = await readEnds(args[0] ?? "", args[1] ?? "", terminal.cwd);
  const gateway = await context.gateway();
  const progress = startProgress(terminal, !context.json);
  const own = takePart(gateway, ends.only, terminal.cwd);
  const signal = untilSignal();
  try {
    const asked = { source: ends.source, destination: ends.destination, agentId: text(options.agent) };
    const status = await follow(gateway, asked, progress, signal.received);
    progress.clear();
    await finish(own, ends, status);
    const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
    const from = `${args[0]} to ${status.destination.replace(/^:/, "")}`;
    context.print(status, `copied ${from}: ${sizeText(status.size ?? 0)} in ${seconds} s`);
  } finally {
    progress.clear();
    signal.dispose();
    own.pause();
  }
};

/** This machine's part in the transfer: it serves that one file. */
function takePart(gateway: Gateway, only: CopyEnds["only"], base: string): FileTransfers {
  const transfers = new FileTransfers({
    gateway: { request: (method, params) => gateway.request(method, params) },
    base,
    only,
    log: () => {},
  });
  for (const event of transferEvents) gateway.onEvent(event, (payload) => transfers.handle(event, payload));
  return transfers;
}

/**
 * Begins a transfer, or goes on with one that an earlier command has begun, and follows it to its end.
 * @throws Failure when a signal comes: the transfer is cancelled
 */
async function follow(
  gateway: Gateway,
  asked: { source: string; destination: string; agentId: string | undefined },
  progress: Progress,
  signal: Promise<unknown>,
): Promise<TransferStatus> {
  let isNew = false;
  const unsubscribe = gateway.onState(({ status }) => {
    isNew ||= status === "connected";
  });
  const stopped = signal.then(() => "stopped" as const);
  try {
    let status = await gateway.request("transfer.open", asked);
    for (let wait = askEvery.first; status.status === "running"; wait = Math.min(wait * 1.5, askEvery.most)) {
      progress.show(status);
      const { transferId } = status;
      if ((await Promise.race([delay(wait), stopped])) === "stopped") {
        await gateway.request("transfer.cancel", { transferId }).catch(() => {});
        return { ...status, status: "failed", error: "cancelled" };
      }
      status = (await unlessLost(gateway.request("transfer.status", { transferId }))) ?? status;
      // On a new connection this machine is told anew what it has to do.
      if (isNew && status.status === "running")
        status = (await unlessLost(gateway.request("transfer.open", asked))) ?? status;
      isNew = false;
    }
    return status;
  } finally {
    unsubscribe();
  }
}

/** Undefined when the connection was lost, which comes back by itself. */
async function unlessLost(request: Promise<TransferStatus>): Promise<TransferStatus | undefined> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof RequestError && error.retryable) return undefined;
    throw error;
  }
}

/** @throws Failure when the transfer has failed; nothing of it is left on this machine then */
async function finish(
  own: FileTransfers,
  { only }: CopyEnds,
  { transferId, status, error }: TransferStatus,
): Promise<void> {
  if (status === "done") return own.settled();
  if (only.received !== undefined) await own.cancel(transferId, only.received);
  throw new Failure(error === "cancelled" ? "cancelled" : "transfer", error ?? "the transfer failed");
}
