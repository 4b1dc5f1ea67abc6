import { stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { basename as remoteName } from "node:path/posix";
import { setTimeout as delay } from "node:timers/promises";
import type { TransferStatus } from "../../../shared/protocol/results.ts";
import { sizeText } from "../../../shared/runtime/size-text.ts";
import { Failure, usage } from "../../app/failure.ts";
import { text } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { untilSignal } from "../../app/signals.ts";
import { type Terminal, writeText } from "../../app/terminal.ts";
import { RequestError } from "../../gateway/connection.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";
import { FileTransfers } from "../../node/transfer/file-transfers.ts";

/** Bounds of the interval at which a transfer's status is polled, in milliseconds. */
const pollMs = { first: 100, max: 2000 };

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

/** Sends or receives this machine's file of the transfer, and no other file. */
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
 * Begins a transfer, or continues one that an earlier command began, and waits until it ends. A signal cancels it.
 * @returns the final status; `failed` with the error `cancelled` after a signal
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
    for (let wait = pollMs.first; status.status === "running"; wait = Math.min(wait * 1.5, pollMs.max)) {
      progress.show(status);
      const { transferId } = status;
      if ((await Promise.race([delay(wait), stopped])) === "stopped") {
        await gateway.request("transfer.cancel", { transferId }).catch(() => {});
        return { ...status, status: "failed", error: "cancelled" };
      }
      status = (await unlessLost(gateway.request("transfer.status", { transferId }))) ?? status;
      // After a reconnect, open the transfer again, so that the gateway resends this machine's events.
      if (isNew && status.status === "running")
        status = (await unlessLost(gateway.request("transfer.open", asked))) ?? status;
      isNew = false;
    }
    return status;
  } finally {
    unsubscribe();
  }
}

/** Undefined when the connection was lost. It reconnects automatically. */
async function unlessLost(request: Promise<TransferStatus>): Promise<TransferStatus | undefined> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof RequestError && error.retryable) return undefined;
    throw error;
  }
}

/** Waits for this machine's steps. @throws Failure when the transfer failed, after removing the partial file */
async function finish(
  own: FileTransfers,
  { only }: CopyEnds,
  { transferId, status, error }: TransferStatus,
): Promise<void> {
  if (status === "done") return own.settled();
  if (only.received !== undefined) await own.cancel(transferId, only.received);
  throw new Failure(error === "cancelled" ? "cancelled" : "transfer", error ?? "the transfer failed");
}

/** The ends of the transfer, and this machine's file in it. */
interface CopyEnds {
  source: string;
  destination: string;
  only: { sent?: string; received?: string };
}

/** Whether an end is remote: `laptop:/path` or `gsv:path`. A path with a slash before its colon is local, as for scp. */
const isElsewhere = (end: string) => /^[^/:]+:/.test(end);

/**
 * Parses the arguments of `gsv cp`. In a local folder, the file gets the source's name.
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

/** Formats the progress as one line. A byte counts half when it is stored, and fully when it has arrived. */
export function progressText(
  { sent, received, size }: Pick<TransferStatus, "sent" | "received" | "size">,
  bytesPerSecond: number,
): string {
  if (size === undefined) return "requesting the file";
  const moved = (sent + received) / 2;
  const share = size === 0 ? 1 : moved / size;
  const bar = "#".repeat(Math.round(share * barWidth)).padEnd(barWidth, "-");
  const rate = bytesPerSecond > 0 ? `  ${sizeText(Math.round(bytesPerSecond))}/s` : "";
  const part = sent < size ? `sent ${sizeText(sent)}` : `received ${sizeText(received)}`;
  return `[${bar}] ${Math.floor(share * 100)}%  ${part} of ${sizeText(size)}${rate}`;
}

/** A progress line on standard error. Shown only on a terminal. */
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
      // Bytes that an earlier command moved do not count for the speed.
      before ??= status.sent + status.received;
      const rate = (status.sent + status.received - before) / Math.max(0.1, (Date.now() - startedAt) / 1000);
      write(progressText(status, rate));
    },
    clear: () => write(""),
  };
}
