import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { AnswerScope, Approval } from "../../shared/protocol/approvals.ts";
import type { Events } from "../../shared/protocol/events.ts";
import type { CommandDone } from "../../shared/protocol/results.ts";
import type { SessionEntry } from "../../shared/protocol/session-results.ts";
import { addressOf } from "../routes.ts";
import { Outbox, type OutboxFile, type OutboxMessage } from "../wire/outbox.ts";
import type { PageConnection, WireState } from "../wire/page-connection.ts";
import type { PageStore } from "../wire/page-store.ts";
import type { WireError } from "../wire/wire-error.ts";
import { ConversationView } from "./conversation-view.ts";
import type { UserEntry } from "./entries.ts";
import { SeenSessions } from "./seen-sessions.ts";
import { WaitingItems } from "./waiting-items.ts";

/** What the gateway executes itself. Any other text that begins with a slash is a message. */
const command =
  /^\/(new|reset|private|compact|stop|status|model|think|thinking|t|cost|budget|context|help|\?)(\s|$)/i;
/** Commands that begin a new conversation. */
const resets = /^\/(new|reset|private)\b/i;
/** A command may wait for earlier runs, ms. */
const commandMs = 300_000;
/** A session that begins with an edited message is named after it. */
const maxLabelCharacters = 60;

/** An answer to a request. `note`: a text that the request asks for. */
export interface GivenAnswer {
  decision: "allow" | "deny";
  scope: AnswerScope;
  note?: string;
}

/** A message of the user that another replaces in a new session. */
export interface EditedMessage {
  text: string;
  seq: number;
  hasFiles: boolean;
  forkId: string;
}

/** What a session's model and thinking are. */
export interface SessionModel {
  model: string;
  thinking?: string;
}

/** The state of the signed-in page. */
export class ConsoleState {
  readonly wire = signal<WireState>({ status: "connecting" });
  /** The user has signed out here. */
  readonly isSignedOut = signal(false);
  readonly sessions = signal<SessionEntry[]>([]);
  readonly approvals = signal<Approval[]>([]);
  /** Sessions in which something has happened since they were shown. */
  readonly unread: ReadonlySignal<ReadonlySet<string>>;
  /** The message that the next one replaces. */
  readonly editing = signal<EditedMessage | undefined>(undefined);
  readonly unsent = signal<OutboxMessage[]>([]);
  readonly conversation = signal<ConversationView>(undefined as unknown as ConversationView);
  readonly model = signal<SessionModel | undefined>(undefined);
  /** Requests of the shown session, oldest first. */
  readonly asked = computed(() =>
    this.approvals.value.filter((one) => one.sessionKey === this.conversation.value.sessionKey.value),
  );
  readonly waiting: WaitingItems;
  readonly connection: PageConnection;
  readonly store: PageStore;
  /** Resolves when what this device has kept of the session is shown. */
  readonly restored: Promise<void>;
  readonly #outbox: Outbox;
  readonly #seen: SeenSessions;

  constructor(connection: PageConnection, store: PageStore, sessionKey: string) {
    this.connection = connection;
    this.store = store;
    this.waiting = new WaitingItems(connection);
    this.conversation.value = new ConversationView(connection, store, sessionKey);
    this.#seen = new SeenSessions(store, this.sessions, () => this.conversation.value.sessionKey.value);
    this.unread = this.#seen.unread;
    this.#outbox = new Outbox(connection, store, (messages) => {
      this.unsent.value = messages;
      this.conversation.value.unsent(messages);
    });
    connection.onState((state) => {
      this.wire.value = state;
      if (state.status === "connected") void this.#resync();
    });
    connection.on("chat", (event) => this.conversation.value.chat(event));
    connection.on("session.changed", (change) => this.#changed(change));
    connection.on("tool.result", (event) => this.conversation.value.toolResult(event));
    connection.on("approval.requested", ({ reminder, ...request }) => this.#request(request));
    connection.on("approval.resolved", ({ id }) => this.#resolve(id));
    for (const event of ["budget.warning", "budget.reached"] as const)
      connection.on(event, () => void this.waiting.read());
    const view = this.conversation.value;
    this.restored = view.restore();
    // The canonical key is known by then.
    void this.restored.then(() => view.unsent(this.unsent.value));
  }

  /** Shows another session. */
  async show(sessionKey: string): Promise<void> {
    if (this.conversation.value.isNamed(sessionKey)) return;
    const view = new ConversationView(this.connection, this.store, sessionKey);
    this.conversation.value.close();
    this.conversation.value = view;
    this.model.value = undefined;
    this.editing.value = undefined;
    view.unsent(this.unsent.value);
    void this.store.put("settings", "session", sessionKey);
    await Promise.all([view.restore(), view.refresh(), this.#readModel()]);
    await this.#read();
  }

  /** Sends a message, or executes a command. A command needs a connection, because the gateway cannot recognize its repeat. */
  async send(text: string, files: OutboxFile[]): Promise<void> {
    if (this.editing.value) {
      await this.#sendEdited(this.editing.value, text, files);
      return;
    }
    const view = this.conversation.value;
    const sessionKey = view.sessionKey.value;
    if (files.length > 0 || !command.test(text)) {
      await this.#outbox.add(sessionKey, text, files);
      return;
    }
    try {
      const result = await this.connection.request("chat.send", { sessionKey, message: text }, commandMs);
      const { response, error } = result as Partial<CommandDone>;
      if (resets.test(text)) view.clear();
      if (response ?? error) view.note(error ?? response ?? "", error !== undefined);
      if (result.status === "started") view.isRunning.value = true;
    } catch (error) {
      view.note(`${text.split(/\s/)[0]} was not executed: ${(error as WireError).message}`, true);
    }
    await Promise.all([view.refresh(), this.#readModel(), this.listSessions()]);
  }

  /** Writes a message of the shown session again. The next message replaces it. */
  edit({ text, seq, files }: UserEntry): void {
    if (seq !== undefined)
      this.editing.value = { text, seq, hasFiles: files.length > 0, forkId: crypto.randomUUID() };
  }

  /** Sends an edited message in a new session, which begins with what was said before it. */
  async #sendEdited(edited: EditedMessage, text: string, files: OutboxFile[]): Promise<void> {
    const view = this.conversation.value;
    this.editing.value = undefined;
    try {
      const { seq, forkId } = edited;
      const fork = { sessionKey: view.sessionKey.value, seq, forkId };
      const { sessionKey } = await this.connection.request("session.fork", fork);
      const label = text.split("\n")[0]?.slice(0, maxLabelCharacters) || null;
      await this.connection.request("session.patch", { sessionKey, label });
      await this.#outbox.add(sessionKey, text, files);
      location.hash = addressOf("chat", sessionKey);
    } catch (error) {
      view.note(`Not sent: ${(error as WireError).message}`, true);
      if (view === this.conversation.value) this.editing.value = { ...edited, text };
    }
  }

  /** Stops the run of the shown session. */
  async stop(): Promise<void> {
    const sessionKey = this.conversation.value.sessionKey.value;
    await this.connection.request("chat.send", { sessionKey, message: "/stop" }).catch(() => undefined);
    await this.conversation.value.refresh();
  }

  retry(runId: string): void {
    void this.#outbox.retry(runId);
  }

  discard(runId: string): void {
    void this.#outbox.remove(runId);
  }

  /** Answers a request. The gateway refuses an answer to another call than the one that was shown. */
  async answer({ id, hash }: Approval, answer: GivenAnswer): Promise<void> {
    try {
      await this.connection.request("approval.answer", { id, hash, ...answer });
      this.#resolve(id);
    } catch (error) {
      this.conversation.value.note(`Not answered: ${(error as WireError).message}`, true);
    }
  }

  #changed({ sessionKey, label, lastActiveAt }: Events["session.changed"]): void {
    const before = this.sessions.value.find((one) => one.sessionKey === sessionKey);
    const entry = {
      createdAt: lastActiveAt,
      ...before,
      sessionKey,
      lastActiveAt,
      ...(label ? { label } : {}),
    };
    this.sessions.value = [entry, ...this.sessions.value.filter((one) => one !== before)];
    void this.#read();
  }

  #request(request: Approval): void {
    if (!this.approvals.value.some(({ id }) => id === request.id))
      this.approvals.value = [...this.approvals.value, request];
  }

  #resolve(id: string): void {
    this.approvals.value = this.approvals.value.filter((one) => one.id !== id);
  }

  /** Reads again what events may have reported meanwhile. */
  async #resync(): Promise<void> {
    const approvals = this.connection.request("approval.list", {}).then(
      (found) => {
        this.approvals.value = found.approvals;
      },
      () => undefined,
    );
    await Promise.all([
      this.conversation.value.refresh(),
      this.listSessions(),
      this.#readModel(),
      approvals,
      this.waiting.read(),
    ]);
  }

  async listSessions(): Promise<void> {
    const found = await this.connection.request("sessions.list", {}).catch(() => undefined);
    if (!found) return;
    this.sessions.value = found.sessions;
    await this.#read();
  }

  #read(): Promise<void> {
    return this.#seen.read(this.sessions.value, this.conversation.value.sessionKey.value);
  }

  async #readModel(): Promise<void> {
    const view = this.conversation.value;
    const sessionKey = view.sessionKey.value;
    const [context, session] = await Promise.all([
      this.connection.request("session.context", { sessionKey }),
      this.connection.request("session.get", { sessionKey }),
    ]).catch(() => []);
    if (!context || !session || view !== this.conversation.value) return;
    this.model.value = { model: context.model, thinking: session.settings.thinkingLevel };
  }
}
