import { afterAll, beforeAll, expect, it } from "vitest";
import { sweep } from "../../functions/timer/sweep.ts";
import type { Timer } from "../../functions/timer/timer.ts";
import { appendEntry } from "../../shared/session/inbox.ts";
import { acquire, commitEntry, releaseUnfinished } from "../../shared/session/lease.ts";
import { duePks, type State, startState } from "../support/state.ts";

let state: State;
beforeAll(async () => {
  state = await startState();
});
afterAll(() => state.close());

it("checks all sessions, even after one that fails, and fails for that one", async () => {
  const keys = ["a", "b", "c"].map((name) => `agent:main:${name}`);
  for (const [at, key] of keys.entries()) {
    const entry = { id: "m", at, origin: { kind: "client" }, kind: "message", text: "hello" } as const;
    await appendEntry(state.table, key, entry, at);
  }
  const woken: string[] = [];
  const wake = async (key: string) => {
    if (key === keys[0]) throw new Error("no");
    woken.push(key);
  };
  const timer = { table: state.table, wake, now: () => 1000 } as unknown as Timer;
  await expect(sweep(timer)).rejects.toThrow("no");
  expect(woken).toEqual(keys.slice(1));
});

it("unlists an idle session that an agent released without knowing that it was idle", async () => {
  const key = "agent:main:idle";
  const entry = { id: "m", at: 0, origin: { kind: "client" }, kind: "message", text: "hello" } as const;
  await appendEntry(state.table, key, entry, 0);
  const { lease } = (await acquire(state.table, key, "me", 0))!;
  await commitEntry(state.table, lease, entry, []);
  const listed = async (now: number) =>
    (await duePks(state.table, now)).filter((pk) => pk === `S#${key}`).length;
  const sweepAt = (now: number) =>
    sweep({ table: state.table, wake: async () => {}, now: () => now } as unknown as Timer);
  await sweepAt(1000);
  // Its agent is working, and will release it.
  expect(await listed(60_000)).toBe(1);
  await releaseUnfinished(state.table, lease, 1000);
  await sweepAt(2000);
  expect(await listed(2000)).toBe(0);
  await appendEntry(state.table, key, { ...entry, id: "next" }, 3000);
  expect(await listed(3000)).toBe(1);
});
