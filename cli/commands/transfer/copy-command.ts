import { stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { basename as remoteName } from "node:path/posix";
import { setTimeout as delay } from "node:timers/promises";
import type { TransferStatus } from "../../../shared/protocol/results.ts";
import { sizeText } from "../../../shared/runtime/size-text.ts";
import { Failure, usage } from "../../app/failure.ts";
import { text } from "../../app/options.ts";
import { untilSignal } from "../../app/process/signals.ts";
import type { Action } from "../../app/program.ts";
import { type Terminal, writeText } from "../../app/terminal.ts";
import { RequestError } from "../../gateway/connection.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";
import { FileTransfers } from "../../node/transfer/file-transfers.ts";

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
  const own = selectDirection(gateway, ends.only, terminal.cwd);
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
function selectDirection(gateway: Gateway, only: CopyEnds["only"], base: string): FileTransfers {
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

/** What the gateway is asked for, and the one file of this machine that takes part. */
interface CopyEnds {
  source: string;
  destination: string;
  only: { sent?: string; received?: string };
}

/** `laptop:/path` and `gsv:path`; a path with a slash before its colon is local, as for scp. */
const isElsewhere = (end: string) => /^[^/:]+:/.test(end);

/**
 * Reads the arguments of `gsv cp`. A local folder as destination gets the source's name.
 * @throws Failure (usage) when both are local
 */
async function readEnds(from: string, to: string, cwd: string): Promise<CopyEnds> {
  if (!isElsewhere(from) && !isElsewhere(to))
    throw usage(
      "one side must be a node (laptop:/path) or the workspace (gsv:path); `gsv tools list` shows the nodes",
    );
  if (!isElsewhere(from)) {
    const path = resolve(cwd, from);
    return { source: `:${path}`, destination: to, only: { sent: path } };
  }
  if (isElsewhere(to)) return { source: from, destination: to, only: {} };
  const named = resolve(cwd, to);
  const isFolder = to.endsWith("/") || (await stat(named).catch(() => undefined))?.isDirectory();
  const path = isFolder ? join(named, basename(remoteName(from.slice(from.indexOf(":") + 1)))) : named;
  return { source: from, destination: `:${path}`, only: { received: path } };
}

const barWidth = 24;

/** One line: how much of a transfer is done. A byte counts half when it is stored, and whole when it has arrived. */
export function progressText(
  { sent, received, size }: Pick<TransferStatus, "sent" | "received" | "size">,
  bytesPerSecond: number,
): string {
  if (size === undefined) return "asking for the file";
  const moved = (sent + received) / 2;
  const share = size === 0 ? 1 : moved / size;
  const bar = "#".repeat(Math.round(share * barWidth)).padEnd(barWidth, "-");
  const rate = bytesPerSecond > 0 ? `  ${sizeText(Math.round(bytesPerSecond))}/s` : "";
  const part = sent < size ? `sent ${sizeText(sent)}` : `received ${sizeText(received)}`;
  return `[${bar}] ${Math.floor(share * 100)}%  ${part} of ${sizeText(size)}${rate}`;
}

/** A progress line on standard error, for terminals alone. */
interface Progress {
  show(status: TransferStatus): void;
  clear(): void;
}

function startProgress({ stderr }: Terminal, isWanted: boolean): Progress {
  if (!isWanted || stderr.isTTY !== true) return { show: () => {}, clear: () => {} };
  const startedAt = Date.now();
  let before: number | undefined;
  const write = (line: string) => {
    stderr.write("\r\u001b[K");
    writeText(stderr, line);
  };
  return {
    show(status) {
      // What an earlier command has moved does not count for the speed.
      before ??= status.sent + status.received;
      const rate = (status.sent + status.received - before) / Math.max(0.1, (Date.now() - startedAt) / 1000);
      write(progressText(status, rate));
    },
    clear: () => write(""),
  };
}
