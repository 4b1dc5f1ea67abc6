import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { longAnswer, type ScriptedGateway, startScriptedGateway } from "./bench/scripted-gateway.ts";
import { chromiumPath, inBrowser, launchBrowser } from "./browser.ts";

let browser: Browser;
let gateway: ScriptedGateway;
let context: BrowserContext;
let page: Page;

/** Counts what makes a page slow; `npm run bench:page` measures the times. */
describe.skipIf(chromiumPath === undefined)("a page with much to show", inBrowser, () => {
  beforeAll(async () => {
    browser = await launchBrowser();
    gateway = await startScriptedGateway(5000);
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.close();
  });
  beforeEach(async () => {
    context = await browser.newContext();
    page = await context.newPage();
  });
  afterEach(() => context.close());

  it("opens a session of 5,000 messages with 6 requests and 3,000 elements at most", async () => {
    const requests: string[] = [];
    page.on("request", (request) => requests.push(new URL(request.url()).pathname));
    await page.goto(`${gateway.url}/#c=code`);
    await page.waitForSelector("article");
    expect(requests.slice(6)).toEqual([]);
    expect(new Set(requests).size).toBe(requests.length);
    await expect.poll(() => page.locator("article").count()).toBe(50);
    expect(await page.locator("*").count()).toBeLessThanOrEqual(3000);
  });

  it("draws the newest messages first, and in each frame some more", async () => {
    await page.addInitScript(() => {
      const seen: [number, string][] = [];
      Object.assign(globalThis, { seen });
      new MutationObserver(() => {
        const articles = document.querySelectorAll("article");
        const last = articles[articles.length - 1]?.textContent ?? "";
        if (articles.length !== (seen.at(-1)?.[0] ?? 0)) seen.push([articles.length, last]);
      }).observe(document, { subtree: true, childList: true });
    });
    await page.goto(`${gateway.url}/#c=code`);
    await expect.poll(() => page.locator("article").count()).toBe(50);
    const seen = await page.evaluate(() => (globalThis as unknown as { seen: [number, string][] }).seen);
    expect(seen.map(([count]) => count)).toEqual([10, 20, 40, 50]);
    expect(seen.every(([, last]) => last.includes("Answer 5000"))).toBe(true);
  });

  it("paints the newest message in its first frame", async () => {
    await page.addInitScript(() => {
      const observer = new MutationObserver(() => {
        if (!document.querySelector("article")) return;
        observer.disconnect();
        // The second callback follows the paint of the first frame.
        requestAnimationFrame(() =>
          requestAnimationFrame(() => {
            const newest = [...document.querySelectorAll("article p")].at(-1);
            Object.assign(globalThis, {
              isPainted: newest?.checkVisibility({ contentVisibilityAuto: true }),
            });
          }),
        );
      });
      observer.observe(document, { subtree: true, childList: true });
    });
    await page.goto(`${gateway.url}/#c=code`);
    await page.waitForFunction(() => "isPainted" in globalThis);
    expect(await page.evaluate("isPainted")).toBe(true);
  });

  it("draws each part of an answer once, while it arrives and when it is complete", async () => {
    await page.goto(`${gateway.url}/#c=code`);
    await expect.poll(() => page.locator("article").count()).toBe(50);
    const before = page.evaluate(
      () =>
        new Promise<string[]>((resolve) => {
          const removed: string[] = [];
          const observer = new MutationObserver((changes) => {
            for (const { removedNodes } of changes)
              for (const node of removedNodes)
                if (node instanceof Element && node.matches("article, .part")) removed.push(node.className);
            const last = [...document.querySelectorAll("article")].at(-1);
            if (last?.matches(".reply:not(.open)") && last.querySelectorAll(".part").length > 10) {
              observer.disconnect();
              resolve(removed);
            }
          });
          const log = document.querySelector(".log") as Element;
          observer.observe(log, { subtree: true, childList: true, attributes: true });
        }),
    );
    await gateway.stream(longAnswer(600));
    gateway.end();
    expect(await before).toEqual([]);
  });

  it("compares only the end of an answer while it arrives", async () => {
    await page.goto(`${gateway.url}/#c=code`);
    await expect.poll(() => page.locator("article").count()).toBe(50);
    await gateway.stream([...longAnswer(600), "\n\nword 0"]);
    const end = (count: number) => page.waitForSelector(`article.open p:text("word ${count}")`);
    await end(0);
    const cdp = await context.newCDPSession(page);
    await cdp.send("Profiler.enable");
    await cdp.send("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    for (let count = 1; count <= 10; count++) {
      await gateway.stream([` word ${count}`]);
      await end(count);
    }
    const { result } = await cdp.send("Profiler.takePreciseCoverage");
    gateway.end();
    const functions = result
      .filter(({ url }) => url.startsWith(gateway.url))
      .flatMap((script) => script.functions);
    const calls = functions.reduce((sum, { ranges }) => sum + (ranges[0]?.count ?? 0), 0);
    expect(calls / 10).toBeLessThan(10_000);
  });
});
