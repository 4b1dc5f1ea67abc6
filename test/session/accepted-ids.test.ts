import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { createMemoryTable } from "../../local/world/local-table.ts";
import { appendEntry, refuseId, trimAcceptedIds, wasAccepted } from "../../shared/session/inbox.ts";
import type { InboxEntry } from "../../shared/session/inbox-entry.ts";
import { acquire, commitEntry, type Lease } from "../../shared/session/lease.ts";
import { metaKey, newSession, type SessionState } from "../../shared/session/state.ts";
import type { Table } from "../../shared/world/world.ts";
import { observed } from "../support/state.ts";

const sessionKey = "agent:main:ids";
const hour = 3_600_000;
const start = Date.parse("2026-03-01T08:00:00Z");
const entry = (id: string): InboxEntry => ({
  id,
  at: 0,
  origin: { kind: "client" },
  kind: "message",
  text: "",
});

let table: Table;
let lease: Lease;
let state: SessionState;
beforeEach(async () => {
  table = createMemoryTable();
  await appendEntry(table, sessionKey, entry("first"), start);
  ({ lease, state } = (await acquire(table, sessionKey, "agent", start))!);
  await take(start);
});

/** Removes the oldest entry from the inbox, like the agent, based on the last state that it saw. */
async function take(now: number): Promise<void> {
  const [oldest] = state.inbox;
  state = await commitEntry(table, lease, oldest!, trimAcceptedIds(state, oldest!.id, now));
}

/** Whether a message is accepted; the agent processes it at once. */
async function send(id: string, now: number): Promise<boolean> {
  const appended = await appendEntry(table, sessionKey, entry(id), now);
  state = appended.state;
  if (appended.accepted) await take(now);
  return appended.accepted;
}

async function sendOthers(count: number, from: number, apart: number): Promise<void> {
  for (let n = 0; n < count; n++) expect(await send(randomUUID(), from + n * apart)).toBe(true);
}

describe("a message that is sent again", () => {
  it.each([0, 1, 49])("is dropped after %i others, no matter how old it is", async (others) => {
    const id = randomUUID();
    await send(id, start);
    await sendOthers(others, start, hour);
    expect(await send(id, start + 1000 * hour)).toBe(false);
    expect(wasAccepted(state, id)).toBe(true);
  });

  it("is dropped for an hour after 249 others, and after 50 no longer", async () => {
    const id = randomUUID();
    await send(id, start);
    await sendOthers(248, start, 1);
    await sendOthers(1, start + hour, 1);
    expect(await send(id, start + hour)).toBe(false);
    await sendOthers(1, start + 2 * hour, 1);
    expect(await send(id, start + 2 * hour)).toBe(true);
  });

  it.each([
    ["for an hour after it was sent, also behind a long queue", 1, "q0"],
    ["as long as it waits in a long queue", 3 * hour, "q30"],
  ])("is dropped %s", async (_, later, again) => {
    const ids = Array.from({ length: 90 }, (_, n) => `q${n}`);
    for (const id of ids) ({ state } = await appendEntry(table, sessionKey, entry(id), start));
    for (const _ of ids.slice(0, 30)) await take(start + later);
    expect((await appendEntry(table, sessionKey, entry(again), start + later)).accepted).toBe(false);
    for (const _ of ids.slice(30)) await take(start + later);
    expect(state.recent).toEqual({});
    expect((await appendEntry(table, sessionKey, entry(again), start + later)).accepted).toBe(later > hour);
  });

  it("is dropped when the agent removes its first copy from the inbox at the same time", async () => {
    ({ state } = await appendEntry(table, sessionKey, entry("m"), 1));
    const slow = observed(table, async () => {
      if (state.inbox.length > 0) await take(1);
    });
    const { accepted, state: after } = await appendEntry(slow, sessionKey, entry("m"), 1);
    expect([accepted, after.inbox]).toEqual([false, []]);
  });
});

it("all concurrent messages are remembered, and one of two with the same id is accepted", async () => {
  ({ state } = await appendEntry(table, sessionKey, entry("m"), 1));
  const ids = ["a", "b", "a", "c", "b"];
  const append = (id: string) => appendEntry(table, sessionKey, entry(id), 2);
  const appended = await Promise.all(ids.map(append));
  // The agent has not seen any of them when it removes the message before them.
  await take(2);
  expect(appended.filter(({ accepted }) => accepted)).toHaveLength(3);
  for (const id of [...ids, "m"]) expect((await append(id)).accepted).toBe(false);
  expect(state.inbox.map(({ id }) => id).sort()).toEqual(["a", "b", "c"]);
});

it("ids that an earlier version stored are recognized, and shortened from the next message on", async () => {
  const ids = Array.from({ length: 50 }, () => randomUUID());
  const recent = Object.fromEntries(ids.map((id, n) => [id, start - (50 - n) * hour]));
  const session = { ...newSession(sessionKey, "id", 1), recent };
  await table.put({ ...(session as never as object), ...metaKey(sessionKey) });
  expect((await appendEntry(table, sessionKey, entry(ids[0]!), start)).accepted).toBe(false);
  await appendEntry(table, sessionKey, entry("m"), start);
  ({ lease, state } = (await acquire(table, sessionKey, "agent", start))!);
  await take(start);
  expect(state.recent).toEqual({});
  expect(state.accepted).toMatch(/^[\w-]{384} [\w-]{8}@\d{6} [\w-]{8}@\d{6}$/);
  // The oldest of the 51 is dropped.
  const known = ids.map((id) => wasAccepted(state, id));
  expect(known).toEqual([false, ...Array(49).fill(true)]);
});

it("at most as many ids as one write can move are settled at once, the oldest first", async () => {
  const recent = Object.fromEntries(Array.from({ length: 250 }, (_, n) => [`${n}-${"x".repeat(60)}`, n]));
  const session = { ...newSession(sessionKey, "id", 1), recent, inbox: [entry("m"), entry("n")] };
  await table.put({ ...(session as never as object), ...metaKey(sessionKey) });
  ({ lease, state } = (await acquire(table, sessionKey, "agent", 0))!);
  for (const left of [150, 50]) {
    await take(1);
    expect(Object.values(state.recent)).toHaveLength(left);
    expect(Math.min(...Object.values(state.recent))).toBe(250 - left);
  }
});

describe("the newest edit of a message", () => {
  const edit = (of: string, at: number): InboxEntry => ({
    ...entry(`${of}:edit:${at}`),
    ...{ kind: "message", text: "", correction: { of, at } },
  });
  const accepts = async (of: string, at: number, now: number) => {
    const appended = await appendEntry(table, sessionKey, edit(of, at), now);
    state = appended.state;
    if (appended.accepted) await take(now);
    return appended.accepted;
  };

  it("is remembered for a day after it, also when it is delivered late", async () => {
    const [older, newer] = [start - 3 * hour, start - 2 * hour];
    expect(await accepts("m", newer, start)).toBe(true);
    expect(await accepts("m", older, start)).toBe(false);
    expect(await accepts("m", newer, start)).toBe(false);
    await send("a", start + 21 * hour);
    expect(await accepts("m", older, start + 21 * hour)).toBe(false);
    await send("b", start + 23 * hour);
    expect(Object.keys(state.recent)).not.toContain("m:edited");
  });

  it("of ten messages is remembered, and takes no place of a refused id", async () => {
    await refuseId(table, sessionKey, "refused", start);
    for (let at = 1; at <= 60; at++) await accepts(`m${at}`, start + at, start);
    const edited = Object.keys(state.recent).filter((id) => id.endsWith(":edited"));
    expect(edited.map((id) => Number(/\d+/.exec(id))).sort((a, b) => a - b)).toEqual([
      ...[51, 52, 53, 54, 55, 56, 57, 58, 59, 60],
    ]);
    await expect(send("refused", start)).rejects.toThrow("another session");
  });
});
