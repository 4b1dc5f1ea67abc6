import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import type { Configuration } from "../../shared/configuration/schema.ts";
import { textOf } from "../../shared/protocol/messages.ts";
import { addDays, localTime } from "../../shared/runtime/zoned-time.ts";
import type { InboxEntry } from "../../shared/session/inbox-entry.ts";
import { readDay } from "../../shared/spend/day-view.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer } from "../support/models/scripted-model.ts";
import { spend } from "../support/spent-day.ts";
import { type MemoryState, startState } from "../support/state.ts";
import { type Bench, openBench, userTimezone } from "./bench.ts";

let server: ModelServer;
let state: MemoryState;
let bench: Bench;
beforeAll(async () => {
  server = await startOpenAiServer(() => ({ text: "fine" }));
});
afterAll(() => server?.close());
beforeEach(async () => {
  state = await startState();
  bench = openBench(state, { provider: "openai-compatible", id: "m", baseUrl: server.url, maxTokens: 2000 });
  bench.configuration.userTimezone = userTimezone;
});

const rule = (fields: Partial<Configuration["budgets"]["rules"][number]>) =>
  ({ id: "day", scope: "all", per: "day", usd: 10, atLimit: "refuse", ...fields }) as const;

function limit(...rules: Configuration["budgets"]["rules"]): void {
  bench.configuration.budgets = { ...bench.configuration.budgets, rules };
}

let sent = 0;
const message = (text: string, more: { role?: "guest" } = {}) =>
  ({
    ...{ id: `m${++sent}`, at: Date.now(), origin: { kind: "client" }, kind: "message", text },
    ...more,
  }) as InboxEntry;
async function say(key: string, more: { role?: "guest" } = {}): Promise<string> {
  await bench.submit(key, message("hi", more));
  await bench.invoke(key);
  return textOf((await bench.live(key)).at(-1)!);
}

const today = () => localTime(Date.now() + bench.later, userTimezone).date;
const spent = async () => (await readDay(state.table, today())).sums.all ?? 0;

it("after a turn the day's sum is what the call cost, and nothing is reserved", async () => {
  expect(await say("agent:main:main")).toBe("fine");
  const view = await readDay(state.table, today());
  const [row] = view.rows.values();
  expect(view.sums.all).toBe(row?.[5]);
  expect(row?.[0]).toBe(1);
});

it("a refusal says what used how much, when it resets and how to raise the limit, and no provider is called", async () => {
  limit(rule({ usd: 0.07 }));
  await say("agent:main:main");
  const before = server.requests.length;
  for (let n = 0; n < 3; n++) await say("agent:main:main");
  const told = await say("agent:main:main");
  expect(told).toMatch(
    /today's limit of \$0\.0700 is reached: \$0\.0\d+ used or reserved \(conversations \$0\.0\d+\)/,
  );
  expect(told).toContain(`It resets at midnight (${addDays(today(), 1)} 00:00).`);
  expect(told).toMatch(/gsv budget raise day 0\.07/);
  expect(server.requests.length - before).toBeLessThan(4);
  expect(await spent()).toBeLessThanOrEqual(70_000);
});

it("a refusal by a month's limit says what has used it, and on which day it resets", async () => {
  limit(rule({ id: "month", per: "month", usd: 0.01 }));
  const month = today().slice(0, 8);
  const amounts = { all: 6000, "kind:cron": 5000 };
  const row = ["cron|main||j|m", [1, 1, 1, 0, 0, 6000, 0, 0, 0]] as const;
  await spend(state.table, { date: today(), sessionKey: "agent:main:other", amounts, row });
  const told = await say("agent:main:main");
  expect(told).toContain(
    "this month's limit of $0.0100 is reached: $0.0060 used or reserved (conversations $0.0010, cron $0.0050)",
  );
  expect(told).toContain(`(${addDays(`${month}01`, 31).slice(0, 8)}01 00:00)`);
});

it("a guest reads no figures", async () => {
  limit(rule({ id: "guest", scope: "kind", of: "guest", usd: 0 }));
  expect(await say("agent:main:main", { role: "guest" })).toMatch(/^\[no answer: not available today\]$/);
});

it("the answer's limit is lowered so that the call fits what is left", async () => {
  limit(rule({ id: "run", scope: "run", per: "run", usd: 0.06 }));
  await say("agent:main:main");
  const { max_tokens, max_completion_tokens } = (server.requests.at(-1)?.body ?? {}) as Record<
    string,
    number
  >;
  const cap = max_tokens ?? max_completion_tokens ?? 0;
  expect(cap).toBeGreaterThanOrEqual(1024);
  expect(cap).toBeLessThan(2000);
});

it("twenty sessions at once spend no more than the day's limit", async () => {
  limit(rule({ usd: 0.3 }));
  await Promise.all(Array.from({ length: 20 }, (_, n) => say(`agent:main:s${n}`)));
  expect(await spent()).toBeLessThanOrEqual(300_000);
});

it("the day's sums are read once, while the lease is being acquired", async () => {
  await bench.submit("agent:main:main", message("hi"));
  const reads: string[] = [];
  let begun: () => void;
  const read = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const watched: MemoryState["table"] = {
    ...state.table,
    async get(key) {
      if (key.pk === "USAGE") {
        reads.push(key.sk);
        begun();
      }
      return state.table.get(key);
    },
    async update(...change) {
      await read;
      return state.table.update(...change);
    },
  };
  const over = openBench({ ...state, table: watched }, bench.configuration.model);
  await over.invoke("agent:main:main");
  expect(textOf((await bench.live("agent:main:main")).at(-1)!)).toBe("fine");
  expect(reads).toEqual([`D#${today()}`]);
});

it("all models of a server whose address has a price of 0 are free, and their prices are not unknown", async () => {
  limit(rule({ usd: 0 }));
  bench.configuration.budgets.prices = { [server.url]: { input: 0, output: 0 } };
  for (const id of ["m", "another"]) {
    bench.configuration.model = { ...bench.configuration.model, id };
    expect(await say(`agent:main:${id}`)).toBe("fine");
  }
  const rows = [...(await readDay(state.table, today())).rows];
  expect(rows.map(([key, [calls, , , , , micros, estimated]]) => [key, calls, micros, estimated])).toEqual([
    ["turn|main|||openai-compatible/m", 1, 0, 0],
    ["turn|main|||openai-compatible/another", 1, 0, 0],
  ]);
});

it("a turn writes to the day when its call is reserved and when it is settled; a free call reserves nothing", async () => {
  let writes = 0;
  const table: MemoryState["table"] = {
    ...state.table,
    update(...change) {
      if (change[0].pk === "USAGE") writes += 1;
      return state.table.update(...change);
    },
  };
  const over = openBench({ ...state, table }, bench.configuration.model);
  const writesOf = async (key: string) => {
    await over.submit(key, message("hi"));
    writes = 0;
    await over.invoke(key);
    return writes;
  };
  expect(await writesOf("agent:main:priced")).toBe(2);
  over.configuration.budgets = {
    ...over.configuration.budgets,
    prices: { [server.url]: { input: 0, output: 0 } },
  };
  expect(await writesOf("agent:main:free")).toBe(1);
});

it("a limit that is near is marked once, and a rule that only warns refuses nothing", async () => {
  limit(rule({ usd: 0.01, atLimit: "warn" }));
  for (let n = 0; n < 3; n++) expect(await say("agent:main:main")).toBe("fine");
  expect((await readDay(state.table, today())).marks).toEqual({ "day@80": 10_000 });
});
