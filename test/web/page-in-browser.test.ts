import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Dev, startDev } from "../../local/dev/dev.ts";
import { createCode } from "../../shared/peers/codes.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelRequest, ModelServer, Reply } from "../support/models/scripted-model.ts";
import { newFolder } from "../support/run/test-folders.ts";
import { until } from "../support/until.ts";
import { chromiumPath, launchBrowser, watchFaults } from "./browser.ts";
import { hostileTexts } from "./hostile-texts.ts";

let browser: Browser;
let dev: Dev;
let dir: string;
let model: ModelServer;
let context: BrowserContext;
let page: Page;
let faults: string[];
let answer: (request: ModelRequest) => Reply;

async function startGateway(): Promise<void> {
  dev = await startDev({ dir });
  const provider = { provider: "openai-compatible", id: "m", baseUrl: model.url };
  await dev.configuration.set("model", provider);
  await dev.configuration.set("apiKeys.openai-compatible", "sk-test");
}

async function newCode() {
  const { id: by } = await dev.createAdmin();
  const grant = { scopes: ["client", "approve"] as const, by };
  return createCode(
    dev.cloud.world.table,
    { ...grant, scopes: [...grant.scopes] },
    { seconds: 60, hasShort: true },
    Date.now(),
  );
}

/** Opens the page on a device of its own, signed in by a link. */
async function signIn(): Promise<void> {
  context = await browser.newContext({ viewport: { width: 360, height: 640 } });
  page = await context.newPage();
  faults = watchFaults(page);
  const { code } = await newCode();
  await page.goto(`${dev.cloud.page}/#c=${code}`);
  await page.waitForSelector(".dot.connected");
}

async function send(text: string): Promise<void> {
  await page.fill("textarea", text);
  await page.press("textarea", "Enter");
}

const replies = () => page.locator("article.reply:not(.open)").allInnerTexts();
const sent = () => page.locator("article.mine .plain").allInnerTexts();

describe.skipIf(chromiumPath === undefined)("the page in a browser", () => {
  beforeAll(async () => {
    browser = await launchBrowser();
    model = await startOpenAiServer((request) => answer(request));
  });
  afterAll(async () => {
    await browser?.close();
    await model?.close();
  });
  beforeEach(async () => {
    dir = newFolder();
    answer = () => ({ text: "Hello **you**." });
    await startGateway();
  });
  afterEach(async () => {
    await context?.close();
    await dev.close();
    expect(faults).toEqual([]);
  });

  it("signs in by a link, which leaves no code in the address and works once", async () => {
    await signIn();
    expect(page.url()).toBe(`${dev.cloud.page}/`);
    await page.reload();
    await page.waitForSelector(".dot.connected");
    const other = await (await browser.newContext()).newPage();
    await other.goto(`${dev.cloud.page}/#c=wrong`);
    await other.waitForSelector(".pairing [role=alert]");
    expect(other.url()).toBe(`${dev.cloud.page}/`);
    const { short = "" } = await newCode();
    await other.fill("#code", short);
    await other.press("#code", "Enter");
    await other.waitForSelector(".dot.connected");
    await other.context().close();
  });

  it("streams an answer, formats it, and shows its messages again after a reload", async () => {
    answer = () => ({
      text: ["A list:\n\n", "- one\n", "- **two**\n\n", "```js\nlet a;\n```\n"],
      delayMs: 700,
    });
    await signIn();
    await send("hello");
    await page.waitForSelector("article.reply.open");
    await until(async () => (await replies()).length === 1, "the answer is complete");
    expect(await page.locator("article.reply li strong").innerText()).toBe("two");
    expect(await page.locator("article.reply pre").innerText()).toContain("let a;");
    await page.reload();
    await until(async () => (await replies()).length === 1, "the answer is shown again");
    expect(await sent()).toEqual(["hello"]);
  });

  it("opens offline, and sends what was written then once, when the gateway is back", async () => {
    await signIn();
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
    await send("first");
    await until(async () => (await replies()).length === 1, "the first is answered");
    await dev.close();
    await page.waitForSelector(".banner");
    await send("second");
    await send("third");
    await page.waitForSelector("text=Sent when back online: 2");
    // The page opens without its server, from what it has kept.
    await page.reload();
    await page.waitForSelector("text=Sent when back online: 2");
    expect(await sent()).toEqual(["first", "second", "third"]);
    expect(await replies()).toEqual([expect.stringContaining("Hello you.")]);
    await startGateway();
    await until(async () => (await replies()).length === 3, "all are answered");
    expect(await sent()).toEqual(["first", "second", "third"]);
    expect(await page.locator(".unsent").count()).toBe(0);
  });

  it("executes nothing and loads nothing of hostile answers", async () => {
    let index = 0;
    const parts = Array.from({ length: 10 }, (_, part) =>
      hostileTexts.slice(part * 50, part * 50 + 50).join("\n\n"),
    );
    answer = () => ({ text: parts[index++] });
    await signIn();
    for (let count = 1; count <= parts.length; count++) {
      await send(parts[count - 1]?.slice(0, 2000) ?? "");
      await until(async () => (await page.locator("article.mine").count()) === count, "it is shown");
      await until(
        async () => (await page.locator("article.reply:not(.open)").count()) >= count,
        "it is answered",
      );
    }
    expect(await page.evaluate(() => "hit" in globalThis)).toBe(false);
    const links = await page
      .locator(".log a")
      .evaluateAll((all) => all.map((one) => (one as HTMLAnchorElement).href));
    expect(links.length).toBeGreaterThan(50);
    expect(links.filter((href) => !/^(https?|mailto):/.test(href))).toEqual([]);
    expect(await page.locator(".log img, .log iframe, .log form, .log script").count()).toBe(0);
  });

  it("shows a picture that was attached, from the device and from the gateway", async () => {
    await signIn();
    const bytes = Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      "base64",
    );
    await page.setInputFiles("input[type=file]", { name: "dot.png", mimeType: "image/png", buffer: bytes });
    await send("look");
    await page.waitForSelector("article.mine img");
    await until(async () => (await replies()).length === 1, "it is answered");
    await page.reload();
    await page.waitForSelector("article.mine img");
  });

  it("shows a request for approval whole, and answers it by keyboard", async () => {
    await dev.configuration.set("toolApproval.mode", "ask");
    let calls = 0;
    answer = ({ turns }) =>
      turns.at(-1)?.role === "user"
        ? { toolCalls: [{ name: "gsv__WriteFile", arguments: { path: `${++calls}.md`, content: "x" } }] }
        : { text: String(turns.at(-1)?.text) };
    await signIn();
    await send("write a file");
    const card = page.locator(".approval");
    await card.waitFor();
    expect(await card.innerText()).toMatch(
      /May I use gsv__WriteFile\?[\s\S]*1\.md[\s\S]*words read: only yours/,
    );
    expect(await card.locator("button").last().isVisible()).toBe(true);
    await card.focus();
    await page.keyboard.press("a");
    await until(async () => (await replies()).length === 1, "it is written");
    expect((await replies())[0]).toContain('"path":"1.md"');
    await send("another one");
    await card.waitFor();
    await card.focus();
    await page.keyboard.press("d");
    await until(async () => (await replies()).length === 2, "it is denied");
    expect((await replies())[1]).not.toContain('"path":"2.md"');
    expect(await page.locator(".tool.failed").count()).toBe(1);
  });

  it("shows a long conversation from its end, and earlier ones on demand", async () => {
    const old = Array.from({ length: 40 }, (_, index) => `old ${index}`);
    answer = ({ turns }) => ({ text: `to ${turns.at(-1)?.text}` });
    await signIn();
    for (const text of old) await send(text);
    await until(async () => (await page.locator("article.reply").count()) >= 25, "most are answered");
    await until(async () => !(await page.locator("[aria-label=Stop]").isVisible()), "all are answered");
    await page.reload();
    await page.waitForSelector("text=to old 39");
    // The newest 50, and those that the browser has kept from the turn before.
    const shown = await page.locator("article").count();
    expect(shown).toBeGreaterThanOrEqual(50);
    expect(shown).toBeLessThan(80);
    await page.click("text=Show earlier messages");
    await until(async () => (await page.locator("article").count()) === 80, "all are shown");
    expect(await page.locator("article").first().textContent()).toContain("old 0");
    expect(await page.locator(".earlier").count()).toBe(0);
  });

  it("stops a run by Escape, and lists commands for a slash", async () => {
    answer = () => ({ text: ["It goes ", "on"], hang: true });
    await signIn();
    await send("never end");
    await page.waitForSelector("article.reply.open");
    await page.keyboard.press("Escape");
    await page.waitForSelector("text=Stopped.");
    await page.fill("textarea", "/st");
    expect(await page.locator(".offers b").allInnerTexts()).toEqual(["/stop", "/status"]);
    await send("/status");
    await page.waitForSelector(".note:has-text('Session')");
  });

  it("forgets everything when the user signs out", async () => {
    await signIn();
    await page.click("button.menu");
    await page.click("text=Sign out of this device");
    await page.waitForSelector("#code");
    await page.reload();
    await page.waitForSelector("#code");
  });
});
