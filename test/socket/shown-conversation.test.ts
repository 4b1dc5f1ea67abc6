import { afterEach, beforeEach, expect, it } from "vitest";
import { storeMedia } from "../../shared/media/media-store.ts";
import type { Message } from "../../shared/protocol/messages.ts";
import type { Method } from "../../shared/protocol/methods.ts";
import type { Results } from "../../shared/protocol/results.ts";
import { newRun } from "../../shared/session/run.ts";
import { metaKey, newSession, type SessionState, toState } from "../../shared/session/state.ts";
import { writeMessages } from "../../shared/session/transcript.ts";
import { clientParams } from "../support/peer.ts";
import { openSocketWorld, type SocketFunction, type SocketWorld } from "../support/socket-function.ts";
import { type State, startState } from "../support/state.ts";

/** What a client needs to show a conversation: its pages, its files, and the run in progress. */

const sessionKey = "agent:main:main";
let state: State;
let world: SocketWorld;
let socket: SocketFunction;
beforeEach(async () => {
  state = await startState();
  world = openSocketWorld(state);
  socket = world.start();
  await socket.open("page", (await world.token(["client"])).token);
  await socket.request("page", "connect", clientParams("page"));
});
afterEach(() => state.close());

async function call<M extends Method>(method: M, params: object): Promise<Results[M]> {
  const answer = await socket.request("page", method, params);
  expect(answer).toMatchObject({ ok: true });
  return (answer as unknown as { payload: Results[M] }).payload;
}

/** Stores messages 1 to `count`, of which a compaction has archived those before `first`. */
async function say(count: number, first: number, more: Partial<SessionState> = {}): Promise<void> {
  const session = { ...newSession(sessionKey, "id", 1), first, head: count, ...more };
  await state.table.put({ ...(session as never as object), ...metaKey(sessionKey) });
  const messages: Message[] = Array.from({ length: count - first + 1 }, (_, index) => ({
    role: "user",
    content: `message ${first + index}`,
    timestamp: first + index,
  }));
  await writeMessages(state, { sessionKey, epoch: 1 }, "id", first, messages);
}

it("session.preview reads backwards in pages, and numbers each message", async () => {
  await say(25, 4);
  const pages: string[][] = [];
  let before: number | undefined;
  for (;;) {
    const page = await call("session.preview", { sessionKey, limit: 10, before });
    expect(page).toMatchObject({ first: 4, messageCount: 22 });
    expect(page.messages.map(({ content, seq }) => [content, seq])).toEqual(
      page.messages.map(({ timestamp }) => [`message ${timestamp}`, timestamp]),
    );
    pages.push(page.messages.map(({ content }) => String(content)));
    before = page.messages[0]!.seq;
    if (before === page.first) break;
  }
  const all = Array.from({ length: 22 }, (_, index) => `message ${index + 4}`);
  expect(pages.reverse().flat()).toEqual(all);
  expect(pages.map(({ length }) => length)).toEqual([2, 10, 10]);
  expect((await call("session.preview", { sessionKey, before: 4 })).messages).toEqual([]);
});

it("session.stats names the run in progress as its events do", async () => {
  const entry = { kind: "message", id: "run-1", at: 1, origin: { kind: "client" }, text: "hi" } as const;
  await say(1, 1, { run: { ...newRun(entry, 1, 1), step: 2, attempt: 3 } });
  expect(await call("session.stats", { sessionKey })).toMatchObject({
    ...{ isProcessing: true, runId: "run-1", step: 2, attempt: 3 },
  });
  await say(1, 1);
  expect(await call("session.stats", { sessionKey })).not.toHaveProperty("step");
});

it("chat.send accepts an attachment without a text, and nothing without both", async () => {
  const data = Buffer.from("a voice").toString("base64");
  const media = [{ type: "audio", mimeType: "audio/webm", data }];
  expect(await call("chat.send", { sessionKey, runId: "voice", media })).toMatchObject({ status: "started" });
  const item = await state.table.get(metaKey(sessionKey));
  expect(toState(item!).inbox[0]).toMatchObject({ text: "", media: [{ mimeType: "audio/webm" }] });
  for (const empty of [{}, { message: "" }, { message: " " }])
    expect(await socket.request("page", "chat.send", { sessionKey, ...empty })).toMatchObject({
      error: { code: 400, message: "message: is empty; write a text or attach a file" },
    });
});

it("media.url opens a file of its session, and nothing else in the bucket", async () => {
  const body = Buffer.from("%PDF");
  const file = { type: "document", mimeType: "application/pdf", body } as const;
  const { r2Key } = await storeMedia(state.bucket, { sessionKey, id: "m", now: 1 }, file);
  const asked: [string, number][] = [];
  const get = async (key: string, seconds: number) => {
    asked.push([key, seconds]);
    return "https://bucket.example/file";
  };
  socket = world.start(undefined, { presigner: { ...world.outside.presigner, get } });
  const found = await call("media.url", { sessionKey: "main", r2Key });
  expect(found).toMatchObject({ url: "https://bucket.example/file", mimeType: "application/pdf" });
  expect(found.expiresAt - world.now()).toBeGreaterThan(299_000);
  expect(asked).toEqual([[r2Key, 300]]);
  await state.bucket.put("agents/main/MEMORY.md", "secret");
  await state.bucket.put("media/agent:main:main/sub/x.pdf", "secret");
  for (const other of [
    ...["agents/main/MEMORY.md", "media/agent:main:main/../../agents/main/MEMORY.md", `${r2Key}x`],
    ...["media/agent:main:main/", "media/agent:main:main/sub/x.pdf", r2Key.replace("main/", "mainly/")],
  ])
    expect(await socket.request("page", "media.url", { sessionKey, r2Key: other }), other).toMatchObject({
      error: { code: 404 },
    });
  expect(await socket.request("page", "media.url", { sessionKey: "other", r2Key })).toMatchObject({
    error: { code: 404 },
  });
  expect(asked).toHaveLength(1);
});

it("a new label is announced to clients that follow all sessions, and to no other one", async () => {
  const { token } = await world.token(["client"]);
  await socket.open("follower", token);
  const follower = { ...clientParams("follower"), capabilities: ["session-events"] };
  await socket.request("follower", "connect", follower);
  await say(1, 1);
  await call("session.patch", { sessionKey, label: "home" });
  await call("session.patch", { sessionKey, settings: { maxTokens: 5 } });
  expect(world.events("follower")).toMatchObject([
    { event: "session.changed", payload: { sessionKey, label: "home", isProcessing: false } },
  ]);
  expect(world.events("page")).toEqual([]);
});
