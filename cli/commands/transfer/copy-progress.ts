import type { TransferStatus } from "../../../shared/protocol/results.ts";
import { sizeText } from "../../../shared/runtime/size-text.ts";
import { type Terminal, writeText } from "../../app/terminal.ts";

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
export interface Progress {
  show(status: TransferStatus): void;
  clear(): void;
}

export function startProgress({ stderr }: Terminal, isWanted: boolean): Progress {
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
