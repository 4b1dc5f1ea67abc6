import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startDev } from "../../../../local/dev/dev.ts";
import { createToken } from "../../../../shared/peers/tokens.ts";
import { addDays } from "../../../../shared/runtime/zoned-time.ts";
import { newFolder } from "../../../support/run/test-folders.ts";
import { spend } from "../../../support/spent-day.ts";
import { gsv } from "../../run-gsv.ts";

let cwd: string;
let dev: Awaited<ReturnType<typeof startDev>>;
let env: Record<string, string>;

beforeEach(async () => {
  cwd = newFolder();
  dev = await startDev({ dir: join(cwd, ".gsv") });
  const admin = { name: "a", scopes: ["client", "admin"] as const };
  env = { GSV_ADMIN_TOKEN: (await createToken(dev.cloud.world.table, admin, Date.now())).token };
});
afterEach(() => dev.close());

const run = (...args: string[]) => gsv(args, { cwd, env });
const lines = async (...args: string[]) => (await run(...args)).stdout.trimEnd().split("\n");
const json = async (...args: string[]) => JSON.parse((await run(...args, "--json")).stdout);

describe("gsv usage", () => {
  it("shows today, the month, what the cache saved, and the parts of a period", async () => {
    const { date } = (await json("usage")).today;
    const row = ["turn|main|||anthropic/a", [3, 100, 50, 800, 100, 410_000, 0, 1_200_000]] as const;
    const spent = { sessionKey: "agent:main:main", amounts: { all: 450_000 }, row };
    await spend(dev.cloud.world.table, { ...spent, date });
    const [today, month, , header, ...rows] = await lines("usage", "--by", "model", "--since", "7d");
    expect(today).toBe(`Today (${date}): $0.45, 3 calls; the cache saved $1.20`);
    expect(month).toMatch(/^This month \(since \d{4}-\d\d-01\): \$0\.45, 3 calls/);
    expect(header).toMatch(/^MODEL +COST +CALLS +INPUT +FROM CACHE +OUTPUT +CACHE SAVED$/);
    expect(rows.map((one) => one.split(/ {2,}/))).toEqual([
      ["anthropic/a", "$0.41", "3", "1,000", "80%", "50", "$1.20"],
      ["(in progress or interrupted)", "$0.0400"],
    ]);
    expect((await json("usage", "--since", "7d")).total.since).toBe(addDays(date, -6));
    expect((await run("session", "cost")).stdout).toContain("Today, all sessions: 3 calls, 1,000 in");
  });

  it.each([
    [["--by", "modle"], /--by must be one of day, agent, .* not modle \(did you mean model\?\)/],
    [["--since", "yesterday"], /--since must be a day such as 2026-11-01, or a number of days such as 7d/],
    [["--since", "2026-13-01"], /--since must be a day/],
  ])("refuses %s", async (options, reason) => {
    const { code, stderr } = await run("usage", ...options);
    expect([code, stderr]).toEqual([2, expect.stringMatching(reason)]);
  });
});

describe("gsv budget", () => {
  it("sets a typical rule by one command, and keeps the other budgets", async () => {
    expect(await lines("budget", "set", "day=2", "heartbeat=0.20")).toEqual([
      "run: at most $2.00 for each message; asks you",
      "day: $0.00 of $2.00 a day for everything; asks you",
      "heartbeat: $0.00 of $0.20 a day for heartbeat; refuses",
      "cron: $0.00 of $2.00 a day for cron; refuses",
      "guest: $0.00 of $1.00 a day for guest; refuses",
    ]);
  });

  it("adds, changes and removes budgets of parts, months and tokens", async () => {
    await run(
      "budget",
      "set",
      "run=off",
      "cron=off",
      "guest=off",
      "day=off",
      "agent:work=$1",
      "sender=50000tokens",
    );
    await run("budget", "set", "month=40", "heartbeat=5", "--per", "month", "--at-limit", "warn");
    await run("budget", "set", "heartbeat=0.30");
    expect(await lines("budget", "list")).toEqual([
      "heartbeat: $0.00 of $0.30 a day for heartbeat; refuses",
      "agent-work: $0.00 of $1.00 a day for agent work; asks you",
      "sender: nothing of 50,000 tokens a day for each sender; asks you",
      "month: $0.00 of $40.00 a month for everything; warns",
      "heartbeat-month: $0.00 of $5.00 a month for heartbeat; warns",
    ]);
  });

  it("raises a limit for today, with a token of the scope approve", async () => {
    expect(await lines("budget", "raise", "day", "5")).toEqual(["today, the limit of day is $15.00"]);
    expect((await json("budget", "list")).rules[1]).toMatchObject({ id: "day", limit: 15, raised: 5 });
    const { table } = dev.cloud.world;
    const { token } = await createToken(table, { name: "c", scopes: ["client"] }, Date.now());
    const refused = await gsv(["budget", "raise", "day", "5"], {
      env: { GSV_URL: dev.url, GSV_TOKEN: token },
    });
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("scope approve")]);
  });

  it.each([
    [["set", "day"], /day is not a budget; write it as in day=2/],
    [["set", "day=much"], /much is not an amount; write dollars as in 0.20, 50000tokens, or off/],
    [["set", "weekly=2"], /there is no budget weekly; a new one is day, month, run/],
    [["set", "weekly=off"], /there is no budget weekly; there are: run, day/],
    [["set", "day=2", "--per", "week"], /--per must be day, month, session, not week/],
    [["raise", "dayly", "5"], /there is no budget dayly \(did you mean day\?\); there are: run, day/],
    [["raise", "day", "lots"], /lots is not an amount; day is in usd/],
  ])("refuses %s", async (args, reason) => {
    expect((await run("budget", ...args)).stderr).toMatch(reason);
    expect((await json("budget", "list")).rules).toHaveLength(5);
  });
});
