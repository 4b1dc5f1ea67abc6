import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Gateway, openGateway } from "../../cli/gateway/gateway-client.ts";
import { until } from "../support/until.ts";
import { chromiumPath, inBrowser } from "./browser.ts";
import { hostileTexts } from "./hostile-texts.ts";
import { pageHouse } from "./page-house.ts";

describe.skipIf(chromiumPath === undefined)("the memory view", inBrowser, () => {
  const house = pageHouse();
  let owner: Gateway;

  beforeEach(async () => {
    owner = await openGateway(house.dev.url, house.dev.token);
  });
  afterEach(() => owner.close());

  const remember = async (...texts: string[]) => {
    for (const text of texts) await owner.request("memory.add", { text });
  };
  const stored = async (query = "") =>
    (await owner.request("memory.list", { query })).memories.map(({ text }) => text);
  const rows = () => house.page.locator(".memory");
  const open = async (count: number) => {
    await house.signIn("memory");
    await until(async () => (await rows().count()) === count, "the memories are listed");
  };

  it("says what to do while nothing is remembered", async () => {
    await house.signIn("memory");
    await house.page.waitForSelector(".nothing:has-text('Nothing remembered yet')");
  });

  it("corrects a line by keyboard, and undoes it", async () => {
    await remember("Ada drinks tea");
    await open(1);
    await house.page.getByRole("button", { name: "Correct: Ada drinks tea" }).focus();
    await house.page.keyboard.press("Enter");
    await house.page.keyboard.press("ControlOrMeta+a");
    await house.page.keyboard.type("Ada drinks coffee");
    await house.page.keyboard.press("Tab");
    await house.page.keyboard.press("Enter");
    await house.page.waitForSelector(".notice:has-text('Corrected')");
    expect(await stored()).toEqual(["Ada drinks coffee"]);
    await house.page.click("text=Undo");
    await house.page.waitForSelector(".notice:has-text('The old line is back')");
    expect(await stored()).toEqual(["Ada drinks tea"]);
    expect(await rows().locator("p.plain").allInnerTexts()).toEqual(["Ada drinks tea"]);
  });

  it("keeps a line that was known already when its correction is undone", async () => {
    await owner.request("workspace.write", { path: "MEMORY.md", content: "- Ada drinks coffee\n" });
    await remember("Ada drinks tea");
    await open(2);
    await house.page.click("[aria-label='Correct: Ada drinks tea']");
    await house.page.fill(".correction textarea", "Ada drinks coffee");
    await house.page.click(".correction >> text=Save");
    await house.page.click("text=Undo");
    await house.page.waitForSelector(".notice:has-text('The old line is back')");
    expect((await stored()).toSorted()).toEqual(["Ada drinks coffee", "Ada drinks tea"]);
  });

  it("forgets a line only after it was confirmed, and notes it again on undo", async () => {
    await remember("Ada drinks tea", "Max plays chess");
    await open(2);
    await house.page.click("[aria-label='Forget: Ada drinks tea']");
    await house.page.click("text=Keep it");
    expect(await stored()).toHaveLength(2);
    await house.page.click("[aria-label='Forget: Ada drinks tea']");
    await house.page.click("text=Forget it");
    await house.page.waitForSelector(".notice:has-text('Forgotten')");
    expect(await stored()).toEqual(["Max plays chess"]);
    expect(await house.page.locator(".forgotten summary").innerText()).toContain("1 forgotten or replaced");
    await house.page.click("text=Undo");
    await house.page.waitForSelector(".notice:has-text('Noted again')");
    expect((await stored()).toSorted()).toEqual(["Ada drinks tea", "Max plays chess"]);
  });

  it("finds a line by its words, with the one that it replaced, which can be restored", async () => {
    await remember("Tina lives in Bern", "Max plays chess");
    const [bern] = (await owner.request("memory.list", { query: "Bern" })).memories;
    await owner.request("memory.correct", { id: bern?.id ?? "", text: "Tina lives in Basel" });
    await open(2);
    await house.page.fill("[type=search] >> nth=-1", "where does Tina live");
    await house.page.press("[type=search] >> nth=-1", "Enter");
    await until(
      async () => (await rows().first().locator("p.plain").innerText()) === "Tina lives in Basel",
      "found",
    );
    const old = rows().filter({ has: house.page.locator("del") });
    expect(await old.locator("summary").innerText()).toMatch(/replaced \d{4}-\d\d/);
    await old.getByRole("button", { name: "Restore" }).click();
    await house.page.waitForSelector(".notice:has-text('Restored in memory/')");
    expect(await stored()).toContain("Tina lives in Bern");
  });

  it("says why a line is there: its session as a link, its file, and the message", async () => {
    house.answer = ({ turns }) =>
      turns.at(-1)?.role === "user"
        ? {
            toolCalls: [
              { name: "gsv__memory", arguments: { action: "remember", content: "Ada is allergic to nuts" } },
            ],
          }
        : { text: "Noted." };
    await house.signIn();
    await house.send("remember that Ada is allergic to nuts");
    await until(async () => (await house.replies()).length === 1, "it is noted");
    await house.page.evaluate(() => {
      location.hash = "#/memory";
    });
    await house.page.click(".origin summary");
    await house.page.waitForSelector(".origin blockquote");
    const why = await house.page.locator(".origin").innerText();
    expect(why).toMatch(/you asked the agent to remember it[\s\S]*words read: only yours/);
    expect(await house.page.locator(".origin a").first().getAttribute("href")).toBe("#/chat/agent:main:main");
    await house.page.click(".origin a >> nth=1");
    expect(await house.page.locator(".file .text").innerText()).toContain("Ada is allergic to nuts");
  });

  it("leads from a line that a message or a call recalled to its place among the memories", async () => {
    await owner.request("workspace.write", {
      path: "memory/2026-06-03.md",
      content: "- Bruno the dog must not eat chicken ‮\n- Max plays chess\n",
    });
    house.answer = ({ turns }) =>
      turns.at(-1)?.text.startsWith("What can")
        ? { toolCalls: [{ name: "gsv__recall", arguments: { queries: ["Bruno chicken"] } }] }
        : { text: "No chicken." };
    await house.signIn();
    // A message waits 0.3 s for what it reminds of; the next one finds it read.
    for (const [index, text] of ["Good morning", "What can Bruno not eat?"].entries()) {
      await house.send(text);
      await until(async () => (await house.replies()).length === index + 1, "it is answered");
    }
    await house.page.click("text=Recalled 1 line from earlier");
    await house.page.click(".tool summary");
    const lines = house.page.locator(".chat .recalled");
    const shown = /Bruno the dog must not eat chicken ⟨U\+202E⟩\s+2026-06-03, memory\/2026-06-03.md/;
    expect(await lines.allInnerTexts()).toEqual([expect.stringMatching(shown), expect.stringMatching(shown)]);
    for (const place of [0, 1]) {
      await lines.nth(place).getByRole("link").click();
      await until(async () => (await rows().count()) === 1, "the memory is shown");
      expect(await rows().locator("p.plain").innerText()).toContain("Bruno the dog");
      await house.page.goBack();
      await lines.first().waitFor();
    }
  });

  it("says that a memory to which a line leads is gone", async () => {
    await house.signIn("memory/line/0123456789abcdef/main");
    await house.page.waitForSelector(".view [role=alert]");
    await house.page.click(".tabs >> text=Memories");
    await house.page.waitForSelector("text=Nothing remembered yet");
  });

  it("executes nothing of hostile memories and files, and shows their text", async () => {
    const some = hostileTexts.filter((_, index) => index % 25 === 0 && index < 500);
    const lines = some.map((text, index) => `${index} ${text}`.replaceAll(/\s+/g, " ").trim());
    await owner.request("workspace.write", {
      path: "MEMORY.md",
      content: lines.map((line) => `- ${line}\n`).join(""),
    });
    await owner.request("workspace.write", { path: "SOUL.md", content: hostileTexts.join("\n\n") });
    await house.signIn("memory");
    await until(async () => (await rows().count()) > 5, "they are listed");
    expect(await house.page.locator(".memories").innerText()).toContain("<script>globalThis.hit=1</script>");
    await house.page.evaluate(() => {
      location.hash = "#/memory/files/SOUL.md";
    });
    await house.page.waitForSelector(".file .text p");
    expect(await house.page.evaluate(() => "hit" in globalThis)).toBe(false);
    expect(await house.page.locator(".view img, .view iframe, .view form, .view script").count()).toBe(0);
  });

  it("writes right-to-left lines from the right, and breaks long words at 360 pixels", async () => {
    await remember("אדה שותה תה בבוקר", `Ada's key is named ${"x".repeat(400)}`);
    await open(2);
    const direction = (line: string) =>
      rows()
        .filter({ hasText: line })
        .locator("p.plain")
        .evaluate((one) => getComputedStyle(one).direction);
    expect(await direction("אדה")).toBe("rtl");
    expect(await direction("Ada's key")).toBe("ltr");
    const width = await house.page.locator(".view").evaluate((one) => one.scrollWidth);
    expect(width).toBeLessThanOrEqual(360);
  });
});
