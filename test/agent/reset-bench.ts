import type { Agent } from "../../functions/agent/agent.ts";
import { holdSession } from "../../functions/agent/session-loop.ts";
import { storeMedia } from "../../shared/media/media-store.ts";
import type { LastExtraction } from "../../shared/protocol/memory-schemas.ts";
import type { Message, StoredMedia } from "../../shared/protocol/messages.ts";
import { readArchive } from "../../shared/session/archive.ts";
import { lastExtraction } from "../../shared/session/extraction.ts";
import type { InboxEntry } from "../../shared/session/inbox-entry.ts";
import { readPreviousIds } from "../../shared/session/previous-ids.ts";
import type { SessionState } from "../../shared/session/state.ts";
import type { Bucket, TimerEvent } from "../../shared/world/world.ts";
import { isReading } from "../support/models/model-window.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelRequest, ModelServer, Reply } from "../support/models/scripted-model.ts";
import { type Allow, type State, startState } from "../support/state.ts";
import { type Bench, dated, openBench } from "./bench.ts";
import { assistant, result, user } from "./compaction/transcripts.ts";

/** Activity ends on one day; the next message comes after the next day's boundary, 04:00 UTC. */
export const lastActivity = Date.parse("2026-03-01T18:05:30Z");
export const nextDay = Date.parse("2026-03-02T09:00:00Z");

const client = { kind: "client", connectionId: "c", requestId: "r" } as const;

export const message = (text: string, at: number, media?: StoredMedia[]): InboxEntry => ({
  id: `m-${text}`,
  at,
  origin: client,
  kind: "message",
  text,
  ...(media ? { media } : {}),
});

export const reset = (via: "command" | "method" | "policy", at: number): InboxEntry => ({
  id: `reset-${via}`,
  at,
  origin: client,
  kind: "reset",
  via,
});

export const conversation: Message[] = [
  user("question 1"),
  assistant("", "call-1"),
  result("call-1", "result 1"),
  assistant("answer 1"),
  // Too large for an item: its body is in the bucket.
  user("x".repeat(301_000)),
  assistant("answer 2"),
];

/** Resets over the local DynamoDB and S3, one session after the other. */
export class ResetBench {
  key = "";
  agentId = "";
  /** The times of objects that were not stored at the last activity, by their keys. */
  storedAt = new Map<string, number>();
  scheduled: { name: string; at: number; event: TimerEvent }[] = [];
  /** Called before every AWS call of a process; the call fails if it throws. */
  allow: Allow = () => true;
  reply: (request: ModelRequest) => Reply | Promise<Reply> = () => ({});
  declare bench: Bench;
  declare state: State;
  declare model: ModelServer;
  /** The initial state of each test. */
  declare private started: State;
  private sessions = 0;

  /** @param open starts the state that the resets work on */
  async start(open: (allow: Allow) => Promise<State> = startState): Promise<void> {
    this.started = await open((action) => this.allow(action));
    this.model = await startOpenAiServer((request) => this.reply(request));
  }

  /** Restores the defaults after an earlier test. */
  renew(): void {
    this.goOn(this.started);
    this.bench.configuration.session.defaultResetPolicy = { mode: "daily", atHour: 4 };
    this.newSession();
    this.scheduled = [];
    this.allow = () => true;
    this.model.requests.length = 0;
    this.reply = (request) =>
      isReading(request) ? { text: "<memories>- likes tea</memories>" } : { text: "a fresh answer" };
  }

  /** Continues in this state with a new bench, until the next test. */
  goOn(state: State): void {
    const chosen = { provider: "openai-compatible", id: "m", contextWindow: 1_000_000 };
    this.state = state;
    this.bench = openBench(state, { ...chosen, baseUrl: this.model.url });
  }

  async close(): Promise<void> {
    await this.model?.close();
    await this.started?.close();
  }

  /** Each session belongs to a separate agent, whose folder has nothing else. */
  newSession(): void {
    this.agentId = `r${++this.sessions}`;
    this.key = `agent:${this.agentId}:main`;
  }

  agentAt(now: number): Agent {
    const agent = this.bench.agent();
    const guard = async (action: string) => {
      if (!(await this.allow(action))) throw new Error(`${action} is refused`);
    };
    return {
      ...agent,
      bucket: { ...agent.bucket, list: (...wanted) => this.dated(agent.bucket.list(...wanted)) },
      now: () => now,
      callModel: dated(agent.callModel, () => now),
      schedules: {
        once: async (name, at, event) => {
          await guard("scheduler:CreateSchedule");
          if (!this.scheduled.some((one) => one.name === name)) this.scheduled.push({ name, at, event });
        },
      },
      sockets: {
        ...agent.sockets,
        post: async (connectionId, frame) => {
          await guard("execute-api:ManageConnections");
          return agent.sockets.post(connectionId, frame);
        },
      },
    };
  }

  /** The bucket's listing, with the times of these tests. */
  private async dated(listed: ReturnType<Bucket["list"]>): ReturnType<Bucket["list"]> {
    const { objects, prefixes } = await listed;
    const lastModified = (key: string) => this.storedAt.get(key) ?? lastActivity;
    return { objects: objects.map((one) => ({ ...one, lastModified: lastModified(one.key) })), prefixes };
  }

  /** Invokes the agent once, for the session. */
  invoke(now: number): Promise<void> {
    return holdSession(this.agentAt(now), this.key, () => 900_000);
  }

  submit(entry: InboxEntry): Promise<void> {
    return this.bench.submit(this.key, entry);
  }

  current(): Promise<SessionState> {
    return this.bench.state(this.key);
  }

  /** The ids of the earlier conversations. */
  async previous(): Promise<string[]> {
    return readPreviousIds(this.state.table, await this.current());
  }

  /** How the extraction of memories stands. */
  extraction(): Promise<LastExtraction | undefined> {
    return lastExtraction(this.state.table, this.agentId);
  }

  async isExtracting(): Promise<boolean> {
    return (await this.extraction())?.state === "pending";
  }

  live(): Promise<Message[]> {
    return this.bench.live(this.key);
  }

  /** Creates a session of yesterday with two media objects. */
  async seed(changes: Partial<SessionState> = {}): Promise<SessionState> {
    const tokens = { input: 100, output: 20, total: 120 };
    const state = { updatedAt: lastActivity, tokens, contextTokens: 80, ...changes };
    await this.bench.seed(this.key, conversation, state);
    for (const id of ["one", "two"]) await this.putMedia(id);
    return this.current();
  }

  putMedia(id: string): Promise<StoredMedia> {
    const media = { type: "document", mimeType: "application/pdf", body: Buffer.from(id) } as const;
    return storeMedia(this.state.bucket, { sessionKey: this.key, id, now: lastActivity }, media);
  }

  /** The agent's daily notes of a day; undefined if there are none. */
  async memories(day = "2026-03-01"): Promise<string | undefined> {
    const object = await this.state.bucket.get(`agents/${this.agentId}/memory/${day}.md`);
    return object && Buffer.from(object.body).toString();
  }

  async keysUnder(prefix: string): Promise<string[]> {
    return (await this.state.bucket.list(prefix)).objects.map((object) => object.key);
  }

  archiveKey(sessionId: string): string {
    return `agents/${this.agentId}/sessions/${sessionId}.jsonl.gz`;
  }

  async archived(sessionId: string): Promise<Message[]> {
    const messages: Message[] = [];
    for await (const one of readArchive(this.state.bucket, this.archiveKey(sessionId))) messages.push(one);
    return messages;
  }

  /** The answers to requests for a reset. */
  responses(): unknown[] {
    const frames = this.bench.posted.map(({ frame }) => frame as { type: string; payload?: unknown });
    return frames.filter(({ type }) => type === "res").map(({ payload }) => payload);
  }
}
