import { afterAll, beforeAll, expect, it } from "vitest";
import { forgetOldIds } from "../../shared/session/inbox.ts";
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
  for (let steps = forgetOldIds(known); steps.length > 0; steps = forgetOldIds(known)) {
    known = toState(await state.table.update(key, steps)) as typeof known;
    writes++;
  }
  expect(writes).toBe(10);
  expect(Object.keys(known.recent).sort()).toEqual([
    id(0),
    ...Array.from({ length: 50 }, (_, n) => id(950 + n)),
  ]);
});
