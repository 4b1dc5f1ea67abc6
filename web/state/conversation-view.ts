import { computed, signal } from "@preact/signals";
import type { Events } from "../../shared/protocol/events.ts";
import type { Message } from "../../shared/protocol/messages.ts";
import type { Results, StatsResult } from "../../shared/protocol/results.ts";
import type { OutboxMessage } from "../wire/outbox.ts";
import type { PageConnection } from "../wire/page-connection.ts";
import type { PageStore } from "../wire/page-store.ts";
import { type Entry, entriesOf, type NoteEntry, type UserEntry, withUnchanged } from "./entries.ts";
import { LiveRun } from "./live-run.ts";

/** While a run continues, the page reads it again after these pauses, in ms: the event of its end may not reach this page. */
const rereadMs = [1_500, 3_000, 6_000, 12_000, 30_000];

/** Number of messages of a page of the history, and in the cache. */
export const pageMessages = 50;
type StoredMessage = Message & { seq: number };

/** What the cache keeps of a session. */
interface CachedHistory {
  /** The canonical key. */
  sessionKey: string;
  sessionId: string;
  messages: StoredMessage[];
}

type Connection = Pick<PageConnection, "request" | "state">;

/** One session as the page shows it: stored messages, the run in progress, and messages that are not sent yet. */
export class ConversationView {
  /** The canonical key, once the gateway has given it. */
  readonly sessionKey = signal("");
  readonly #messages = signal<StoredMessage[]>([]);
  readonly #live = signal<Entry[]>([]);
  readonly #unsent = signal<UserEntry[]>([]);
  /** Sent, accepted, but not in the stored messages yet. */
  readonly #sent = signal<UserEntry[]>([]);
  readonly #notes = signal<NoteEntry[]>([]);
  readonly isRunning = signal(false);
  readonly waiting = signal<string | undefined>(undefined);
  readonly hasEarlier = signal(false);
  readonly isLoaded = signal(false);
  #previous: readonly Entry[] = [];
  readonly #stored = computed(() => {
    const entries = withUnchanged(this.#previous, entriesOf(this.#messages.value, this.isRunning.value));
    this.#previous = entries;
    return entries;
  });
  /** Everything to show, oldest first. */
  readonly entries = computed<Entry[]>(() => {
    const stored = this.#stored.value;
    // A reply may be read before the next frame ends its streamed text.
    const known = new Set(stored.flatMap((entry) => [entry.key, this.shownKey(entry)]));
    const live = this.#live.value.filter(({ key }) => !known.has(key));
    for (const { key } of live) known.add(key);
    const sent = this.#sent.value.filter(({ key }) => !known.has(key));
    const last = stored.at(-1)?.at ?? 0;
    const notes = this.#notes.value;
    const older = notes.filter(({ at }) => at <= last);
    const newer = notes.filter(({ at }) => at > last);
    const before = older.length > 0 ? [...stored, ...older].sort((a, b) => a.at - b.at) : stored;
    return [...before, ...sent, ...live, ...newer, ...this.#unsent.value];
  });
  readonly #connection: Connection;
  readonly #store: PageStore;
  /** The key that was asked for, and the canonical one. */
  readonly #keys: Set<string>;
  readonly #requested: string;
  readonly #runs = new Map<string, LiveRun>();
  /** The run that ended last: its answer is shown from its events until the stored messages are read. */
  #ended: LiveRun | undefined;
  readonly #shownKeys = new Map<string, string>();
  #sessionId = "";
  #refreshing = Promise.resolve();
  #isReading = false;
  #isStale = false;
  #isPublishing = false;
  #rereads = 0;
  #isClosed = false;
  #rereading: ReturnType<typeof setTimeout> | undefined;

  constructor(connection: Connection, store: PageStore, sessionKey: string) {
    this.#connection = connection;
    this.#store = store;
    this.sessionKey.value = sessionKey;
    this.#keys = new Set([sessionKey]);
    this.#requested = sessionKey;
  }

  /** Whether the key names this session: it is the canonical one, or the one that was asked for. */
  isNamed(sessionKey: string): boolean {
    return this.#keys.has(sessionKey);
  }

  /** Shows the messages that this device has kept, until `refresh` has read the stored ones. */
  async restore(): Promise<void> {
    const cached = await this.#store.get<CachedHistory>("history", this.#requested);
    if (cached && !this.isLoaded.value) {
      this.#name(cached.sessionKey);
      this.#messages.value = cached.messages;
      this.#sessionId = cached.sessionId;
      this.isLoaded.value = true;
    }
  }

  /** Reads the stored messages and the state again. Without a connection it does nothing. */
  refresh(): Promise<void> {
    clearTimeout(this.#rereading);
    this.#isStale = true;
    if (!this.#isReading) this.#refreshing = this.#read();
    return this.#refreshing;
  }

  /** Ends the reading that a run in progress causes: another session is shown. */
  close(): void {
    clearTimeout(this.#rereading);
    this.#isClosed = true;
  }

  /** Reads one more page of earlier messages. */
  async loadEarlier(): Promise<void> {
    const [oldest] = this.#messages.value;
    if (!oldest) return;
    const params = { sessionKey: this.sessionKey.value, limit: pageMessages, before: oldest.seq };
    const page = await this.#connection.request("session.preview", params).catch(() => undefined);
    if (page?.sessionId === this.#sessionId) this.#merge(page);
  }

  /** The key under which an entry is shown: a streamed reply keeps its place, so that it is not drawn again when complete. */
  shownKey({ key }: Entry): string {
    return this.#shownKeys.get(key) ?? key;
  }

  chat(event: Events["chat"]): void {
    if (!this.#isMine(event)) return;
    const run = this.#run(event.runId);
    run.chat(event);
    for (const [key, shown] of run.shownKeys) this.#shownKeys.set(key, shown);
    this.#rereads = 0;
    this.isRunning.value = event.state !== "final" && event.state !== "error";
    this.#publish();
    if (this.isRunning.value) return;
    this.#runs.delete(event.runId);
    this.#notes.value = [
      ...this.#notes.value,
      ...run.entries.filter((entry): entry is NoteEntry => entry.kind === "note" && event.state === "error"),
    ].slice(-20);
    this.#ended = run;
    void this.refresh();
  }

  toolResult(event: Events["tool.result"]): void {
    if (event.runId === undefined || !this.#isMine(event)) return;
    this.#run(event.runId).toolResult(event);
    this.#publish();
  }

  /** Shows the unsent messages of this session. One that was accepted is shown as sent until it is stored. */
  unsent(messages: readonly OutboxMessage[]): void {
    const mine = messages.filter((one) => this.#keys.has(one.sessionKey)).map(shownMessage);
    const gone = this.#unsent.value.filter(({ key }) => !mine.some((one) => one.key === key));
    this.#unsent.value = mine;
    if (gone.length === 0) return;
    this.#sent.value = [...this.#sent.value, ...gone.map(({ unsent, ...entry }) => entry)];
    this.isRunning.value = true;
    void this.refresh();
  }

  /** Shows a line of the page or the gateway. */
  note(text: string, isError = false): void {
    const at = Date.now();
    this.#notes.value = [
      ...this.#notes.value,
      { kind: "note", key: `note:${at}:${text.length}`, at, text, isError },
    ];
  }

  /** Forgets everything that was shown: the session was reset. */
  clear(): void {
    this.#messages.value = [];
    this.#sent.value = [];
    this.#notes.value = [];
    this.#runs.clear();
    this.#publish();
  }

  async #read(): Promise<void> {
    let isRead = true;
    this.#isReading = true;
    while (isRead && this.#isStale && this.#connection.state.status === "connected") {
      this.#isStale = false;
      isRead = await this.#readOnce().then(
        () => true,
        () => false,
      );
    }
    this.#isReading = false;
    if (!isRead || this.isRunning.value) this.#rereadLater();
  }

  /** @throws WireError */
  async #readOnce(): Promise<void> {
    const sessionKey = this.sessionKey.value;
    const [preview, stats] = await Promise.all([
      this.#connection.request("session.preview", { sessionKey, limit: pageMessages }),
      this.#connection.request("session.stats", { sessionKey }),
    ]);
    this.#name(preview.sessionKey);
    this.#merge(preview);
    this.isLoaded.value = true;
    this.#settle(stats);
    const kept: CachedHistory = preview;
    // By each key: the page may open it by the address or by the list next time.
    for (const key of this.#keys) await this.#store.put("history", key, kept).catch(() => undefined);
  }

  /**
   * The gateway sends a run's end to the clients that it knew a second before. A page that has just connected may read the
   * session before the end and miss the event.
   */
  #rereadLater(): void {
    clearTimeout(this.#rereading);
    // A new connection begins with a refresh.
    if (this.#isClosed || this.#connection.state.status !== "connected") return;
    const pause = rereadMs[Math.min(this.#rereads++, rereadMs.length - 1)];
    this.#rereading = setTimeout(() => void this.refresh(), pause);
  }

  /** Adds a page to the messages that are known. After a reset, and after a gap, only the page remains. */
  #merge({ sessionId, first, messages: page }: Results["session.preview"]): void {
    const from = page[0]?.seq ?? Number.POSITIVE_INFINITY;
    const to = page.at(-1)?.seq ?? 0;
    const known = sessionId === this.#sessionId ? this.#messages.value.filter(({ seq }) => seq >= first) : [];
    const before = known.filter(({ seq }) => seq < from);
    const isJoined = before.length === 0 || before.at(-1)?.seq === from - 1;
    // What is newer than a page of earlier messages.
    const after = known.filter(({ seq }) => seq > to);
    this.#sessionId = sessionId;
    this.#messages.value = [...(isJoined ? before : []), ...page, ...after];
    this.hasEarlier.value = (this.#messages.value[0]?.seq ?? first) > first;
  }

  #settle({ isProcessing, queueSize, runId }: StatsResult): void {
    this.isRunning.value = isProcessing || queueSize > 0;
    const stored = this.#stored.value;
    const known = new Set(stored.map(({ key }) => key));
    this.#sent.value = this.isRunning.value ? this.#sent.value.filter(({ key }) => !known.has(key)) : [];
    this.#ended = undefined;
    for (const run of this.#runs.values())
      if (this.isRunning.value && (runId === undefined || run.runId === runId)) run.settle(stored);
      else this.#runs.delete(run.runId);
    this.#publish();
  }

  #name(sessionKey: string): void {
    this.#keys.add(sessionKey);
    this.sessionKey.value = sessionKey;
  }

  #isMine({ sessionKey }: { sessionKey: string }): boolean {
    return this.#keys.has(sessionKey);
  }

  #run(runId: string): LiveRun {
    const run = this.#runs.get(runId) ?? new LiveRun(runId);
    this.#runs.set(runId, run);
    return run;
  }

  /** Shows the runs at the next frame: an answer may arrive in hundreds of pieces a second. */
  #publish(): void {
    if (this.#isPublishing) return;
    this.#isPublishing = true;
    const publish = () => {
      this.#isPublishing = false;
      const runs = [...(this.#ended ? [this.#ended] : []), ...this.#runs.values()];
      this.#live.value = runs.flatMap(({ entries }) => entries);
      this.waiting.value = runs.at(-1)?.waiting;
    };
    // A hidden page has no frames.
    if (globalThis.document?.visibilityState === "visible") requestAnimationFrame(publish);
    else setTimeout(publish, 50);
  }
}

function shownMessage({ runId, text, files, at, uploaded, refused }: OutboxMessage): UserEntry {
  return {
    ...{ kind: "user", key: runId, runId, at, text, origin: "client" },
    files: files.map(({ filename, blob }) => ({ name: filename, mimeType: blob.type, blob })),
    unsent: refused === undefined ? { uploaded } : { refused },
  };
}
