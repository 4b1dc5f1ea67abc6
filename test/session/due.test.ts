import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readIndex } from "../../shared/session/due.ts";
import { appendEntry } from "../../shared/session/inbox.ts";
import { acquire, leaseMs, releaseIdle, renew } from "../../shared/session/lease.ts";
import { patchSession } from "../../shared/session/sessions.ts";
import { type State, startState } from "../support/state.ts";

let state: State;
beforeEach(async () => {
  state = await startState();
});
afterEach(() => state.close());

const keyOf = (n: number) => `agent:main:${n}`;
const entry = { id: "m", at: 0, origin: { kind: "client" }, kind: "message", text: "hello" } as const;
const overdueAt = async (upTo: number) => {
  const rows = await readIndex(state.table, { index: "due", upTo });
  return rows.map(({ pk }) => String(pk).slice("S#".length));
};

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
