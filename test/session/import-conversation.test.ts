import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Message } from "../../shared/protocol/messages.ts";
import { archiveSession } from "../../shared/session/archive.ts";
import { type Importer, importConversation } from "../../shared/session/import-conversation.ts";
import { appendEntry } from "../../shared/session/inbox.ts";
import { leaseMs } from "../../shared/session/lease.ts";
import { patchSession, readSession } from "../../shared/session/sessions.ts";
import { metaKey } from "../../shared/session/state.ts";
import { readMessages } from "../../shared/session/transcript.ts";
import { immortal, Killed, type Life, mortal } from "../agent/bench.ts";
import { type State, startState } from "../support/state.ts";

let state: State;
let made = 0;
let now = 1_000_000;
let woken: string[] = [];
beforeAll(async () => {
  state = await startState();
});
afterAll(() => state.close());

const messages: Message[] = Array.from({ length: 60 }, (_, i) => ({
  role: "user",
  content: i === 30 ? "x".repeat(350_000) : `message ${i}`,
  timestamp: i,
}));
const importer = (life: Life = immortal()): Importer => ({
  table: mortal(state.table, "table", life),
  bucket: mortal(state.bucket, "bucket", life),
  wake: async (sessionKey) => void woken.push(sessionKey),
  now: () => now,
});
const newImport = () => ({ sessionKey: `agent:main:i${++made}`, sessionId: randomUUID(), messages });
const live = async (sessionKey: string) => readMessages(state, (await readSession(state.table, sessionKey))!);
const entry = { id: "e", at: 1, origin: { kind: "client" }, kind: "message", text: "hi" } as const;

describe("M45: an import", () => {
  it("becomes the conversation of a session that did not exist, and is listed", async () => {
    const imported = newImport();
    await importConversation(importer(), imported);
    expect(await live(imported.sessionKey)).toEqual(messages);
    const item = await state.table.get(metaKey(imported.sessionKey));
    expect(item).toMatchObject({ sessionId: imported.sessionId, first: 1, head: 60, listSk: now });
    for (const name of ["owner", "leaseUntil", "duePk"]) expect(item).not.toHaveProperty(name);
  });

  it("is the same import when it is repeated", async () => {
    const imported = newImport();
    for (let i = 0; i < 2; i++) await importConversation(importer(), imported);
    expect(await live(imported.sessionKey)).toHaveLength(60);
  });

  it("is refused in a session with messages or a waiting entry, which stays unchanged", async () => {
    const [said, waiting] = [newImport(), newImport()];
    await importConversation(importer(), said);
    await appendEntry(state.table, waiting.sessionKey, entry, now);
    for (const { sessionKey } of [said, waiting]) {
      const before = await readSession(state.table, sessionKey);
      const another = { sessionKey, sessionId: randomUUID(), messages: messages.slice(0, 1) };
      await expect(importConversation(importer(), another)).rejects.toMatchObject({ code: 409 });
      expect(await readSession(state.table, sessionKey)).toEqual(before);
    }
  });

  it("is refused when a message arrives just before the lease, and the message stays", async () => {
    const imported = newImport();
    const plain = importer();
    const update: Importer["table"]["update"] = async (key, steps, ...rest) => {
      if (steps.some((step) => JSON.stringify(step).includes("leaseUntil")) && woken.length === 0) {
        woken.push("once");
        await appendEntry(state.table, imported.sessionKey, entry, now);
      }
      return plain.table.update(key, steps, ...rest);
    };
    woken = [];
    const refused = importConversation({ ...plain, table: { ...plain.table, update } }, imported);
    await expect(refused).rejects.toMatchObject({ code: 409 });
    expect(woken).toEqual(["once", imported.sessionKey]);
    const after = await readSession(state.table, imported.sessionKey);
    expect(after).toMatchObject({ head: 0, inbox: [entry] });
    expect(after?.owner).toBeUndefined();
  });

  it("is refused with the id of an archived conversation", async () => {
    const first = newImport();
    await importConversation(importer(), first);
    await archiveSession(state, (await readSession(state.table, first.sessionKey))!, now);
    const second = { ...newImport(), sessionId: first.sessionId };
    await expect(importConversation(importer(), second)).rejects.toMatchObject({ code: 409 });
    expect(await readSession(state.table, second.sessionKey)).toBeUndefined();
    // Otherwise the next reset of the session would replace its archive.
    await patchSession(state.table, second.sessionKey, {}, now);
    await expect(importConversation(importer(), second)).rejects.toMatchObject({ code: 409 });
    expect(await readSession(state.table, second.sessionKey)).toMatchObject({ head: 0 });
  });

  it("wakes the agent for a message that arrived meanwhile", async () => {
    const imported = newImport();
    const plain = importer();
    woken = [];
    const put: Importer["table"]["put"] = async (item, ...rest) => {
      if (String(item.sk).endsWith("0000000060"))
        await appendEntry(state.table, imported.sessionKey, entry, now);
      return plain.table.put(item, ...rest);
    };
    await importConversation({ ...plain, table: { ...plain.table, put } }, imported);
    expect(woken).toEqual([imported.sessionKey]);
    expect(await readSession(state.table, imported.sessionKey)).toMatchObject({ head: 60, inbox: [entry] });
  });

  it("killed after each of its AWS calls leaves an empty session or all messages, and a repeat ends the same", async () => {
    const whole = immortal();
    await importConversation(importer(whole), newImport());
    for (let left = 0; left < whole.calls.length; left++) {
      const imported = newImport();
      const killed = importConversation(importer({ left, calls: [] }), imported);
      await expect(killed, `after ${left} calls`).rejects.toBeInstanceOf(Killed);
      const between = await readSession(state.table, imported.sessionKey);
      expect([undefined, 0, 60], `after ${left} calls`).toContain(between?.head);
      now += leaseMs + 1;
      await importConversation(importer(), imported);
      const { sessionId, head, owner } = (await readSession(state.table, imported.sessionKey))!;
      expect({ sessionId, head }).toEqual({ sessionId: imported.sessionId, head: 60 });
      if (between?.head !== 60) expect(owner).toBeUndefined();
      expect(await live(imported.sessionKey)).toEqual(messages);
    }
  });
});
