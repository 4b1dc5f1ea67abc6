import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import type { Events } from "../../../shared/protocol/events.ts";
import { resolvePath } from "../files/file-paths.ts";
import { explainFaults, inspectFile } from "../files/node-files.ts";
import {
  type CallStorage,
  PartLink,
  TransferEnded,
  type TransferGateway,
  TransferPaused,
} from "./part-link.ts";
import { dropPartial, type FreeBytes, prepareFile, receiveFile } from "./receive-file.ts";

export type TransferEvent = Extract<keyof Events, `transfer.${string}`>;

type Receive = Events["transfer.receive"];
type Start = Events["transfer.start"];

export interface FileTransfersOptions {
  gateway: TransferGateway;
  /** Base folder of relative paths. */
  base: string;
  log(line: string): void;
  /** The only files that may be sent and received, absolute. Default: any. */
  only?: { sent?: string; received?: string };
  storage?: CallStorage;
  freeBytes?: FreeBytes;
  /** Max delay before a request is repeated, in milliseconds. */
  maxWaitMs?: number;
}

/**
 * Sends and receives the files of one machine. Each event describes one step completely, so that a restarted process
 * continues a transfer. An event for a step that is already running is ignored.
 */
export class FileTransfers {
  readonly #options: FileTransfersOptions;
  /** The running steps, by transfer and event. */
  readonly #running = new Map<string, { abort: AbortController; ended: Promise<void> }>();

  constructor(options: FileTransfersOptions) {
    this.#options = options;
  }

  /** Handles an event. Never throws: errors are reported to the gateway. */
  handle<E extends TransferEvent>(event: E, payload: Events[E]): void {
    const { transferId, path } = payload;
    if (event === "transfer.cancel") return void this.cancel(transferId, path);
    const key = `${transferId} ${event}`;
    if (this.#running.has(key)) return;
    const abort = new AbortController();
    const ended = this.#step(event, payload, new PartLink(transferId, abort.signal, this.#options))
      .catch((error: Error) => this.#options.log(`transfer ${transferId} ended: ${error.message}`))
      .finally(() => this.#running.delete(key));
    this.#running.set(key, { abort, ended });
  }

  /** Stops all transfers. They continue if this machine restarts before the gateway gives them up. */
  pause(): void {
    for (const { abort } of this.#running.values()) abort.abort(new TransferPaused("paused"));
  }

  /** Resolves when no step is running. */
  async settled(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }

  /** Stops the steps of a transfer and removes its partial file. */
  async cancel(transferId: number, path: string): Promise<void> {
    const own = [...this.#running].filter(([key]) => key.startsWith(`${transferId} `));
    for (const [, { abort }] of own) abort.abort(new TransferEnded("cancelled"));
    await Promise.all(own.map(([, { ended }]) => ended));
    await dropPartial({ transferId, path: resolvePath(this.#options.base, path) });
  }

  async #step(event: TransferEvent, payload: Events[TransferEvent], link: PartLink): Promise<void> {
    const { transferId } = payload;
    const path = resolvePath(this.#options.base, payload.path);
    this.#options.log(`transfer ${transferId} ${event.slice("transfer.".length)}`);
    switch (event) {
      case "transfer.send":
        return link.report("transfer.meta", await resultOrError(() => this.#describe(path)));
      case "transfer.receive":
        return link.report(
          "transfer.accept",
          await resultOrError(() => this.#prepare(path, payload as Receive)),
        );
      case "transfer.start":
        return link.report(
          "transfer.complete",
          await resultOrError(() => this.#send(path, payload as Start, link)),
        );
      case "transfer.end":
        return this.#receive(path, payload as Events["transfer.end"], link);
      case "transfer.cancel":
        return undefined;
    }
  }

  async #describe(path: string): Promise<{ size: number }> {
    this.#check("sent", path);
    return describeFile(path);
  }

  async #prepare(path: string, { transferId, size }: Receive): Promise<object> {
    this.#check("received", path);
    await prepareFile({ transferId, path, size }, this.#options.freeBytes);
    return {};
  }

  async #send(path: string, parts: Start, link: PartLink): Promise<{ sha256: string }> {
    this.#check("sent", path);
    return { sha256: await sendFile(path, parts, link) };
  }

  async #receive(path: string, file: Events["transfer.end"], link: PartLink): Promise<void> {
    const partial = { transferId: file.transferId, path };
    try {
      const received = await resultOrError(async () => {
        this.#check("received", path);
        return { bytesWritten: await receiveFile({ ...file, path }, link) };
      });
      if (received.error !== undefined) await dropPartial(partial);
      await link.report("transfer.done", received);
    } catch (error) {
      if (error instanceof TransferEnded) await dropPartial(partial);
      throw error;
    }
  }

  /** @throws Error for a file other than the one that `only` allows */
  #check(use: "sent" | "received", path: string): void {
    const { only } = this.#options;
    if (only && only[use] !== path) throw new Error(`${path} may not be ${use}; \`gsv cp\` did not name it`);
  }
}

/** The result of `work`, or its error message. Rethrows errors that end or pause the transfer. */
async function resultOrError<T extends object>(
  work: () => Promise<T>,
): Promise<Partial<T> & { error?: string }> {
  try {
    return await work();
  } catch (error) {
    const isOver = error instanceof TransferEnded || error instanceof TransferPaused;
    if (isOver || !(error instanceof Error)) throw error;
    return { error: error.message } as Partial<T> & { error: string };
  }
}

/** Prefix of error messages about the source file. */
const tool = "send";

/** Size of the file to send. @throws Error when it is missing, unreadable, or not a regular file */
async function describeFile(path: string): Promise<{ size: number }> {
  const { size } = await inspectFile(tool, path);
  return { size };
}

/**
 * Stores the parts of a file from number `stored` on, with one part in memory. An earlier attempt stored the parts
 * before it; they are read only for the SHA-256.
 * @returns the SHA-256 of the whole file, in hex
 * @throws Error when the file changes meanwhile or cannot be read
 */
async function sendFile(
  path: string,
  { size, partBytes, stored }: { size: number; partBytes: number; stored: number },
  link: Pick<PartLink, "store">,
): Promise<string> {
  return explainFaults(tool, path, async () => {
    const file = await open(path, "r");
    try {
      const before = await file.stat();
      const hash = createHash("sha256");
      const buffer = Buffer.allocUnsafeSlow(Math.min(partBytes, size));
      for (let part = 0; part * partBytes < size; part++) {
        const bytes = buffer.subarray(0, Math.min(partBytes, size - part * partBytes));
        await readFully(file, bytes, part * partBytes, path);
        hash.update(bytes);
        if (part >= stored) await link.store(part, bytes);
      }
      const after = await file.stat();
      if (after.size !== size || after.mtimeMs !== before.mtimeMs) throw changed(path);
      return hash.digest("hex");
    } finally {
      await file.close();
    }
  });
}

async function readFully(file: FileHandle, into: Buffer, position: number, path: string): Promise<void> {
  for (let at = 0; at < into.byteLength; ) {
    const { bytesRead } = await file.read(into, at, into.byteLength - at, position + at);
    if (bytesRead === 0) throw changed(path);
    at += bytesRead;
  }
}

function changed(path: string): Error {
  return new Error(`${tool}: ${path} changed while it was being sent; copy it again`);
}
