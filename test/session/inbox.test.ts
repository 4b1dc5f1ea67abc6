import { afterAll, beforeAll, expect, it } from "vitest";
import { appendEntry, forgetOldIds } from "../../shared/session/inbox.ts";
import { acquire, commitEntry } from "../../shared/session/lease.ts";
import { metaKey, newSession, toState } from "../../shared/session/state.ts";
import { type State, startState } from "../support/state.ts";

let state: State;
beforeAll(async () => {
  state = await startState();
});
afterAll(() => state.close());

it("forgets ids of long ago, as many at once as one write takes, and none that waits", async () => {
  const key = metaKey("agent:main:inbox");
  const id = (n: number) => `${String(n).padStart(4, "0")}-${"x".repeat(60)}`;
  const recent = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [id(n), n]));
  const waiting = {
    id: id(0),
    at: 0,
    origin: { kind: "client" },
    kind: "compact",
    keep: 1,
    via: "method",
  } as const;
  const session = { ...newSession("agent:main:inbox", "id", 1), recent, inbox: [waiting] };
  await state.table.put({ ...(session as never as object), ...key });
  let known = session as Pick<typeof session, "recent" | "inbox">;
  let writes = 0;
  const later = 2 * 3_600_000;
  for (let steps = forgetOldIds(known, later); steps.length > 0; steps = forgetOldIds(known, later)) {
    known = toState(await state.table.update(key, steps)) as typeof known;
    writes++;
  }
  expect(writes).toBe(10);
  expect(Object.keys(known.recent).sort()).toEqual([
    id(0),
    ...Array.from({ length: 50 }, (_, n) => id(950 + n)),
  ]);
});

it("a message that is sent again behind a long queue is recognized for an hour", async () => {
  const key = "agent:main:long-queue";
  const entry = (n: number) =>
    ({ id: `q${n}`, at: 0, origin: { kind: "client" }, kind: "message", text: "" }) as const;
  const count = 90;
  for (let n = 0; n < count; n++) await appendEntry(state.table, key, entry(n), n);
  const { lease, state: held } = (await acquire(state.table, key, "agent", count))!;
  let known = held;
  for (let n = 0; n < count; n++)
    known = await commitEntry(state.table, lease, entry(n), forgetOldIds(known, 600_000));
  expect((await appendEntry(state.table, key, entry(0), 600_000)).accepted).toBe(false);
  const late = 2 * 3_600_000;
  expect(forgetOldIds(known, late)).toHaveLength(count - 50);
});
