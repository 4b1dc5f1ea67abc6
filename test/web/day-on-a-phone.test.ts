import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Message } from "../../shared/protocol/messages.ts";
import type { Results } from "../../shared/protocol/results.ts";
import { textOf } from "../../web/state/entries.ts";
import { type GsvProcess, killLeftovers, startGsv } from "../cli/gsv-process.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer } from "../support/models/scripted-model.ts";
import { clientParams, Peer } from "../support/peer.ts";
import { newFolder } from "../support/run/test-folders.ts";
import { until } from "../support/until.ts";
import { chromiumPath, keepSockets, launchBrowser, watchFaults } from "./browser.ts";

/** A phone that loses its connection again and again, and a gateway whose process is killed. */

interface Ready {
  ws: string;
  page: string;
  token: string;
}

type Preview = Results["session.preview"] & Record<string, unknown>;

const texts = Array.from({ length: 200 }, (_, index) => `message ${index}`);

let browser: Browser;
let model: ModelServer;
let context: BrowserContext;
let page: Page;
let gateway: GsvProcess;
const dir = newFolder();

/** Starts the gateway as a process of its own, on the folder and the ports that it had before. */
async function startGateway(): Promise<Ready> {
  const env = { GSV_MODEL_BASE_URL: model.url, GSV_MODEL: "m" };
  gateway = startGsv(dir, ["dev", "--serve", "--json"], env);
  const [line] = await gateway.prints(/^\{.*\}$/m);
  return JSON.parse(line) as Ready;
}

async function killGateway(): Promise<void> {
  gateway.child.kill("SIGKILL");
  await gateway.ended;
}

async function connectOwner({ ws, token }: Pick<Ready, "ws" | "token">): Promise<Peer> {
  const owner = await Peer.open(ws, token);
  await owner.call("connect", clientParams("owner"));
  return owner;
}

/** The messages of the gateway's conversation, oldest first. */
async function storedMessages(ready: Ready): Promise<Message[]> {
  const owner = await connectOwner(ready);
  const found: Message[] = [];
  for (let before: number | undefined; ; ) {
    const params = { sessionKey: "main", limit: 100, before };
    const { first, messages } = await owner.call<Preview>("session.preview", params);
    found.unshift(...messages);
    before = messages[0]?.seq;
    if (before === undefined || before <= first) break;
  }
  await owner.close();
  return found;
}

async function pairByTyping({ ws, token, page: address }: Ready): Promise<void> {
  const owner = await connectOwner({ ws, token });
  const { short } = await owner.call<{ short: string }>("code.create", { short: true, scopes: ["client"] });
  await owner.close();
  await page.goto(address);
  await page.fill("#code", short);
  await page.press("#code", "Enter");
  await page.waitForSelector(".dot.connected");
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
}

describe.skipIf(chromiumPath === undefined)("a day on a phone", () => {
  beforeAll(async () => {
    browser = await launchBrowser();
    model = await startOpenAiServer(({ turns }) => ({ text: `to ${turns.at(-1)?.text}` }));
    context = await browser.newContext({ viewport: { width: 360, height: 640 } });
    page = await context.newPage();
    await page.addInitScript(keepSockets);
  });
  afterAll(async () => {
    await context?.close();
    await browser?.close();
    killLeftovers();
    await model?.close();
  });

  it("loses none of 200 messages, doubles none and keeps their order, while 50 sockets, 5 gateways and 10 pages end", async () => {
    const faults = watchFaults(page);
    const ready = await startGateway();
    await pairByTyping(ready);
    let started: Promise<unknown> = Promise.resolve();
    for (const [index, text] of texts.entries()) {
      await page.fill("textarea", text);
      await page.press("textarea", "Enter");
      await page.waitForSelector(`article.mine >> text="${text}"`);
      if (index % 4 === 3) await page.evaluate("endSockets()");
      if (index % 20 === 10) await page.reload();
      if (index % 40 === 8) await killGateway();
      if (index % 40 === 18) started = startGateway();
      if (index % 40 === 39) await started;
    }
    await until(async () => (await page.locator(".unsent").count()) === 0, "all are accepted");
    await page.waitForSelector('article.reply >> text="to message 199"', { timeout: 120_000 });
    await page.reload();
    const earlier = page.locator("text=Show earlier messages");
    await until(async () => {
      // The last page of earlier messages removes the button.
      if (await earlier.isVisible()) await earlier.click({ timeout: 1_000 }).catch(() => undefined);
      return (await page.locator("article.mine").count()) === texts.length;
    }, "all are shown");
    expect(await page.locator("article.mine .plain").allTextContents()).toEqual(texts);
    expect(await page.locator("article.reply .text").allTextContents()).toEqual(
      texts.map((text) => `to ${text}`),
    );
    const stored = await storedMessages(ready);
    expect(stored.map(({ role, ...message }) => `${role}: ${textOf(message)}`)).toEqual(
      texts.flatMap((text) => [`user: ${text}`, `assistant: to ${text}`]),
    );
    expect(faults).toEqual([]);
  });
});
