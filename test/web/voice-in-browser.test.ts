import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { beforeEach, describe, expect, it } from "vitest";
import { newFolder } from "../support/run/test-folders.ts";
import { until } from "../support/until.ts";
import { chromiumPath, inBrowser } from "./browser.ts";
import { pageHouse } from "./page-house.ts";

describe.skipIf(chromiumPath === undefined)("voice and files in a browser", inBrowser, () => {
  const house = pageHouse();
  let heard: string[];
  beforeEach(() => {
    heard = [];
    house.answer = ({ turns }) => {
      heard.push(String(turns.at(-1)?.text));
      return { text: "heard" };
    };
  });

  it("records a voice message and sends it without a text", async () => {
    await house.signIn();
    await house.context?.grantPermissions(["microphone"]);
    await house.page.click("[aria-label='Record a voice message']");
    await house.page.waitForSelector("[role=timer]:has-text('1.')");
    await house.page.click("[aria-label='Send the recording']");
    await until(async () => (await house.replies()).length === 1, "it is answered");
    expect(heard).toEqual([expect.stringMatching(/^\[audio: voice\.webm, audio\/webm, [\d.]+ KB/)]);
  });

  it("forgets a recording that was cancelled", async () => {
    await house.signIn();
    await house.context?.grantPermissions(["microphone"]);
    await house.page.click("[aria-label='Record a voice message']");
    await house.page.click("[aria-label='Cancel the recording']");
    await house.page.fill("textarea", "typed");
    await house.page.press("textarea", "Enter");
    await until(async () => (await house.replies()).length === 1, "it is answered");
    expect(await house.page.locator("article.mine").count()).toBe(1);
  });

  it("says what to do when the microphone may not be used", async () => {
    await house.signIn();
    await house.page.click("[aria-label='Record a voice message']");
    await house.page.waitForSelector("[role=alert]:has-text('Allow it in the browser')");
  });

  it("sends a picture of 25 MB, a PDF of 10 MB and a text of 99 KB, and shows the upload", async () => {
    await house.signIn();
    await house.page.evaluate(() => {
      const shares: number[] = [];
      Object.assign(globalThis, { shares });
      const look = () => shares.push(...[...document.querySelectorAll("progress")].map(({ value }) => value));
      new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributes: true });
    });
    const folder = newFolder();
    const png = Buffer.alloc(25 * 1024 * 1024);
    png.write("\x89PNG\r\n\x1a\n", "latin1");
    writeFileSync(join(folder, "photo.png"), png);
    writeFileSync(join(folder, "plan.pdf"), Buffer.alloc(10 * 1024 * 1024, "%PDF-1.7\n"));
    const paths = ["photo.png", "plan.pdf"].map((name) => join(folder, name));
    await house.page.setInputFiles("input[type=file]", paths);
    await house.page.fill("textarea", `${"long words ".repeat(9000)}the end`);
    await house.page.press("textarea", "Enter");
    const stored =
      "article.mine:not(:has(.unsent)) .plain:has-text('[document: plan.pdf, application/pdf, 10')";
    await house.page.waitForSelector(stored, { timeout: 60_000 });
    const [text] = await house.sent();
    expect(text).toContain("[image: photo.png, image/png, 25");
    expect(text).toContain("the end");
    const shares = await house.page.evaluate(() => (globalThis as unknown as { shares: number[] }).shares);
    expect(shares.some((share) => share > 0 && share < 1)).toBe(true);
    expect(shares).toEqual([...shares].sort((a, b) => a - b));
  });

  it("opens the camera of a phone, and has no such button at a desk", async () => {
    const pictureButton = (page: Page) => page.getByRole("button", { name: "Take a picture" });
    await house.signIn();
    await house.page.getByRole("button", { name: "Attach files" }).waitFor();
    expect(await pictureButton(house.page).count()).toBe(0);
    const phone = await house.browser.newContext({ hasTouch: true, isMobile: true });
    const page = await phone.newPage();
    await page.goto(`${house.dev.cloud.page}/#c=${(await house.newCode()).code}`);
    const [chooser] = await Promise.all([page.waitForEvent("filechooser"), pictureButton(page).click()]);
    expect(chooser.isMultiple()).toBe(false);
    const input = chooser.element();
    expect([await input.getAttribute("capture"), await input.getAttribute("accept")]).toEqual([
      "environment",
      "image/*",
    ]);
    const photo = {
      name: "photo.png",
      mimeType: "image/png",
      buffer: Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    };
    await chooser.setFiles(photo);
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator("article.reply:not(.open)").waitFor();
    await phone.close();
    expect(heard).toEqual([expect.stringContaining("[image: photo.png")]);
  });
});
