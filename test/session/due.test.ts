import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { dueSteps } from "../../shared/session/due.ts";
import { appendEntry } from "../../shared/session/inbox.ts";
import { acquire, leaseMs, releaseIdle, renew } from "../../shared/session/lease.ts";
import { listSessions, patchSession } from "../../shared/session/sessions.ts";
import { metaKey } from "../../shared/session/state.ts";
import { set } from "../../shared/world/expression.ts";
import { duePks, type State, startState } from "../support/state.ts";

let state: State;
beforeEach(async () => {
  state = await startState();
});
afterEach(() => state.close());

const keyOf = (n: number) => `agent:main:${n}`;
const entry = { id: "m", at: 0, origin: { kind: "client" }, kind: "message", text: "hello" } as const;
const overdueAt = async (now: number) => (await duePks(state.table, now)).map((pk) => pk.slice("S#".length));

it("sessions are listed by last activity, whichever partition lists them", async () => {
  const all = Array.from({ length: 60 }, (_, n) => n);
  for (const n of all) await patchSession(state.table, keyOf(n), {}, n);
  for (const n of [5, 50])
    await state.table.update(metaKey(keyOf(n)), [set("listPk", "SESSION"), set("listSk", n)]);
  const items = await Promise.all(all.map((n) => state.table.get(metaKey(keyOf(n)))));
  expect(new Set(items.map((item) => item?.listPk)).size).toBeGreaterThan(12);
  const listed = await listSessions(state.table, 7, 40);
  expect(listed.map(({ sessionKey }) => sessionKey)).toEqual(all.reverse().slice(7, 47).map(keyOf));
});

it("an item of the previous release is found where it is, and moves when it is written", async () => {
  const key = metaKey(keyOf(1));
  await appendEntry(state.table, keyOf(1), entry, 1000);
  await state.table.update(key, [set("duePk", "DUE")]);
  expect(await overdueAt(1000)).toEqual([keyOf(1)]);
  await state.table.update(key, dueSteps(key, 2000));
  expect((await state.table.get(key))?.duePk).toMatch(/^DUE#\d+$/);
  expect(await overdueAt(1999)).toEqual([]);
});

describe("a held session", () => {
  it("is due when its lease and up to half a minute have passed, and not while it is renewed", async () => {
    await appendEntry(state.table, keyOf(1), entry, 1000);
    const { lease } = (await acquire(state.table, keyOf(1), "me", 1000))!;
    await appendEntry(state.table, keyOf(1), { ...entry, id: "another" }, 2000);
    expect(await overdueAt(1000 + leaseMs)).toEqual([]);
    expect(await overdueAt(1000 + leaseMs + 30_000)).toEqual([keyOf(1)]);
    await renew(state.table, lease, 50_000);
    expect(await overdueAt(50_000 + leaseMs)).toEqual([]);
  });

  it("is not due once it is released", async () => {
    await patchSession(state.table, keyOf(1), {}, 0);
    const { lease } = (await acquire(state.table, keyOf(1), "me", 1000))!;
    await releaseIdle(state.table, lease, 0);
    expect(await overdueAt(Number.MAX_SAFE_INTEGER)).toEqual([]);
  });
});
