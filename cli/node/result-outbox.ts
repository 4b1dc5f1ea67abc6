import { code } from "../../shared/protocol/errors.ts";
import type { ParamsInput } from "../../shared/protocol/methods.ts";
import { backoffDelay } from "../gateway/backoff.ts";
import type { Connection } from "../gateway/connection.ts";
import { RequestError } from "../gateway/request-error.ts";
import { raceWithTimeout } from "./race-with-timeout.ts";

/** Max number of waiting reports on background commands. Above it, the oldest is dropped. */
const maxEvents = 500;

/** Methods whose requests are resent until the gateway responds. */
type RepeatedMethod = "tool.result" | "node.exec.event";

/** What the outbox uses of the connection. */
export type OutboxConnection = Pick<Connection, "state" | "onState" | "request">;

interface Entry {
  send(): Promise<unknown>;
  /** Sends a shortened request. Used once, after the gateway refused the full one as too large. */
  sendSmaller: (() => Promise<unknown>) | undefined;
  done: (() => void) | undefined;
  isEvent: boolean;
  failures: number;
  sending: boolean;
}

/** Called when an entry leaves the outbox. `refusal` is set when the gateway refused it permanently. */
type SettledHandler = (key: string, refusal: RequestError | undefined) => void;

/**
 * Resends requests until the gateway responds, across lost connections, timeouts and temporary errors. The
 * gateway may receive a request twice and detects the duplicate by its callId or eventId.
 */
export class Outbox {
  readonly #connection: OutboxConnection;
  readonly #onSettled: SettledHandler;
  readonly #timeoutMs: number;
  readonly #entries = new Map<string, Entry>();
  readonly #emptied = new Set<() => void>();

  /** `timeoutMs`: response timeout of one attempt. */
  constructor(connection: OutboxConnection, onSettled: SettledHandler, timeoutMs = 30_000) {
    this.#connection = connection;
    this.#onSettled = onSettled;
    this.#timeoutMs = timeoutMs;
    connection.onState((state) => {
      if (state.status === "connected") for (const key of this.#entries.keys()) void this.#deliver(key);
    });
  }

  /**
   * Adds a request and sends it as soon as the node is connected. Does nothing when the key is already in the
   * outbox. `smaller` returns shortened params for a retry after the gateway has refused these as too large. `done` is
   * called when the request leaves the outbox.
   */
  add<M extends RepeatedMethod>(
    key: string,
    method: M,
    params: ParamsInput<M>,
    { smaller, done }: { smaller?: () => ParamsInput<M>; done?: () => void } = {},
  ): void {
    if (this.#entries.has(key)) return;
    const request = (sent: ParamsInput<M>) =>
      this.#connection.request(method, sent, { timeoutMs: this.#timeoutMs });
    const send = () => request(params);
    const sendSmaller = smaller && (() => request(smaller()));
    const isEvent = method === "node.exec.event";
    this.#entries.set(key, { send, sendSmaller, done, isEvent, failures: 0, sending: false });
    if (isEvent) this.#dropOldestEvent();
    void this.#deliver(key);
  }

  /** Resolves when the outbox is empty, or after `maxMs`. */
  async settled(maxMs: number): Promise<void> {
    if (this.#entries.size === 0) return;
    await raceWithTimeout(new Promise<void>((resolve) => this.#emptied.add(resolve)), maxMs);
  }

  async #deliver(key: string): Promise<void> {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.sending || this.#connection.state.status !== "connected") return;
    entry.sending = true;
    try {
      await entry.send();
      this.#settle(key, undefined);
    } catch (error) {
      const refusal = error as RequestError;
      entry.sending = false;
      if (refusal.code === code.tooLarge && entry.sendSmaller)
        this.#sendSmaller(key, entry, entry.sendSmaller);
      else if (!refusal.retryable) this.#settle(key, refusal);
      else setTimeout(() => void this.#deliver(key), backoffDelay(entry.failures++, 1000, 60_000)).unref();
    }
  }

  #sendSmaller(key: string, entry: Entry, sendSmaller: Entry["send"]): void {
    entry.send = sendSmaller;
    entry.sendSmaller = undefined;
    void this.#deliver(key);
  }

  #dropOldestEvent(): void {
    const events = [...this.#entries].filter(([, { isEvent }]) => isEvent);
    const [oldest] = events;
    if (oldest && events.length > maxEvents)
      this.#settle(oldest[0], new RequestError(code.tooLarge, `more than ${maxEvents} reports are waiting`));
  }

  #settle(key: string, refusal: RequestError | undefined): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    entry.done?.();
    this.#onSettled(key, refusal);
    if (this.#entries.size > 0) return;
    for (const resolve of this.#emptied) resolve();
    this.#emptied.clear();
  }
}
