import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { bindPeer, openConnection } from "../../../shared/peers/registry.ts";
import type { Events } from "../../../shared/protocol/events.ts";
import type { EventFrame } from "../../../shared/protocol/frames.ts";
import type { InboxEntry } from "../../../shared/session/inbox-entry.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer } from "../../support/models/scripted-model.ts";
import { type MemoryState, startState } from "../../support/state.ts";
import { type Bench, immortal, openBench } from "../bench.ts";

/** What clients that follow all sessions learn of a run, besides its replies. */

let state: MemoryState;
let model: ModelServer;
let bench: Bench;
beforeAll(async () => {
  model = await startOpenAiServer(({ turns }) => {
    const last = turns.at(-1);
    if (last?.role === "user" && last.text.startsWith("read"))
      return { toolCalls: [{ name: "gsv__ReadFile", arguments: { path: "notes.md" } }] };
    return { text: "the answer" };
  });
});
afterAll(() => model?.close());
beforeEach(async () => {
  state = await startState();
  bench = openBench(state, { provider: "openai-compatible", id: "m", baseUrl: model.url });
});

async function join(connectionId: string, capabilities: string[]): Promise<void> {
  const record = { connectionId, openedAt: Date.now(), tokenId: "t" };
  await openConnection(state.table, record);
  await bindPeer(state.table, record, {
    ...{ id: connectionId, mode: "client", connectionId, tokenId: "t", connectedAt: Date.now() },
    ...{ version: "1", platform: "test", capabilities },
  });
}

let submitted = 0;
async function run(sessionKey: string, more: Partial<InboxEntry> = {}, text = "hello"): Promise<string> {
  const id = `run-${++submitted}`;
  const base = { id, at: 1000 + submitted, origin: { kind: "client" }, kind: "message", text } as const;
  await bench.submit(sessionKey, { ...base, ...more } as InboxEntry);
  await bench.invoke(sessionKey);
  return id;
}

const eventsTo = (connectionId: string) =>
  bench.posted.filter((post) => post.connectionId === connectionId).map(({ frame }) => frame as EventFrame);
const namesTo = (connectionId: string) =>
  eventsTo(connectionId).map(({ event, payload }) =>
    event === "chat" ? (payload as Events["chat"]).state : event,
  );

const peer = { kind: "dm", id: "42" } as const;
const telegram = { kind: "channel", channel: "telegram", accountId: "default", peer } as const;

it("a page gets the message of another client or channel with its origin and number, before the answer", async () => {
  await join("page", ["session-events"]);
  await bench.seed("agent:main:main", [], { label: "home" });
  const runId = await run("agent:main:main", { origin: telegram, senderId: "42" });
  const [said] = eventsTo("page").filter(({ event }) => event === "chat");
  const { head } = await bench.state("agent:main:main");
  expect(said?.payload).toMatchObject({
    ...{ state: "user", runId, sessionKey: "agent:main:main", seq: head - 1 },
    message: { role: "user", content: "hello", origin: { channel: "telegram", peerId: "42" } },
  });
  expect(namesTo("page").indexOf("user")).toBeLessThan(namesTo("page").indexOf("final"));
  const changes = eventsTo("page").filter(({ event }) => event === "session.changed");
  expect(changes.map(({ payload }) => payload)).toMatchObject([
    { sessionKey: "agent:main:main", label: "home", isProcessing: true },
    { sessionKey: "agent:main:main", label: "home", isProcessing: false },
  ]);
});

it("a run with tool calls announces its message once", async () => {
  await join("page", ["session-events"]);
  await run("agent:main:main", {}, "read it");
  expect(namesTo("page").filter((name) => name === "user")).toHaveLength(1);
  expect(namesTo("page").filter((name) => name === "session.changed")).toHaveLength(2);
});

it("a reset is announced with the id of the new conversation", async () => {
  await join("page", ["session-events"]);
  await run("agent:main:main");
  const before = await bench.state("agent:main:main");
  bench.posted.length = 0;
  const reset = { id: "reset", at: 9000, origin: { kind: "client" }, kind: "reset", via: "method" } as const;
  await bench.submit("agent:main:main", reset);
  await bench.invoke("agent:main:main");
  const { sessionId } = await bench.state("agent:main:main");
  expect(sessionId).not.toBe(before.sessionId);
  expect(eventsTo("page").filter(({ event }) => event === "session.changed")).toMatchObject([
    { payload: { sessionKey: "agent:main:main", sessionId, isProcessing: false } },
  ]);
});

it("a client of an earlier version gets only what it did before", async () => {
  await join("cli", ["payload-s3"]);
  await run("agent:main:main");
  expect(new Set(namesTo("cli"))).toEqual(new Set(["delta", "final"]));
});

it("a turn makes the same calls with a page, and without one", async () => {
  const calls = async (sessionKey: string) => {
    await bench.seed(sessionKey, []);
    await bench.submit(sessionKey, {
      ...{ id: sessionKey, at: 1, origin: { kind: "client" }, kind: "message", text: "hello" },
    });
    const life = immortal();
    await bench.invoke(sessionKey, life);
    return life.calls.sort();
  };
  const alone = await calls("agent:main:alone");
  await join("page", ["session-events"]);
  expect(await calls("agent:main:shown")).toEqual(alone);
  expect(namesTo("page")).toContain("user");
});
