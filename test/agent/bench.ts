import { setImmediate as nextTurn } from "node:timers/promises";
import type { Agent } from "../../functions/agent/agent.ts";
import { createHistory } from "../../functions/agent/context/history.ts";
import { createPromptCache } from "../../functions/agent/context/prompt-cache.ts";
import { createPromptSource } from "../../functions/agent/context/prompt-source.ts";
import { createRemoteTools } from "../../functions/agent/mcp/lazy-remote-tools.ts";
import { createMediaCache } from "../../functions/agent/model/media-cache.ts";
import { createCallModel, type Wait } from "../../functions/agent/model/model.ts";
import type { CallModel } from "../../functions/agent/model/model-call.ts";
import { createArchivedResults } from "../../functions/agent/objects/archived-results.ts";
import { createReminders } from "../../functions/agent/self/reminders.ts";
import { holdSession } from "../../functions/agent/session-loop.ts";
import { defaults } from "../../shared/configuration/defaults.ts";
import type { Configuration } from "../../shared/configuration/schema.ts";
import { loadMemories } from "../../shared/memory/load-memories.ts";
import { createBroadcast } from "../../shared/peers/broadcast.ts";
import type { Message } from "../../shared/protocol/messages.ts";
import { findArchives, readArchive } from "../../shared/session/archive.ts";
import { appendEntry } from "../../shared/session/inbox.ts";
import type { InboxEntry } from "../../shared/session/inbox-entry.ts";
import { agentIdOf } from "../../shared/session/key/session-key.ts";
import { acquire, commit, releaseIdle } from "../../shared/session/lease.ts";
import { readSession } from "../../shared/session/sessions.ts";
import { metaKey, type SessionState } from "../../shared/session/state.ts";
import { readMessages, writeMessages } from "../../shared/session/transcript.ts";
import { openBook } from "../../shared/spend/book.ts";
import { openWorkspace } from "../../shared/workspace/workspace-files.ts";
import { set } from "../../shared/world/expression.ts";
import type { Item } from "../../shared/world/world.ts";
import type { State } from "../support/state.ts";

/** The process has died: all its further calls fail. */
export class Killed extends Error {}

/** Where a process dies: after this number of its AWS calls. */
export interface Life {
  /** Calls that still succeed. */
  left: number;
  /** Calls that succeeded. */
  calls: string[];
  /** Awaited before each call, and before each frame that is posted. */
  before?: () => Promise<void>;
}

export const immortal = (): Life => ({ left: Number.POSITIVE_INFINITY, calls: [] });

/**
 * Copies the state before each call of a process: that is what remains if the process dies there.
 * @param copy copies the state that the process changes
 * @returns `before`, which has to be awaited before each call
 */
export function copiesBefore<T, Call extends unknown[]>(copy: (...call: Call) => T) {
  const copies: T[] = [];
  let copied: Promise<unknown> = Promise.resolve();
  const before = (...call: Call) => {
    const next = copied.then(async () => {
      // The call before has taken effect by now.
      for (let turn = 0; turn < 3; turn++) await nextTurn();
      copies.push(copy(...call));
    });
    copied = next;
    return next;
  };
  return { copies, before };
}

/** Where it is noon when the tests begin. They last no half day, so no midnight ends the sums of their day. */
const ahead = 12 - new Date().getUTCHours();
export const userTimezone = `Etc/GMT${ahead >= 0 ? "-" : "+"}${Math.abs(ahead)}`;

/** Lets `life.left` calls succeed; all later ones fail, whichever client makes them. */
export function mortal<T extends object>(of: T, name: string, life: Life): T {
  const wrap = ([method, call]: [string, unknown]) => {
    if (typeof call !== "function") return [method, call];
    return [
      method,
      async (...args: unknown[]) => {
        if (life.left <= 0) throw new Killed();
        life.left--;
        life.calls.push(`${name}.${method}`);
        await life.before?.();
        const answer = await call.apply(of, args);
        if (life.left <= 0) throw new Killed();
        return answer;
      },
    ];
  };
  return Object.fromEntries(Object.entries(of).map(wrap)) as T;
}

export interface Bench {
  configuration: Configuration;
  /** Frames that were posted to connections. */
  posted: { connectionId: string; frame: unknown }[];
  /** Milliseconds by which the clock is ahead. */
  later: number;
  /** The wait before a model call is repeated. By default it does not wait. */
  wait: Wait;
  /** The attachments of messages, as their platform returns them. */
  fetchAttachment: Agent["fetchAttachment"];
  guardedFetch: Agent["guardedFetch"];
  searchWeb: Agent["searchWeb"];
  /** An agent as a cold start builds it. */
  agent(life?: Life): Agent;
  /** Writes an idle session with these messages. */
  seed(sessionKey: string, messages: readonly Message[], changes?: Partial<SessionState>): Promise<void>;
  submit(sessionKey: string, entry: InboxEntry): Promise<void>;
  /** Invokes the agent once. False when it was killed. The next invocation starts after the lease has expired. */
  invoke(sessionKey: string, life?: Life): Promise<boolean>;
  state(sessionKey: string): Promise<SessionState>;
  live(sessionKey: string): Promise<Message[]>;
  /** The messages of each part archive, oldest first. */
  parts(sessionKey: string): Promise<Message[][]>;
  /** All items of a session that do not expire, except META. */
  items(sessionKey: string): Promise<Item[]>;
}

/** The agent's code over the DynamoDB and S3 of this machine, and a model server; the other services are silent. */
export function openBench({ table, bucket }: State, model: Configuration["model"]): Bench {
  const bench: Bench = {
    // The model servers of tests are in no price list.
    configuration: withoutResets({
      ...structuredClone(defaults),
      model,
      budgets: { ...defaults.budgets, rules: [] },
      // These reads would only multiply the calls at which a process is killed.
      memory: { ...defaults.memory, autoRecall: false },
    }),
    posted: [],
    later: 0,
    wait: async () => {},
    fetchAttachment: async () => ({ ok: false, reason: "there is no platform" }),
    guardedFetch: async () => ({ ok: false, reason: "there is no network", passing: false }),
    searchWeb: async () => ({ results: [] }),
    agent(life = immortal()) {
      const now = () => Date.now() + bench.later;
      const prompts = createPromptSource(mortal(bucket, "bucket", life));
      const configuration = {
        load: async () => bench.configuration,
        version: () => 1,
      } as Agent["configuration"];
      const secrets = { get: async () => undefined };
      const mortalTable = mortal(table, "table", life);
      const sockets: Agent["sockets"] = {
        async post(connectionId, frame) {
          if (life.left <= 0) throw new Killed();
          await life.before?.();
          bench.posted.push({ connectionId, frame });
          return "sent";
        },
        async close() {},
      };
      const book = openBook({ table: mortalTable, configuration, now, tell: async () => {} });
      const stores = { table: mortalTable, bucket: prompts.bucket, workspace: openWorkspace(prompts.bucket) };
      const memory = loadMemories(stores);
      return {
        table: mortalTable,
        book,
        bucket: prompts.bucket,
        sockets,
        schedules: { once: async () => {} },
        wake: async () => {},
        configuration,
        broadcast: createBroadcast(mortalTable, sockets, now),
        workspace: openWorkspace(prompts.bucket),
        prompts,
        promptCache: createPromptCache(prompts.bucket),
        history: createHistory({ table: mortalTable, bucket: prompts.bucket }),
        ...memory,
        reminders: createReminders({ table: mortalTable, configuration, now, ...memory }),
        archivedResults: createArchivedResults(prompts.bucket),
        callModel: dated(
          createCallModel({ configuration, secrets }, createMediaCache(prompts.bucket), bench.wait),
          now,
        ),
        channels: {
          deliver: async () => ({ ok: true }),
          ask: async () => ({ ok: true }),
          close: async () => undefined,
          typing: async () => {},
          mark: async () => {},
          conclude: async () => {},
        },
        fetchAttachment: (...request) => bench.fetchAttachment(...request),
        guardedFetch: (...request) => bench.guardedFetch(...request),
        searchWeb: (...request) => bench.searchWeb(...request),
        remoteTools: createRemoteTools({
          table: mortalTable,
          configuration,
          now,
          secrets: { ...secrets, put: async () => {}, delete: async () => {} },
          pause: async () => true,
        }),
        transcribe: async () => ({ status: "off" }),
        speak: async () => ({ status: "off" }),
        now,
      };
    },
    async seed(sessionKey, messages, changes = {}) {
      await appendEntry(table, sessionKey, resetEntry, Date.now() + bench.later);
      await table.update(metaKey(sessionKey), [set("inbox", []), set("inboxBytes", 0)]);
      const held = (await acquire(table, sessionKey, "seed", Date.now() + bench.later))!;
      for (let start = 0; start < messages.length; start += 25)
        await writeMessages(
          { table, bucket },
          held.lease,
          held.state.sessionId,
          start + 1,
          messages.slice(start, start + 25),
        );
      const steps = Object.entries({ head: messages.length, ...changes }).map(([name, value]) =>
        set(name, value as never),
      );
      const { commits = 0 } = await commit(table, held.lease, steps);
      await releaseIdle(table, held.lease, commits);
    },
    async submit(sessionKey, entry) {
      await appendEntry(table, sessionKey, entry, Date.now() + bench.later);
    },
    async invoke(sessionKey, life) {
      try {
        await holdSession(bench.agent(life), sessionKey, () => 900_000);
        return true;
      } catch (error) {
        if (!(error instanceof Killed)) throw error;
        return false;
      } finally {
        bench.later += 31_000;
      }
    },
    state: async (sessionKey) => (await readSession(table, sessionKey))!,
    live: async (sessionKey) => readMessages({ table, bucket }, await bench.state(sessionKey)),
    async parts(sessionKey) {
      const { sessionId } = await bench.state(sessionKey);
      const { parts } = await findArchives(bucket, agentIdOf(sessionKey), sessionId);
      return Promise.all(parts.map((key) => messagesOf(readArchive(bucket, key))));
    },
    async items(sessionKey) {
      const items = await table.query({ pk: metaKey(sessionKey).pk });
      return items.filter((item) => item.sk !== "META" && item.expiresAt === undefined);
    },
  };
  return bench;
}

/** Gives replies the time of the bench's clock, as pi-ai gives them that of the process. */
export function dated(callModel: CallModel, now: () => number): CallModel {
  return async (call) => {
    const outcome = await callModel(call);
    if (outcome.status !== "answered") return outcome;
    return { ...outcome, message: { ...outcome.message, timestamp: now() } };
  };
}

/** The clock of these tests is set forward at will. */
function withoutResets(configuration: Configuration): Configuration {
  configuration.session.defaultResetPolicy = { mode: "manual" };
  return configuration;
}

async function messagesOf(archive: AsyncIterable<Message>): Promise<Message[]> {
  const messages: Message[] = [];
  for await (const message of archive) messages.push(message);
  return messages;
}

const resetEntry: InboxEntry = {
  id: "seed",
  at: 0,
  origin: { kind: "client" },
  kind: "reset",
  via: "method",
};
