import { describe, expect, it } from "vitest";
import { addDays } from "../../shared/runtime/zoned-time.ts";
import { gsv } from "../cli/run-gsv.ts";
import { spend } from "../support/spent-day.ts";
import { until } from "../support/until.ts";
import { chromiumPath, inBrowser } from "./browser.ts";
import { pageHouse } from "./page-house.ts";

/** A row of a day's report: calls, tokens, μ$, calls of unknown price, μ$ that the cache saved. */
const turn = ["turn|main|||anthropic/a", [3, 100, 50, 800, 100, 410_000, 0, 1_200_000]] as const;
const unpriced = ["heartbeat|work|||local/b", [2, 100, 50, 0, 0, 0, 2, 0]] as const;

describe.skipIf(chromiumPath === undefined)("the cost view", inBrowser, () => {
  const house = pageHouse();

  /** What the command prints with `--json` on the machine of the gateway. */
  const command = async (...args: string[]) => {
    const env = { GSV_URL: house.dev.url, GSV_TOKEN: house.dev.token };
    return JSON.parse((await gsv([...args, "--json"], { cwd: house.dir, env })).stdout);
  };
  const today = async () => (await command("usage")).today.date as string;
  const seed = async () => {
    const { table } = house.dev.cloud.world;
    const date = await today();
    const ofMain = { sessionKey: "agent:main:main", amounts: { all: 410_000 }, row: turn };
    await spend(table, { ...ofMain, date });
    await spend(table, { ...ofMain, date: addDays(date, -29), sessionKey: "agent:main:old" });
    await spend(table, { date, sessionKey: "agent:work:main", amounts: { all: 0 }, row: unpriced });
  };
  const text = (selector: string) => house.page.locator(selector).innerText();
  const spending = async () =>
    (await house.page.locator(".spending .row").allInnerTexts()).map((row) => row.split(/\n+/));

  it("shows the figures of `gsv usage`, and a price that nobody knows as unknown", async () => {
    await seed();
    await house.signIn("cost");
    await house.page.waitForSelector(".spending li");
    const usage = await command("usage", "--by", "kind");
    expect(usage.today).toMatchObject({ dollars: 0.41, calls: 5, savedDollars: 1.2, estimated: 2 });
    expect(await text("[aria-label=Today]")).toMatch(
      /about \$0\.41\s+5 calls\s+The cache saved \$1\.20\s+The price of 2 is unknown/,
    );
    expect(await spending()).toEqual([
      ["turn", "$0.41"],
      ["heartbeat", "unknown"],
    ]);
    expect(
      usage.groups.map(({ name, dollars }: { name: string; dollars: number }) => [name, dollars]),
    ).toEqual([
      ["turn", 0.41],
      ["heartbeat", 0],
    ]);
    await house.page.click("text=Model");
    await until(async () => (await spending())[0]?.[0] === "anthropic/a", "by model");
    expect(await text(".spending li >> nth=0")).toContain("1,000 tokens read, 80% from the cache");
    await house.page.click("text=Agent");
    await until(async () => (await spending())[0]?.[0] === "main", "by agent");
  });

  it("names the sessions of a real turn, and links its price to this view", async () => {
    const model = { provider: "openai", id: "gpt-5", baseUrl: house.model.url };
    await house.dev.configuration.set("model", model);
    await house.dev.configuration.set("apiKeys.openai", "sk-test");
    await house.signIn();
    await house.send("hello");
    await until(async () => (await house.replies()).length === 1, "it is answered");
    await house.page.click("article.reply footer a");
    await house.page.waitForSelector(".spending li");
    const { today: spent } = await command("usage");
    const shown = Number((await text("[aria-label=Today] .amount")).replace("$", ""));
    expect(spent.dollars).toBeGreaterThan(0);
    expect(shown).toBeCloseTo(spent.dollars, spent.dollars < 0.1 ? 4 : 2);
    await house.page.click("text=Session");
    const link = house.page.locator(".spending a");
    expect(await link.getAttribute("href")).toBe("#/chat/agent:main:main");
    expect(await link.innerText()).toBe("main");
  });

  it("draws thirty days, the oldest and the newest with what they cost", async () => {
    await seed();
    await house.signIn("cost", { width: 1440, height: 900 });
    const titles = house.page.locator(".chart title");
    await until(async () => (await titles.count()) === 30, "thirty bars");
    expect(await house.page.locator(".chart .day:visible").count()).toBe(30);
    const date = await today();
    const days = await titles.evaluateAll((all) => all.map(({ textContent }) => textContent));
    expect([days[0], days[1], days[29]]).toEqual([
      `${addDays(date, -29)}: $0.41`,
      `${addDays(date, -28)}: $0.00`,
      `${date}: about $0.41`,
    ]);
  });

  it("shows each budget with what is used, its limit, when it is new, and the command that raises it", async () => {
    await house.dev.configuration.set("budgets.rules", [
      { id: "day", scope: "all", per: "day", usd: 0.4, atLimit: "ask" },
      { id: "each", scope: "agent", per: "month", tokens: 5000, atLimit: "warn" },
    ]);
    await seed();
    await house.signIn("cost");
    await house.page.waitForSelector(".budgets li");
    expect(await text(".budgets li >> nth=0")).toMatch(
      /day for everything\s+\$0\.41 of \$0\.40\s+\$0\.40 a day · asks you at the limit · new \S/,
    );
    expect(await house.page.locator(".budgets li >> nth=0 >> .share.over").count()).toBe(1);
    expect(await text(".budgets li >> nth=1")).toMatch(
      /each for each agent\s+0 tokens of 5,000 tokens\s+5,000 tokens a month/,
    );
    expect(await text(".view")).toContain("gsv budget raise ID 5");
  });

  it("says so while no model was called", async () => {
    await house.signIn("cost");
    await house.page.waitForSelector("text=No model was called since");
    expect(await text("[aria-label=Today] .amount")).toBe("$0.00");
    expect(await house.page.locator(".chart").count()).toBe(0);
  });
});
