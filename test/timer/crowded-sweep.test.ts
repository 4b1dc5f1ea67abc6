import { beforeEach, expect, it } from "vitest";
import { sweep } from "../../functions/timer/sweep.ts";
import type { Timer } from "../../functions/timer/timer.ts";
import { readFailing } from "../../shared/session/failing-items.ts";
import { appendEntry } from "../../shared/session/inbox.ts";
import { acquire } from "../../shared/session/lease.ts";
import { metaKey } from "../../shared/session/state.ts";
import { set } from "../../shared/world/expression.ts";
import { duePks, type State, startState } from "../support/state.ts";

const minute = 60_000;
const began = 1_000_000;
let state: State;
let now: number;
let woken: string[];
let calls: number;
let broken: string[];
beforeEach(async () => {
  state = await startState();
  [now, woken, calls, broken] = [began, [], 0, []];
});

const namesOf = (name: string, count: number) =>
  Array.from({ length: count }, (_, n) => `agent:main:${name}${n}`);
const entry = { id: "m", at: 0, origin: { kind: "client" }, kind: "message", text: "hello" } as const;
const append = (keys: string[], at: number) =>
  Promise.all(keys.map((key) => appendEntry(state.table, key, entry, at)));
const hold = (keys: string[], at: number) =>
  Promise.all(keys.map((key) => acquire(state.table, key, "me", at)));
const timer = () =>
  ({
    table: {
      ...state.table,
      queryIndex: (query) => {
        calls += 1;
        return state.table.queryIndex(query);
      },
    },
    wake: async (key: string) => {
      if (broken.includes(key)) throw new RangeError("no");
      woken.push(key);
    },
    now: () => now,
  }) as Pick<Timer, "table" | "wake" | "now"> as Timer;

it("two sweeps wake 100 crashed sessions among 10,000 busy ones, half of them of the previous release", async () => {
  const [crashed, busy, older] = [namesOf("crashed", 100), namesOf("busy", 5000), namesOf("older", 5000)];
  await append([...older, ...busy], began);
  await append(crashed, began + 1);
  await hold(crashed, began + 1);
  now += 2 * minute;
  await hold([...older, ...busy], now);
  // The previous release listed sessions in one partition, and held sessions as due.
  for (const key of older) await state.table.update(metaKey(key), [set("duePk", "DUE"), set("dueAt", began)]);
  for (let n = 0; n < 2; n++) await sweep(timer());
  expect(new Set(woken)).toEqual(new Set(crashed));
  expect(await duePks(state.table, now)).toHaveLength(older.length + crashed.length);
});

it("items that fail do not stop those behind them, are tried less and less often, and are listed until they succeed", async () => {
  const fine = namesOf("fine", 100);
  broken = namesOf("broken", 200);
  await append(broken, began);
  await append(fine, began + 1);
  now += minute;
  await expect(sweep(timer())).rejects.toThrow("no");
  expect(new Set(woken)).toEqual(new Set(fine));
  const failing = async () => [...(await readFailing(state.table, now)).values()];
  const [first, ...others] = await failing();
  expect(others).toHaveLength(199);
  expect(first).toEqual({
    ...{ item: "S#agent:main:broken0 META", failures: 1, error: "RangeError", at: now },
    retryAt: now + 30_000,
  });
  const tries: number[] = [];
  for (let n = 0; n < 10; n++) {
    now += minute;
    await sweep(timer()).catch(() => tries.push(n));
  }
  expect(tries).toEqual([0, 1, 3, 7]);
  broken = [];
  now += 10 * minute;
  await sweep(timer());
  expect(await failing()).toEqual([]);
  expect(woken).toContain("agent:main:broken0");
});

it("a sweep without time left leaves the rest to the next one", async () => {
  await append(namesOf("a", 40), began);
  let left = 20;
  await sweep(timer(), () => (left-- > 0 ? minute : 0));
  expect(woken.length).toBeGreaterThan(0);
  expect(woken.length).toBeLessThan(40);
  await sweep(timer());
  expect(new Set(woken).size).toBe(40);
});

it("an idle sweep reads the index once, whatever is planned for later", async () => {
  await sweep(timer());
  await append(namesOf("later", 50), began + minute);
  await sweep(timer());
  expect([calls, woken]).toEqual([2, []]);
});
