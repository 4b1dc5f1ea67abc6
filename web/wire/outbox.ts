import type { PageConnection } from "./page-connection.ts";
import type { PageStore } from "./page-store.ts";
import { notConnected, WireError } from "./wire-error.ts";

/** A file of a message. */
export interface OutboxFile {
  type: "image" | "audio" | "video" | "document";
  filename: string;
  blob: Blob;
}

/** A message that the gateway has not accepted yet. Its run id makes a repeat harmless. */
export interface OutboxMessage {
  runId: string;
  sessionKey: string;
  text: string;
  files: OutboxFile[];
  /** Epoch ms. */
  at: number;
  /** While its files are uploaded: the share of their bytes that is sent. */
  uploaded?: number;
  /** Why the gateway refused it. It is sent again only when the user asks for it. */
  refused?: string;
}

/** What the outbox needs of a connection. */
type OutboxConnection = Pick<PageConnection, "request" | "upload" | "state" | "onState">;

const retryMs = 1500;

/**
 * Keeps messages on this device until the gateway has accepted them, and sends them in the order in which they were written.
 * A message is stored before it is sent, and removed after it was accepted, so none is lost; it is sent again with its run
 * id, which the gateway accepts once, so none is doubled.
 */
export class Outbox {
  readonly #connection: OutboxConnection;
  readonly #store: PageStore;
  readonly #changed: (messages: OutboxMessage[]) => void;
  #messages: OutboxMessage[] = [];
  #sending = false;
  #opened: Promise<void>;
  #last = 0;

  /** @param changed called with the unsent messages, oldest first, after each change */
  constructor(connection: OutboxConnection, store: PageStore, changed: (messages: OutboxMessage[]) => void) {
    this.#connection = connection;
    this.#store = store;
    this.#changed = changed;
    this.#opened = store.all<OutboxMessage>("outbox").then((messages) => {
      this.#messages = messages.sort((a, b) => a.at - b.at);
      this.#tell();
      void this.#send();
    });
    connection.onState(({ status }) => {
      if (status === "connected") void this.#send();
    });
  }

  /** Stores a message and sends it when it is its turn. Resolves with its run id when it is stored. */
  async add(sessionKey: string, text: string, files: OutboxFile[]): Promise<string> {
    await this.#opened;
    // Times are unique, because they order the messages.
    this.#last = Math.max(this.#last + 1, Date.now());
    const message: OutboxMessage = { runId: crypto.randomUUID(), sessionKey, text, files, at: this.#last };
    // Shown once it is stored, so that a reload loses nothing that was shown. On a full device it is kept until the page is closed.
    await this.#store.put("outbox", message.runId, message).catch(() => undefined);
    this.#messages.push(message);
    this.#tell();
    void this.#send();
    return message.runId;
  }

  /** Sends a refused message again. */
  async retry(runId: string): Promise<void> {
    const message = this.#messages.find((one) => one.runId === runId);
    if (!message) return;
    delete message.refused;
    await this.#store.put("outbox", runId, message);
    this.#tell();
    void this.#send();
  }

  /** Forgets a message. It may have reached the gateway already. */
  async remove(runId: string): Promise<void> {
    this.#messages = this.#messages.filter((one) => one.runId !== runId);
    await this.#store.delete("outbox", runId);
    this.#tell();
  }

  async #send(): Promise<void> {
    if (this.#sending) return;
    this.#sending = true;
    try {
      for (;;) {
        const next = this.#messages.find(({ refused }) => refused === undefined);
        if (!next || this.#connection.state.status !== "connected") return;
        await this.#deliver(next);
      }
    } finally {
      this.#sending = false;
    }
  }

  async #deliver(message: OutboxMessage): Promise<void> {
    const { runId, sessionKey, text, files } = message;
    const sent = files.map(() => 0);
    const progress = (index: number, bytes: number) => {
      sent[index] = bytes;
      message.uploaded = Math.min(1, sum(sent) / sum(files.map(({ blob }) => blob.size)));
      this.#tell();
    };
    try {
      // An upload is valid for one request on one connection.
      const media = await Promise.all(
        files.map(async ({ type, filename, blob }, index) => ({
          ...{ type, filename, mimeType: blob.type || "application/octet-stream" },
          dataRef: await this.#connection.upload(blob, (bytes) => progress(index, bytes)),
        })),
      );
      await this.#connection.request("chat.send", { sessionKey, message: text, media, runId });
      await this.remove(runId);
    } catch (error) {
      delete message.uploaded;
      this.#tell();
      const refusal = error instanceof WireError ? error : new WireError(0, String(error));
      // Without a connection it is sent again as soon as there is one.
      if (refusal.code === notConnected().code) return;
      if (refusal.retryable) await new Promise((resolve) => setTimeout(resolve, retryMs));
      else {
        message.refused = refusal.message;
        await this.#store.put("outbox", runId, message);
        this.#tell();
      }
    }
  }

  #tell(): void {
    this.#changed([...this.#messages]);
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
