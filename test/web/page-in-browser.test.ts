import { describe, expect, it } from "vitest";
import { openClient, openNode } from "../support/peer.ts";
import { until } from "../support/until.ts";
import { chromiumPath, inBrowser, keepSockets } from "./browser.ts";
import { hostileTexts } from "./hostile-texts.ts";
import { pageHouse } from "./page-house.ts";

describe.skipIf(chromiumPath === undefined)("the page in a browser", inBrowser, () => {
  const house = pageHouse();

  it("signs in by a link, which leaves no code in the address and works once", async () => {
    await house.signIn();
    const named = `${house.dev.cloud.page}/#/chat/agent:main:main`;
    await until(async () => house.page.url() === named, "the address names the session");
    await house.page.reload();
    await house.page.waitForSelector(".dot.connected");
    const other = await (await house.browser.newContext()).newPage();
    await other.goto(`${house.dev.cloud.page}/#c=wrong`);
    await other.waitForSelector(".pairing [role=alert]");
    expect(other.url()).toBe(`${house.dev.cloud.page}/`);
    const { short = "" } = await house.newCode();
    await other.fill("#code", short);
    await other.press("#code", "Enter");
    await other.waitForSelector(".dot.connected");
    await other.context().close();
  });

  it("streams an answer, formats it, and shows its messages again after a reload", async () => {
    house.answer = () => ({
      text: ["A list:\n\n", "- one\n", "- **two**\n\n", "```js\nlet a;\n```\n", "```odd\nlet b;\n```\n"],
      delayMs: 700,
    });
    await house.signIn();
    await house.send("hello");
    await house.page.waitForSelector("article.reply.open");
    await until(async () => (await house.replies()).length === 1, "the answer is complete");
    expect(await house.page.locator("article.reply li strong").innerText()).toBe("two");
    const codes = house.page.locator("article.reply pre");
    await codes.locator(".keyword", { hasText: "let" }).waitFor();
    expect(await codes.allInnerTexts()).toEqual(["let a;", "let b;"]);
    expect(await codes.nth(1).locator("span").count()).toBe(0);
    await house.page.reload();
    await until(async () => (await house.replies()).length === 1, "the answer is shown again");
    expect(await house.sent()).toEqual(["hello"]);
  });

  it("opens offline, and sends what was written then once, when the gateway is back", async () => {
    await house.signIn();
    await house.page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
    await house.send("first");
    await until(async () => (await house.replies()).length === 1, "the first is answered");
    await house.dev.close();
    await house.page.waitForSelector(".banner");
    await house.send("second");
    await house.send("third");
    await house.page.waitForSelector("text=Sent when back online: 2");
    // The page opens without its server, from what it has kept.
    await house.page.reload();
    await house.page.waitForSelector("text=Sent when back online: 2");
    expect(await house.sent()).toEqual(["first", "second", "third"]);
    expect(await house.replies()).toEqual([expect.stringContaining("Hello you.")]);
    await house.startGateway();
    await until(async () => (await house.replies()).length === 3, "all are answered");
    expect(await house.sent()).toEqual(["first", "second", "third"]);
    expect(await house.page.locator(".unsent").count()).toBe(0);
  });

  it("shows an answer that came while a phone had frozen the page, and its connection was gone", async () => {
    house.answer = () => ({ text: ["While ", "you slept."], delayMs: 2_000 });
    await house.signIn();
    await house.context?.addInitScript(keepSockets);
    await house.page.reload();
    await house.page.waitForSelector(".dot.connected");
    await house.send("think");
    await house.page.waitForSelector("article.reply.open");
    const browser = await house.context?.newCDPSession(house.page);
    await house.context?.setOffline(true);
    await house.page.evaluate("endSockets()");
    await house.page.waitForSelector(".dot:not(.connected)");
    await browser?.send("Page.setWebLifecycleState", { state: "frozen" });
    const client = await openClient(house.dev.url, house.dev.token);
    const stats = () => client.call<{ isProcessing: boolean }>("session.stats", { sessionKey: "main" });
    await until(async () => !(await stats()).isProcessing, "it is answered");
    await client.close();
    await house.context?.setOffline(false);
    await browser?.send("Page.setWebLifecycleState", { state: "active" });
    await until(
      async () => (await house.replies())[0]?.startsWith("While you slept.") ?? false,
      "it is shown",
    );
  });

  it("uses the gateway that it knows at once, and is loaded again when its server names another", async () => {
    await house.signIn();
    await house.page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
    const loads: string[] = [];
    const addresses: string[] = [];
    house.page.on("load", () => loads.push(house.page.url()));
    house.page.on("websocket", (socket) => addresses.push(socket.url()));
    await house.page.reload();
    await house.page.waitForSelector(".dot.connected");
    expect(loads).toHaveLength(1);
    const [address = ""] = addresses;
    await house.page.evaluate(keepGateway, `${address}elsewhere`);
    await house.page.reload();
    await until(async () => addresses.length === 3, "it is loaded again");
    await house.page.waitForSelector(".dot.connected");
    expect(addresses).toEqual([address, `${address}elsewhere`, address]);
    expect(loads).toHaveLength(3);
    await house.page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  });

  it("executes nothing and loads nothing of hostile answers", async () => {
    let index = 0;
    const parts = Array.from({ length: 10 }, (_, part) =>
      hostileTexts.slice(part * 50, part * 50 + 50).join("\n\n"),
    );
    house.answer = () => ({ text: parts[index++] });
    await house.signIn();
    for (let count = 1; count <= parts.length; count++) {
      await house.send(parts[count - 1]?.slice(0, 2000) ?? "");
      await until(async () => (await house.page.locator("article.mine").count()) === count, "it is shown");
      await until(
        async () => (await house.page.locator("article.reply:not(.open)").count()) >= count,
        "it is answered",
      );
    }
    expect(await house.page.evaluate(() => "hit" in globalThis)).toBe(false);
    const links = await house.page
      .locator(".log a")
      .evaluateAll((all) => all.map((one) => (one as HTMLAnchorElement).href));
    expect(links.length).toBeGreaterThan(50);
    expect(links.filter((href) => !/^(https?|mailto):/.test(href))).toEqual([]);
    expect(await house.page.locator(".log img, .log iframe, .log form, .log script").count()).toBe(0);
  });

  it("shows a picture that was attached, from the device and from the gateway", async () => {
    await house.signIn();
    const bytes = Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      "base64",
    );
    await house.page.setInputFiles("input[type=file]", {
      name: "dot.png",
      mimeType: "image/png",
      buffer: bytes,
    });
    await house.send("look");
    await house.page.waitForSelector("article.mine img");
    await until(async () => (await house.replies()).length === 1, "it is answered");
    await house.page.reload();
    await house.page.waitForSelector("article.mine img");
  });

  it("shows a request for approval whole, and answers it by keyboard", async () => {
    await house.dev.configuration.set("toolApproval.mode", "ask");
    let calls = 0;
    house.answer = ({ turns }) =>
      turns.at(-1)?.role === "user"
        ? { toolCalls: [{ name: "gsv__WriteFile", arguments: { path: `${++calls}.md`, content: "x" } }] }
        : { text: String(turns.at(-1)?.text) };
    await house.signIn();
    await house.send("write a file");
    const card = house.page.locator(".approval");
    await card.waitFor();
    // Its text is there when it is in view.
    await expect
      .poll(() => card.innerText())
      .toMatch(/May I use gsv__WriteFile\?[\s\S]*1\.md[\s\S]*words read: only yours/);
    await card.locator("button").last().waitFor();
    await card.focus();
    await house.page.keyboard.press("a");
    await until(async () => (await house.replies()).length === 1, "it is written");
    expect((await house.replies())[0]).toContain('"path":"1.md"');
    await house.send("another one");
    await card.waitFor();
    await card.focus();
    await house.page.keyboard.press("d");
    await until(async () => (await house.replies()).length === 2, "it is denied");
    expect((await house.replies())[1]).not.toContain('"path":"2.md"');
    expect(await house.page.locator(".tool.failed").count()).toBe(1);
  });

  it("shows a long conversation from its end, and earlier ones on demand", async () => {
    const old = Array.from({ length: 40 }, (_, index) => `old ${index}`);
    house.answer = ({ turns }) => ({ text: `to ${turns.at(-1)?.text}` });
    await house.signIn();
    for (const text of old) await house.send(text);
    // Between two runs the page shows none: only the last answer shows that all are answered.
    await house.page.waitForSelector("text=to old 39", { timeout: 60_000 });
    await house.page.reload();
    await house.page.waitForSelector("text=to old 39");
    // The newest 50, and those that the browser has kept from the turn before.
    const shown = () => house.page.locator("article").count();
    await until(async () => (await shown()) >= 50, "they are drawn");
    expect(await shown()).toBeLessThan(80);
    await house.page.click("text=Show earlier messages");
    await until(async () => (await house.page.locator("article").count()) === 80, "all are shown");
    expect(await house.page.locator("article").first().textContent()).toContain("old 0");
    expect(await house.page.locator(".earlier").count()).toBe(0);
  });

  it("offers what a connected machine can do, and general things without one", async () => {
    await house.signIn();
    const offers = house.page.locator(".empty button");
    await house.page.click("text=What can you do?");
    expect(await house.page.inputValue("textarea")).toBe("What can you do?");
    expect(await offers.count()).toBe(3);
    const node = await openNode(house.dev.url, house.dev.token, "garden-pi", { Bash: () => undefined });
    await house.page.reload();
    await house.page.click("text=What can you do on garden-pi?");
    expect(await offers.count()).toBe(3);
    await node.close();
  });

  it("keeps the box for a message above the keyboard of a phone", async () => {
    await house.signIn();
    await house.page.evaluate(() => {
      Object.defineProperty(visualViewport, "height", { value: 300, configurable: true });
      visualViewport?.dispatchEvent(new Event("resize"));
    });
    const box = await house.page.locator(".composer").boundingBox();
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(300);
    await house.page.evaluate(() => {
      Object.defineProperty(visualViewport, "height", { value: innerHeight });
      visualViewport?.dispatchEvent(new Event("resize"));
    });
    expect((await house.page.locator(".app").boundingBox())?.height).toBe(640);
  });

  it.each([360, 1440])("leads to the search by a key, %i pixels wide", async (width) => {
    await house.signIn("chat", { width, height: 640 });
    await house.page.keyboard.press("Control+k");
    await house.page.waitForFunction(() => document.activeElement?.matches(".sessions input"));
    expect(await house.page.locator(".sessions input").isVisible()).toBe(true);
  });

  it("stops a run by Escape, and lists commands for a slash", async () => {
    house.answer = () => ({ text: ["It goes ", "on"], hang: true });
    await house.signIn();
    await house.send("never end");
    await house.page.waitForSelector("article.reply.open");
    await house.page.keyboard.press("Escape");
    await house.page.waitForSelector("text=Stopped.");
    await house.page.fill("textarea", "/st");
    expect(await house.page.locator(".offers b").allInnerTexts()).toEqual(["/stop", "/status"]);
    await house.send("/status");
    await house.page.waitForSelector(".note:has-text('Session')");
  });

  it("forgets everything when the user signs out", async () => {
    await house.signIn();
    await house.send("hello");
    await until(async () => (await house.kept()).includes("history agent:main:main"), "it is kept");
    await house.page.click(".bar >> text=More");
    await house.page.click("main >> text=Sign out of this device");
    await house.page.waitForSelector("#code");
    await until(async () => (await house.kept()).length === 0, "it is deleted");
    await house.page.reload();
    await house.page.waitForSelector("#code");
    expect(await house.kept()).toEqual(["settings gateway"]);
  });
});

/** Keeps another address of the gateway in the browser, as an earlier version would have. */
function keepGateway(ws: string): Promise<void> {
  return new Promise((resolve) => {
    const opening = indexedDB.open("gsv");
    opening.onsuccess = () => {
      const database = opening.result;
      const change = database.transaction("settings", "readwrite");
      change.objectStore("settings").put({ ws, version: "0" }, "gateway");
      change.oncomplete = () => {
        database.close();
        resolve();
      };
    };
  });
}
