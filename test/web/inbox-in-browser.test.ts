import { describe, expect, it } from "vitest";
import { openRequest as askToWrite } from "../../shared/channels/inbound/pairing.ts";
import { openRequest, readRequest } from "../../shared/peers/program-grants.ts";
import { startOAuthServer } from "../support/mcp/oauth-server.ts";
import { openClient } from "../support/peer.ts";
import { startTelegramServer } from "../support/platforms/telegram/telegram-server.ts";
import { until } from "../support/until.ts";
import { chromiumPath, inBrowser } from "./browser.ts";
import { pageHouse } from "./page-house.ts";

const hostile = `<img src=x onerror="globalThis.hit=1">\u202egnp.exe ${"x".repeat(80)}`;

describe.skipIf(chromiumPath === undefined)("the inbox in a browser", inBrowser, () => {
  const house = pageHouse();
  const shows = (text: string) => house.page.locator(".view", { hasText: text }).waitFor();
  const focused = () => house.page.evaluate(() => document.activeElement?.textContent);

  it("says that nothing waits, and the browser's history leads back to the chat", async () => {
    await house.signIn();
    await house.page.fill("textarea", "not sent yet");
    await house.page.click(".bar >> text=Inbox");
    for (const text of ["Nothing waits for you.", "Nothing runs.", "No job and no heartbeat is planned."])
      await shows(text);
    expect(await focused()).toBe("Inbox");
    expect(await house.page.locator(".count").count()).toBe(0);
    await house.page.goBack();
    await house.page.locator(".composer").waitFor();
    expect(await house.page.inputValue("textarea")).toBe("not sent yet");
    await until(async () => (await focused()) === "main", "the title of the chat has the focus");
    await house.page.goForward();
    await house.page.reload();
    await shows("Nothing runs.");
    const { scrollWidth, clientWidth } = await house.page.evaluate(() => document.documentElement);
    expect(scrollWidth).toBe(clientWidth);
  });

  it("says that a view could not be loaded, and loads it again", async () => {
    await house.signIn();
    const chunk = /chunk-all-views-.*\.js$/;
    await house.context?.route(chunk, (route) => route.abort());
    // A page without a service worker asks the gateway for it.
    await house.page.evaluate(async () => {
      for (const one of await navigator.serviceWorker.getRegistrations()) await one.unregister();
    });
    await house.page.reload();
    await house.page.click(".bar >> text=Inbox");
    await house.page.waitForSelector(".view [role=alert] >> text=Inbox could not be loaded");
    await house.context?.unroute(chunk);
    await house.page.getByRole("button", { name: "Reload the page" }).click();
    await shows("Nothing waits for you.");
  });

  it("counts the requests of all sessions, and answers them by a key", async () => {
    await house.dev.configuration.set("toolApproval.mode", "ask");
    house.answer = ({ turns }) =>
      turns.at(-1)?.role === "user"
        ? { toolCalls: [{ name: "gsv__WriteFile", arguments: { path: "a.md", content: "x" } }] }
        : { text: "written" };
    await house.signIn();
    await house.send("write it");
    await house.page.waitForSelector(".chat .approval");
    await house.page.click(".bar >> text=Inbox");
    const count = house.page.locator(".bar .count");
    expect(await count.innerText()).toMatch(/^1/);
    const card = house.page.locator(".view .approval");
    await card.focus();
    await expect.poll(() => card.innerText()).toMatch(/May I use gsv__WriteFile\?[\s\S]*a\.md/);
    await house.page.keyboard.press("a");
    await shows("Nothing waits for you.");
    expect(await count.count()).toBe(0);
    await house.page.click(".bar >> text=Chat");
    await until(async () => (await house.replies())[0]?.startsWith("written") ?? false, "it is written");
  });

  it("shows who wants to write and which account fails, and approves and denies senders", async () => {
    const telegram = await startTelegramServer();
    const account = { botToken: telegram.token, webhookSecret: "webhook-secret-1234567890" };
    await house.dev.configuration.set("channels.telegram.dmPolicy", "pairing");
    await house.dev.configuration.set("channels.telegram.accounts", {
      default: { ...account, apiBaseUrl: telegram.url },
      broken: { ...account, apiBaseUrl: "http://127.0.0.1:9" },
    });
    for (const sender of [
      { id: "7", name: hostile },
      { id: "8", name: "Bo" },
    ])
      await askToWrite(
        house.dev.cloud.world.table,
        { channel: "telegram", accountId: "default" },
        {
          ...{ sender, eventId: `e${sender.id}`, messageId: sender.id, peer: { kind: "dm", id: sender.id } },
          ...{ text: `hello from ${hostile}`, timestamp: Date.now(), wasMentioned: true },
        },
        Date.now(),
      );
    await house.signIn("inbox");
    await shows("Bo wants to write on telegram");
    await shows("telegram (broken) does not work");
    expect(await house.page.locator(".bar .count").innerText()).toMatch(/^4/);
    const requests = house.page.locator(".item", { hasText: "wants to write" });
    expect(await requests.first().innerText()).toContain("⟨U+202E⟩");
    expect(await house.page.evaluate(() => "hit" in globalThis)).toBe(false);
    await requests.filter({ hasText: "Bo wants" }).getByText("Deny").click();
    await until(async () => (await requests.count()) === 1, "Bo is denied");
    await house.page.click("text=Approve as a guest");
    await until(async () => (await requests.count()) === 0, "the other is approved");
    expect(await house.dev.configuration.get("channels.telegram.allowFrom")).toMatchObject({ value: ["7"] });
    await telegram.close();
  });

  it("shows what a program asks for, and approves it, less of it, or denies it", async () => {
    const { table } = house.dev.cloud.world;
    const ask = async () => {
      const scopes = ["mcp" as const, "mcp:nodes" as const];
      const place = { clientId: "c", redirectUri: "https://editor.example/back", challenge: "x".repeat(43) };
      return (await openRequest(table, { ...place, clientName: hostile, scopes }, Date.now())).code;
    };
    await house.signIn("inbox");
    const field = house.page.getByLabel("Code of the program");
    const lookUp = async (code: string) => {
      await field.fill(code);
      await field.press("Enter");
    };
    await lookUp("zzzz-zzzz");
    await house.page.waitForSelector(".view [role=alert]");
    const [whole, less, denied] = [await ask(), await ask(), await ask()];
    await lookUp(` ${whole.toUpperCase()} `);
    await shows("mcp:nodes: use your machines, and ask the agent as you");
    expect(await house.page.locator(".view").innerText()).toContain("⟨U+202E⟩");
    await house.page.getByRole("button", { name: "Approve", exact: true }).click();
    await shows("Approved.");
    await lookUp(less);
    await house.page.click("text=Approve only mcp");
    await until(async () => (await readRequest(table, less, Date.now())).approved, "it is approved");
    await shows("Approved.");
    await lookUp(denied);
    await house.page.getByRole("button", { name: "Deny" }).click();
    await shows("Denied. Its code has ended.");
    await expect(readRequest(table, denied, Date.now())).rejects.toMatchObject({ code: 404 });
    const stored = async (code: string) =>
      (await table.get({ pk: "OAUTH", sk: code.replace("-", "") }))?.approved;
    expect(await Promise.all([whole, less, denied].map(stored))).toEqual([
      ["mcp", "mcp:nodes"],
      ["mcp"],
      undefined,
    ]);
  });

  it("opens the login page of an MCP server in a tab of its own, and notices the login", async () => {
    const server = await startOAuthServer([{ name: "search", inputSchema: { type: "object" } }]);
    await house.dev.configuration.set("mcp.servers.notion", { url: server.url });
    await house.signIn("inbox");
    await shows("The MCP server notion needs a login");
    await house.page.click("text=Authorize");
    const link = house.page.locator(".view a.button");
    await link.waitFor();
    expect(await link.getAttribute("rel")).toBe("noopener noreferrer");
    expect(await link.getAttribute("target")).toBe("_blank");
    const back = server.agree((await link.getAttribute("href")) ?? "");
    expect((await fetch(back)).status).toBe(200);
    await shows("Nothing waits for you.");
    // The login ends: the page learns it when the gateway has used it.
    server.expire();
    server.revoke();
    await house.page.click(".bar >> text=Chat");
    const client = await openClient(house.dev.url, house.dev.token);
    expect(await client.call("mcp.probe", { name: "notion" })).toMatchObject({ needsLogin: true });
    await client.close();
    await house.page.click(".bar >> text=Inbox");
    await shows("The MCP server notion needs a login");
    await house.page.getByRole("button", { name: "Authorize" }).waitFor();
    await server.close();
  });

  it("warns of a budget that is nearly used, and raises it", async () => {
    const rule = { id: "tiny", scope: "all", per: "day", tokens: 1, atLimit: "warn" };
    await house.dev.configuration.set("budgets.rules", [rule]);
    // A gateway that runs may use its settings for five seconds more.
    await house.dev.close();
    await house.startGateway();
    await house.signIn();
    await house.send("hello");
    await until(async () => (await house.replies()).length === 1, "it is answered");
    await house.page.click(".bar >> text=Inbox");
    await shows("The budget tiny is used up");
    expect(await house.page.locator(".bar .count").innerText()).toMatch(/^1/);
    await house.page.click("text=Allow 100,000 tokens more");
    await shows("Nothing waits for you.");
    expect(await house.page.locator(".bar .count").count()).toBe(0);
  });

  it("shows a session in which a run is in progress, with a link to it", async () => {
    house.answer = () => ({ text: ["It goes ", "on"], hang: true });
    await house.signIn();
    await house.send("never end");
    await house.page.waitForSelector("article.reply.open");
    await house.page.click(".bar >> text=Inbox");
    await house.page.click(".lines >> text=main");
    await house.page.waitForSelector("article.reply.open");
    await house.page.keyboard.press("Escape");
    await house.page.waitForSelector("text=Stopped.");
  });
});
