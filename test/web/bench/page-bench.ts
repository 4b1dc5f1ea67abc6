import { parseArgs } from "node:util";
import type { BrowserContext, CDPSession, Page } from "playwright-core";
import { setLogOutput } from "../../../shared/runtime/log.ts";
import { pageMessages } from "../../../web/state/conversation-view.ts";
import { launchBrowser } from "../browser.ts";
import { longAnswer, otherSession, type ScriptedGateway, startScriptedGateway } from "./scripted-gateway.ts";

/**
 * Measures the page in Chromium as on a processor that is four times slower. `--json` prints the figures as one line of JSON.
 * `far_` figures are for a gateway that is 150 ms away.
 * Times of streaming are four times the main thread's CPU time, so that other programs hardly change them.
 */
const slowdown = 4;
const pieceCount = 3000;
const sessionMessages = 5000;
/** 1.6 Mbit/s, in bytes a second. */
const slowNetwork = { offline: false, downloadThroughput: 200_000, uploadThroughput: 94_000 };
/** Time to a distant gateway and back, ms. */
const farLatency = 150;

interface SlowPage {
  page: Page;
  cdp: CDPSession;
  /** Resolves when all messages are drawn. The page tells it: looking for them from here would use its processor. */
  drawn: Promise<unknown>;
}

async function openSlowPage(context: BrowserContext): Promise<SlowPage> {
  const page = await context.newPage();
  const cdp = await context.newCDPSession(page);
  await cdp.send("Runtime.enable");
  await cdp.send("Runtime.addBinding", { name: "messagesDrawn" });
  const drawn = new Promise((resolve) => cdp.once("Runtime.bindingCalled", resolve));
  await cdp.send("Emulation.setCPUThrottlingRate", { rate: slowdown });
  return { page, cdp, drawn };
}

/** CPU times of the main thread's tasks and frames while `work` runs, as on the slow processor, in ms. */
async function tasksDuring(
  cdp: CDPSession,
  work: () => Promise<void>,
): Promise<{ tasks: number[]; frames: number[] }> {
  const events: { name: string; tdur?: number; tid: number; pid: number; args: { name?: string } }[] = [];
  cdp.on("Tracing.dataCollected", ({ value }) => events.push(...(value as unknown as typeof events)));
  const categories = "toplevel,devtools.timeline,disabled-by-default-devtools.timeline";
  await cdp.send("Tracing.start", { categories, transferMode: "ReportEvents" });
  await work();
  const complete = new Promise((resolve) => cdp.once("Tracing.tracingComplete", resolve));
  await cdp.send("Tracing.end");
  await complete;
  const of = (name: string) =>
    events
      .filter((one) => one.name === name && one.tdur !== undefined)
      .map(({ tdur = 0, tid, pid }) => ({ ms: (tdur / 1000) * slowdown, thread: `${pid}:${tid}` }));
  const frames = of("FireAnimationFrame");
  const main = frames[0]?.thread;
  return {
    tasks: of("RunTask")
      .filter(({ thread }) => thread === main)
      .map(({ ms }) => ms),
    frames: frames.map(({ ms }) => ms),
  };
}

async function measureStream(context: BrowserContext, gateway: ScriptedGateway) {
  const page = await context.newPage();
  const cdp = await context.newCDPSession(page);
  await page.goto(`${gateway.url}/#c=bench`);
  await page.waitForSelector(".dot.connected");
  await page.waitForFunction((count) => document.querySelectorAll("article").length >= count, pageMessages);
  const { tasks, frames } = await tasksDuring(cdp, async () => {
    await gateway.stream(longAnswer(pieceCount));
    gateway.end();
    await page.waitForFunction(
      () => document.querySelectorAll("article.reply:last-of-type:not(.open) .part").length > 10,
    );
    await page.evaluate(
      () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
  });
  await page.close();
  const sum = frames.reduce((all, ms) => all + ms, 0);
  return {
    tasks_over_50_ms: tasks.filter((ms) => ms > 50).length,
    worst_task_ms: round(Math.max(...tasks)),
    renders: frames.length,
    mean_render_ms: round(sum / frames.length),
    worst_render_ms: round(Math.max(...frames)),
  };
}

/** The first load over a slow network. @param latency of the network, ms */
async function openFirst(context: BrowserContext, gateway: ScriptedGateway, latency: number) {
  const { page, cdp, drawn } = await openSlowPage(context);
  const requests: string[] = [];
  page.on("request", (request) => requests.push(request.url()));
  await cdp.send("Network.enable");
  await cdp.send("Network.emulateNetworkConditions", { ...slowNetwork, latency });
  await page.goto(`${gateway.url}/#c=bench`);
  await drawn;
  return { page, requests, times: await openingTimes(page) };
}

async function measureFar(context: BrowserContext, gateway: ScriptedGateway) {
  const { times } = await openFirst(context, gateway, farLatency);
  return { far_lcp_ms: times.lcp, far_messages_ms: times.shown };
}

async function measureOpening(context: BrowserContext, gateway: ScriptedGateway) {
  const { page, requests, times } = await openFirst(context, gateway, 0);
  const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
  // The worker's own requests are not the page's, and the colours of code come when it is shown.
  const first = requests.filter((url) => !/sw\.js$|code-colours/.test(url)).length;
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  const session = await sessionTime(page);
  await page.close();
  const offline = await openSlowPage(context);
  await context.setOffline(true);
  await offline.page.goto(gateway.url);
  await offline.drawn;
  const again = await openingTimes(offline.page);
  const kept = await offline.page.locator("article").count();
  await context.setOffline(false);
  await offline.page.close();
  return {
    first_load_requests: first,
    lcp_ms: times.lcp,
    first_load_messages_ms: times.shown,
    dom_nodes: nodes,
    session_messages_ms: session,
    offline_messages: kept,
    offline_messages_ms: again.shown,
    offline_all_messages_ms: again.all,
  };
}

interface OpeningTimes {
  lcp: number;
  shown: number;
  all: number;
}

/** When the largest part, the first message and all messages were painted, in ms since the navigation. */
function openingTimes(page: Page): Promise<OpeningTimes> {
  return page.evaluate(async () => {
    // Chromium reports a paint some time after it.
    await new Promise((resolve) => setTimeout(resolve, 500));
    const entries = await new Promise<PerformanceEntryList>((resolve) => {
      new PerformanceObserver((list) => resolve(list.getEntries())).observe({
        type: "largest-contentful-paint",
        buffered: true,
      });
    });
    const [shown, all] = ["messages", "all"].map((name) => performance.getEntriesByName(name)[0]?.startTime);
    return {
      lcp: Math.round(entries.at(-1)?.startTime ?? 0),
      shown: Math.round(shown ?? 0),
      all: Math.round(all ?? 0),
    };
  });
}

/** The time from the choice of another session to its first message, which this device has not kept, in ms. */
function sessionTime(page: Page): Promise<number> {
  return page.evaluate(async (key) => {
    const begin = performance.now();
    const before = document.querySelector("article");
    location.hash = `#/chat/${key}`;
    do await new Promise(requestAnimationFrame);
    while ((document.querySelector("article") ?? before) === before);
    await new Promise(requestAnimationFrame);
    return Math.round(performance.now() - begin);
  }, otherSession);
}

/** Marks when the first message, and when a whole page of them, is in the document. */
function markMessages(count: number): void {
  let shown = 0;
  const observer = new MutationObserver(() => {
    const now = document.querySelectorAll("article").length;
    if (now > 0 && shown === 0) requestAnimationFrame(() => performance.mark("messages"));
    shown = now;
    if (now < count) return;
    observer.disconnect();
    requestAnimationFrame(() => {
      performance.mark("all");
      (globalThis as { messagesDrawn?: (text: string) => void }).messagesDrawn?.("");
    });
  });
  observer.observe(document, { subtree: true, childList: true });
}

const round = (ms: number) => Math.round(ms * 10) / 10;

async function main({ json = false, help = false }): Promise<void> {
  if (help)
    return console.log("npm run bench:page -- [--json]   measures the page in Chromium; takes a minute");
  // The page function's lines would mix with the figures.
  setLogOutput(() => {});
  const browser = await launchBrowser();
  const measured = async <T>(
    measure: (context: BrowserContext, gateway: ScriptedGateway) => Promise<T>,
  ): Promise<T> => {
    const gateway = await startScriptedGateway(sessionMessages);
    // The first request builds the page.
    await fetch(gateway.url);
    const context = await browser.newContext({ viewport: { width: 360, height: 640 } });
    await context.addInitScript(markMessages, pageMessages);
    const figures = await measure(context, gateway);
    await gateway.close();
    return figures;
  };
  // In this order: a browser that has just started is busy with itself.
  const streamed = await measured(measureStream);
  const figures = { ...(await measured(measureOpening)), ...(await measured(measureFar)), ...streamed };
  await browser.close();
  if (json) console.log(JSON.stringify(figures));
  else console.table(figures);
}

const options = { json: { type: "boolean" }, help: { type: "boolean" } } as const;
await main(parseArgs({ options }).values);
