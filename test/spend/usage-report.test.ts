import { beforeEach, describe, expect, it } from "vitest";
import { defaults } from "../../shared/configuration/defaults.ts";
import { localTime } from "../../shared/runtime/zoned-time.ts";
import { raiseBudget, readBudgets } from "../../shared/spend/budget-state.ts";
import { usageOf } from "../../shared/spend/pay-for.ts";
import { SessionAccount } from "../../shared/spend/session-account.ts";
import { readUsage } from "../../shared/spend/usage-report.ts";
import { budgetLines, spentLines } from "../../shared/spend/usage-text.ts";
import { newBook } from "../support/payment.ts";
import { spend } from "../support/spent-day.ts";
import { type State, startState } from "../support/state.ts";

const today = "2026-11-24";
const main = "agent:main:main";
let state: State;

beforeEach(async () => {
  state = await startState();
  const { table } = state;
  const days: { date: string; sessionKey: string; amounts: Record<string, number> }[] = [
    { date: "2026-10-31", sessionKey: main, amounts: { all: 5_000_000 } },
    { date: "2026-11-02", sessionKey: main, amounts: { all: 1_000_000, "kind:cron": 1_000_000 } },
    { date: today, sessionKey: main, amounts: { all: 300_000 } },
    { date: today, sessionKey: "agent:work:main", amounts: { all: 200_000, "agent:work": 200_000 } },
  ];
  const rows = [
    ["turn|main|||anthropic/a", [9, 1, 1, 1, 1, 5_000_000, 0, 0]],
    ["cron|main||j1|anthropic/a", [2, 10, 20, 80, 10, 1_000_000, 0, 400_000]],
    ["turn|main|telegram||anthropic/a", [3, 100, 5, 0, 50, 250_000, 0, -20_000]],
    ["turn|work|||odd/mo|del", [1, 7, 7, 0, 0, 200_000, 1, 0]],
  ] as const;
  for (const [index, day] of days.entries()) await spend(table, { ...day, row: rows[index] as never });
});

const usage = (...args: [Parameters<typeof readUsage>[2]?, string[]?]) =>
  readUsage(state.table, today, args[0], async () => args[1] ?? []);

describe("usage", () => {
  it("of today and this month is what limits count, with what the cache saved", async () => {
    expect(await usage()).toEqual({
      today: expect.objectContaining({
        date: today,
        calls: 4,
        dollars: 0.5,
        estimated: 1,
        savedDollars: -0.02,
      }),
      month: expect.objectContaining({ since: "2026-11-01", calls: 6, dollars: 1.5, savedDollars: 0.38 }),
      total: expect.objectContaining({ since: "2026-11-01", dollars: 1.5 }),
    });
  });

  it("since an earlier day leaves the month as it is", async () => {
    const { month, total } = await usage({ since: "2026-10-31" });
    expect([month.dollars, total.dollars]).toEqual([1.5, 6.5]);
    const earlier = await usage({ by: "day", since: "2026-10-31", to: "2026-11-02" });
    expect([earlier.month.dollars, earlier.total.dollars, earlier.groups?.length]).toEqual([1.5, 6, 2]);
  });

  it.each([
    [
      "day",
      [
        ["2026-11-02", 1],
        [today, 0.5],
      ],
    ],
    [
      "kind",
      [
        ["cron", 1],
        ["turn", 0.45],
      ],
    ],
    [
      "agent",
      [
        ["main", 1.25],
        ["work", 0.2],
      ],
    ],
    [
      "model",
      [
        ["anthropic/a", 1.25],
        ["odd/mo|del", 0.2],
      ],
    ],
    [
      "channel",
      [
        ["", 1.2],
        ["telegram", 0.25],
      ],
    ],
    [
      "job",
      [
        ["j1", 1],
        ["", 0.45],
      ],
    ],
    [
      "session",
      [
        [main, 1.3],
        ["", 0.2],
      ],
    ],
  ] as const)("by %s adds up to the total, with what is in no part", async (by, expected) => {
    const { groups = [], restDollars = 0, total } = await usage({ by }, [main]);
    expect(groups.map(({ name, dollars }) => [name, dollars])).toEqual(expected);
    const sum = groups.reduce((all, { dollars }) => all + dollars, restDollars);
    expect(sum).toBeCloseTo(total.dollars);
  });
});

it("an interrupted call is counted apart from unknown prices, also after an earlier version's row of eight", async () => {
  state = await startState();
  const date = localTime(Date.now(), "UTC").date;
  const sessionKey = "agent:main:cut";
  const key = "turn|main|||anthropic/a";
  const row = [key, [1, 1, 1, 0, 0, 50, 0, 0]] as const;
  await spend(state.table, { date, sessionKey: main, amounts: { all: 50 }, row });
  const account = new SessionAccount(newBook({}, state.table), sessionKey, 1);
  const occasion = { payer: { kind: "turn", agentId: "main", sessionKey }, model: "anthropic/a" } as const;
  const listed = { input: 3, output: 15, cacheRead: 0, cacheWrite: 0 };
  for (const usage of ["unknown", usageOf(10)] as const) {
    const admitted = await account.admit(occasion, { inputTokens: 10, maxTokens: 10, listed });
    if (admitted.status === "refused") throw new Error(admitted.error);
    await account.charge(admitted.hold, occasion, listed, usage);
    await account.settle();
  }
  const { today: figures } = await readUsage(state.table, date);
  expect(figures).toMatchObject({ calls: 3, estimated: 0, interrupted: 1 });
  expect(spentLines(await readUsage(state.table, date))[0]).toContain(
    "3 calls (1 interrupted, counted at most)",
  );
});

describe("budgets", () => {
  const rules = [
    ...defaults.budgets.rules,
    { id: "month", scope: "all", per: "month", usd: 40, atLimit: "warn" },
    { id: "each", scope: "agent", tokens: 1000, atLimit: "refuse" },
    { id: "agents", scope: "agent", usd: 1, atLimit: "refuse" },
  ] as typeof defaults.budgets.rules;
  const budgets = { ...defaults.budgets, rules };
  const settings = { budgets, userTimezone: "Europe/Berlin" };
  const noon = (date = today) => Date.parse(`${date}T12:00:00Z`);
  const lines = async (chosen = budgets) =>
    budgetLines(await readBudgets(state.table, { ...settings, budgets: chosen }, noon()));

  it("say how much of each limit is used, by whom, and what happens there", async () => {
    expect(await lines()).toEqual([
      "run: at most $2.00 for each message; asks you",
      "day: $0.50 of $10.00 a day for everything; asks you",
      "heartbeat: $0.00 of $0.50 a day for heartbeat; refuses",
      "cron: $0.00 of $2.00 a day for cron; refuses",
      "guest: $0.00 of $1.00 a day for guest; refuses",
      "month: $1.50 of $40.00 a month for everything; warns",
      "each: nothing of 1,000 tokens a day for each agent; refuses",
      "agents: work $0.20 of $1.00 a day for each agent; refuses",
    ]);
    expect(await lines({ ...budgets, enabled: false })).toEqual([expect.stringContaining("Budgets are off")]);
  });

  it("say how much is left, and when they reset", async () => {
    const states = new Map(
      (await readBudgets(state.table, settings, noon())).rules.map((one) => [one.id, one]),
    );
    expect(states.get("day")).toMatchObject({
      used: [{ amount: 0.5, held: 0, left: 9.5 }],
      resetsOn: "2026-11-25",
      resetsAt: Date.parse("2026-11-24T23:00:00Z"),
    });
    expect(states.get("month")).toMatchObject({
      used: [{ left: 38.5 }],
      resetsOn: "2026-12-01",
      resetsAt: Date.parse("2026-11-30T23:00:00Z"),
    });
    expect(states.get("agents")).toMatchObject({ used: [{ of: "work", left: 0.8 }] });
    expect(states.get("run")).not.toHaveProperty("resetsOn");
  });

  it("say how much is reserved for calls in progress", async () => {
    const sessionKey = "agent:main:busy";
    const account = new SessionAccount(
      newBook({}, state.table, () => noon()),
      sessionKey,
      1,
    );
    const occasion = { payer: { kind: "turn", agentId: "main", sessionKey }, model: "anthropic/a" } as const;
    const listed = { input: 3, output: 15, cacheRead: 0, cacheWrite: 0 };
    const size = { inputTokens: 0, maxTokens: 10_000, listed };
    const used = async () => {
      const { rules } = await readBudgets(state.table, settings, noon());
      return rules.find(({ id }) => id === "month")?.used;
    };
    const admitted = await account.admit(occasion, size);
    if (admitted.status === "refused") throw new Error(admitted.error);
    await admitted.reserved;
    expect(await used()).toEqual([{ amount: 1.65, held: 0.15, left: 38.35 }]);
    expect((await lines())[1]).toBe("day: $0.65 ($0.15 reserved) of $10.00 a day for everything; asks you");
    await account.charge(admitted.hold, occasion, listed, usageOf(10_000));
    await account.settle();
    expect(await used()).toEqual([{ amount: 1.53, held: 0, left: 38.47 }]);
  });

  it("are raised for today, or for the month, and once for each request", async () => {
    const raise = (raiseId: string, more: { id: string; usd?: number; tokens?: number }, date = today) =>
      raiseBudget(state.table, settings, noon(date), { ...more, raiseId });
    await raise("a", { id: "day", usd: 5 });
    expect(await raise("a", { id: "day", usd: 5 })).toMatchObject({ limit: 15, raised: 5 });
    expect(await raise("b", { id: "day", usd: 1 })).toMatchObject({ limit: 16, raised: 6 });
    await raise("c", { id: "month", usd: 2 }, "2026-11-02");
    await raise("d", { id: "day", usd: 2 }, "2026-11-02");
    const { rules } = await readBudgets(state.table, settings, noon());
    expect(rules.filter(({ raised }) => raised > 0).map(({ id, limit }) => [id, limit])).toEqual([
      ["day", 16],
      ["month", 42],
    ]);
    await expect(raise("e", { id: "each", usd: 2 })).rejects.toThrow("budget each is in tokens");
    await expect(raise("e", { id: "nix", usd: 2 })).rejects.toThrow(
      /^there is no budget nix; there are: run, day/,
    );
  });
});
