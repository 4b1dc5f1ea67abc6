import { afterAll, beforeAll, expect, it } from "vitest";
import { sweep, type Timer } from "../../functions/timer/timer.ts";
import { appendEntry } from "../../shared/session/inbox.ts";
import { type State, startState } from "../support/state.ts";

let state: State;
beforeAll(async () => {
  state = await startState();
});
afterAll(() => state.close());

it("looks after all sessions, also behind one that cannot be, and fails for that one", async () => {
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
