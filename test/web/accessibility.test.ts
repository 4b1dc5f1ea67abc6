import axe from "axe-core";
import { describe, expect, it } from "vitest";
import { views } from "../../web/views/views.ts";
import { until } from "../support/until.ts";
import { chromiumPath, inBrowser } from "./browser.ts";
import { pageHouse } from "./page-house.ts";

/** Readers without a mouse, and readers with a screen reader. */

const sizes = [
  { width: 360, height: 640 },
  { width: 1440, height: 900 },
];

const answerText = [
  "## Three are older than a week",
  "Remove `build/2026-10`? See [the list](https://example.com) and **decide**.",
  "- one\n- [x] two",
  "| file | size |\n|---|---|\n| a | 1 |",
  "> quoted",
  "```js\nlet a = 1;\n```",
].join("\n\n");

describe.skipIf(chromiumPath === undefined)("the page for everybody", inBrowser, () => {
  const house = pageHouse();

  /** What axe finds wrong with the page as it is, in both colour schemes and at both sizes. */
  async function expectAccessible(what: string): Promise<void> {
    await house.page.evaluate(axe.source);
    for (const colorScheme of ["light", "dark"] as const)
      for (const size of sizes) {
        await house.page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        await house.page.setViewportSize(size);
        const { violations } = await house.page.evaluate(() =>
          (globalThis as never as { axe: typeof axe }).axe.run(),
        );
        const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join("\n")}`);
        expect(found, `${what}, ${colorScheme}, ${size.width}`).toEqual([]);
      }
  }

  /** Presses Tab until the focus is on an element with the selector. */
  async function tabTo(selector: string): Promise<void> {
    for (let presses = 0; presses < 60; presses++) {
      if (await house.page.evaluate((wanted) => document.activeElement?.matches(wanted), selector)) return;
      await house.page.keyboard.press("Tab");
    }
    throw new Error(`Tab does not reach ${selector}`);
  }

  /** Has the agent answer the first message, and ask for approval at the second. */
  async function talk(): Promise<void> {
    await house.dev.configuration.set("toolApproval.mode", "ask");
    house.answer = ({ turns }) => {
      if (turns.at(-1)?.role !== "user") return { text: "Written." };
      if (turns.at(-1)?.text !== "write a file") return { text: answerText };
      return { toolCalls: [{ name: "gsv__WriteFile", arguments: { path: "a.md", content: "x" } }] };
    };
  }

  it("has no fault in the pairing view", async () => {
    house.context = await house.browser.newContext();
    house.page = await house.context.newPage();
    await house.page.goto(house.dev.cloud.page);
    await house.page.waitForSelector("#code");
    await expectAccessible("pairing");
  });

  it("has no fault in a conversation with a table, code, a call and a request", async () => {
    await talk();
    await house.signIn();
    await expectAccessible("an empty conversation");
    await house.send("look at my builds");
    await until(async () => (await house.replies()).length === 1, "it is answered");
    await house.send("write a file");
    await house.page.waitForSelector(".approval");
    await expectAccessible("a request");
    await house.page.locator(".approval").focus();
    await house.page.keyboard.press("a");
    await until(async () => (await house.replies()).length === 2, "it is written");
    await house.page.click(".tool summary");
    await expectAccessible("a call");
  });

  it.each(["more", ...views.keys()])("has no fault in the view %s", async (name) => {
    await talk();
    await house.signIn();
    await house.send("write a file");
    await house.page.waitForSelector(".approval");
    await house.page.evaluate((hash) => {
      location.hash = hash;
    }, `#/${name}`);
    const view = house.page.locator("main.view:not([aria-busy=true]):not([hidden])");
    await view.waitFor();
    await until(async () => !(await view.innerText()).includes("Loading"), "the view is loaded");
    await expectAccessible(name);
  });

  it("has no fault in a recalled line, and in the code for another device", async () => {
    const note = "Bruno the dog must not eat chicken";
    await house.dev.cloud.world.bucket.put("agents/main/memory/2026-06-03.md", `- ${note}\n`);
    house.answer = ({ turns }) =>
      turns.at(-1)?.role === "user"
        ? { toolCalls: [{ name: "gsv__recall", arguments: { queries: ["Bruno chicken"] } }] }
        : { text: "No chicken." };
    await house.signIn();
    await house.send("What can Bruno not eat?");
    await until(async () => (await house.replies()).length === 1, "it is answered");
    await house.page.click(".tool summary");
    await house.page.locator(".tool .recalled", { hasText: note }).waitFor();
    await expectAccessible("a recalled line");
    await house.page.evaluate(() => {
      location.hash = "#/devices";
    });
    await house.page.click("text=Connect another device");
    await house.page.waitForSelector("svg.qr");
    await expectAccessible("a code");
  });

  it("is used with the keyboard alone: message, approval, sessions", async () => {
    await talk();
    await house.signIn("chat", { width: 1440, height: 900 });
    await tabTo("textarea");
    await house.page.keyboard.type("write a file");
    await house.page.keyboard.press("Enter");
    await house.page.waitForSelector(".approval");
    await tabTo(".approval");
    await house.page.keyboard.press("a");
    await until(async () => (await house.replies()).length === 1, "it is written");
    await tabTo(".sessions input");
    await house.page.keyboard.type("second");
    await tabTo("[aria-label='New session']");
    await house.page.keyboard.press("Enter");
    await house.page.waitForSelector("h1:has-text('second')");
    await tabTo("textarea");
    await house.page.keyboard.type("hello");
    await house.page.keyboard.press("Enter");
    await until(async () => (await house.replies()).length === 1, "the second one is answered");
    await tabTo(".sessions li button:not([aria-current])");
    await house.page.keyboard.press("Enter");
    await house.page.waitForSelector("h1:has-text('main')");
  });
});
