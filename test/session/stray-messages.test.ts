import { setTimeout } from "node:timers/promises";
import { expect, it } from "vitest";
import { createHistory } from "../../functions/agent/context/history.ts";
import { SessionWriter } from "../../functions/agent/session-writer.ts";
import { createMemoryTable } from "../../local/world/local-table.ts";
import { defaults } from "../../shared/configuration/defaults.ts";
import { appendEntry } from "../../shared/session/inbox.ts";
import { acquire, commit, LeaseLost } from "../../shared/session/lease.ts";
import { metaKey } from "../../shared/session/state.ts";
import { openBook } from "../../shared/spend/book.ts";
import { set } from "../../shared/world/expression.ts";
import { ConditionFailed, type Table } from "../../shared/world/world.ts";
import { createMemoryBucket } from "../support/memory-bucket.ts";

const sessionKey = "agent:main:stray";
const said = { role: "user", content: "hello", timestamp: 0 } as const;

/** A holder whose session is taken over and reset at a chosen moment. */
async function heldSession() {
  const memory = createMemoryTable();
  const entry = { id: "m", at: 0, origin: { kind: "client" }, kind: "message", text: "" } as const;
  await appendEntry(memory, sessionKey, entry, 0);
  const reset = async () => {
    const taken = await acquire(memory, sessionKey, "another", 60_000);
    await commit(memory, taken!.lease, [set("sessionId", "the next")]);
  };
  const held = (await acquire(memory, sessionKey, "holder", 0))!;
  const holdOver = (table: Table, now: () => number) => {
    const bucket = createMemoryBucket();
    const configuration = { load: async () => defaults };
    const book = openBook({ table, configuration, now, tell: async () => {} });
    return new SessionWriter({ table, bucket, book, now, history: createHistory({ table, bucket }) }, held);
  };
  const messages = async () => memory.query({ pk: metaKey(sessionKey).pk, prefix: "M#" });
  return { memory, reset, holdOver, messages };
}

it("a writer that was paused before its write notices that it lost the session, and leaves nothing", async () => {
  const { memory, reset, holdOver, messages } = await heldSession();
  const hold = holdOver(memory, () => 60_000);
  await reset();
  await expect(hold.append([said], [])).rejects.toThrow(LeaseLost);
  hold.end();
  expect(await messages()).toEqual([]);
});

it("messages written into a conversation that was reset meanwhile expire", async () => {
  const { memory, reset, holdOver, messages } = await heldSession();
  let isReset = false;
  const overtaken: Table = {
    ...memory,
    async put(...write) {
      if (!isReset) await reset();
      isReset = true;
      return memory.put(...write);
    },
  };
  const hold = holdOver(overtaken, () => 1_000);
  await expect(hold.append([said], [])).rejects.toThrow(LeaseLost);
  hold.end();
  expect(await messages()).toMatchObject([{ expiresAt: 1 + 24 * 3600 }]);
});

it.each([
  ["is being deleted", [set("resetting", { newSessionId: "the next", at: 0, mediaDeleted: 0 })]],
  ["was compacted", [set("first", 2), set("head", 2)]],
])("messages written after the conversation %s expire", async (_, steps) => {
  const { memory, holdOver, messages } = await heldSession();
  let isTaken = false;
  const overtaken: Table = {
    ...memory,
    async put(...write) {
      const taken = isTaken ? undefined : await acquire(memory, sessionKey, "another", 60_000);
      isTaken = true;
      if (taken) await commit(memory, taken.lease, steps);
      return memory.put(...write);
    },
  };
  const hold = holdOver(overtaken, () => 1_000);
  await expect(hold.append([said], [])).rejects.toThrow(LeaseLost);
  hold.end();
  expect(await messages()).toMatchObject([{ expiresAt: 1 + 24 * 3600 }]);
});

it("a message that is written after another one was refused expires", async () => {
  const { memory, reset, holdOver, messages } = await heldSession();
  let puts = 0;
  const overtaken: Table = {
    ...memory,
    async put(item, condition) {
      puts += 1;
      if (puts === 1) {
        await reset();
        throw new ConditionFailed();
      }
      await setTimeout(20);
      return memory.put(item, condition);
    },
  };
  const hold = holdOver(overtaken, () => 1_000);
  await expect(hold.append([said, said], [])).rejects.toThrow(LeaseLost);
  hold.end();
  expect(await messages()).toMatchObject([{ expiresAt: 1 + 24 * 3600 }]);
});

it("messages written into the live conversation do not expire: they may be committed", async () => {
  const { memory, holdOver, messages } = await heldSession();
  const overtaken: Table = {
    ...memory,
    async put(...write) {
      await acquire(memory, sessionKey, "another", 60_000);
      return memory.put(...write);
    },
  };
  const hold = holdOver(overtaken, () => 1_000);
  await expect(hold.append([said], [])).rejects.toThrow(LeaseLost);
  hold.end();
  expect((await messages())[0]).not.toHaveProperty("expiresAt");
});
