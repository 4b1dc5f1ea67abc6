import { randomUUID } from "node:crypto";
import { beforeEach, expect, it } from "vitest";
import { storeMedia } from "../../shared/media/media-store.ts";
import { type Message, textOf } from "../../shared/protocol/messages.ts";
import { forkSession } from "../../shared/session/fork-session.ts";
import { readSession } from "../../shared/session/sessions.ts";
import { metaKey, newSession, type SessionState } from "../../shared/session/state.ts";
import { readMessages, writeMessages } from "../../shared/session/transcript.ts";
import { type MemoryState, startState } from "../support/state.ts";

const sessionKey = "agent:main:main";
let state: MemoryState;
beforeEach(async () => {
  state = await startState();
});

const importer = () => ({ ...state, wake: async () => {}, now: () => 5000 });
const user = (text: string): Message => ({ role: "user", content: text, timestamp: 1 });
const reply = (text: string): Message => ({
  ...{ role: "assistant", content: [{ type: "text", text }], timestamp: 1 },
});

async function seed(messages: Message[], first = 1, more: Partial<SessionState> = {}): Promise<void> {
  const head = first + messages.length - 1;
  const session = { ...newSession(sessionKey, "old", 1), first, head, ...more };
  await state.table.put({ ...(session as never as object), ...metaKey(sessionKey) });
  await writeMessages(state, { sessionKey, epoch: 1 }, "old", first, messages);
}

const fork = (seq?: number, forkId: string = randomUUID()) =>
  forkSession(importer(), { sessionKey, forkId, ...(seq === undefined ? {} : { seq }) });
async function textsOf(key: string): Promise<string[]> {
  return (await readMessages(state, (await readSession(state.table, key))!)).map(textOf);
}

const talk = [user("one"), reply("1"), user("two"), reply("2")];

it("a fork has what precedes the message, settings, label and origins; the old session stays as it was", async () => {
  const more = {
    settings: { maxTokens: 7 },
    label: "home",
    origins: ["web:a.example"],
    private: true,
  } as const;
  await seed(talk, 4, { ...more, origins: ["web:a.example"] });
  const before = state.items().filter(({ pk }) => pk === metaKey(sessionKey).pk);
  const made = await fork(6);
  expect(made).toMatchObject({ messages: 2, sessionKey: `agent:main:fork-${made.sessionId}` });
  expect(await textsOf(made.sessionKey)).toEqual(["one", "1"]);
  expect(await readSession(state.table, made.sessionKey)).toMatchObject({ ...more, first: 1, head: 2 });
  expect(await textsOf((await fork()).sessionKey)).toEqual(["one", "1", "two", "2"]);
  expect((await fork(4)).messages).toBe(0);
  expect(state.items().filter(({ pk }) => pk === metaKey(sessionKey).pk)).toEqual(before);
});

it("a repeated request is the same fork, also after messages were added to it", async () => {
  await seed(talk);
  const id = randomUUID();
  const [one, again] = [await fork(3, id), await fork(3, id)];
  expect(again).toEqual(one);
  expect(await textsOf(one.sessionKey)).toEqual(["one", "1"]);
});

it("a fork keeps its files when the old session deletes its own", async () => {
  const body = Buffer.from("\u0089PNG");
  const file = { type: "document", mimeType: "application/pdf", body } as const;
  const { r2Key } = await storeMedia(state.bucket, { sessionKey, id: "m", now: 1 }, file);
  const note = `see ${r2Key}, and ${r2Key.replace(/[\w-]+\.pdf/, "gone.pdf")}`;
  await seed([user(note), reply("ok"), user("next")]);
  const made = await fork(3);
  await state.bucket.delete(r2Key);
  const copied = r2Key.replace(sessionKey, made.sessionKey);
  expect((await textsOf(made.sessionKey))[0]).toContain(
    `see ${copied}, and media/${made.sessionKey}/gone.pdf`,
  );
  const stored = await state.bucket.get(copied);
  expect(Buffer.from(stored!.body)).toEqual(body);
  expect(stored).toMatchObject({ contentType: "application/pdf", metadata: { sessionKey: made.sessionKey } });
});

it("a message that is archived, missing or not a user's begins no session", async () => {
  await seed(talk, 4);
  const before = state.items().length;
  for (const seq of [1, 3, 9]) await expect(fork(seq)).rejects.toMatchObject({ code: 404 });
  for (const seq of [5, 7]) await expect(fork(seq)).rejects.toMatchObject({ code: 400 });
  const absent = { sessionKey: "agent:main:absent", forkId: randomUUID() };
  await expect(forkSession(importer(), absent)).rejects.toMatchObject({ code: 404 });
  expect(state.items()).toHaveLength(before);
});

it("a conversation that is compacted meanwhile is not copied with a gap", async () => {
  await seed(talk);
  const table: typeof state.table = {
    ...state.table,
    async query(query) {
      const items = await state.table.query(query);
      if (query.from === undefined) return items;
      await seed([user("summary"), user("three")], 5);
      return items.slice(2);
    },
  };
  const request = { sessionKey, forkId: randomUUID() };
  await expect(forkSession({ ...importer(), table }, request)).rejects.toMatchObject({
    ...{ code: 409, retryable: true },
  });
});
