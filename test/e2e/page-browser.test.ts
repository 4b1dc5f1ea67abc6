import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PairingCode } from "../../shared/protocol/token-results.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer } from "../support/models/scripted-model.ts";
import { chromiumPath, inBrowser, launchBrowser, watchFaults } from "../web/browser.ts";
import { type Stack, startStack } from "./stack.ts";

/** The page of the deployed bundles, with their roles, in a browser. */

const dot = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

let stack: Stack;
let model: ModelServer;

describe.skipIf(chromiumPath === undefined)("the deployed page in a browser", inBrowser, () => {
  beforeAll(async () => {
    model = await startOpenAiServer(({ turns }) => ({ text: `heard: ${turns.at(-1)?.text}` }));
    stack = await startStack();
    await stack.configure({ model: { provider: "openai-compatible", id: "m", baseUrl: model.url } });
  });
  afterAll(async () => {
    await stack?.close();
    await model?.close();
  });

  it("signs in by a link, sends, shows the answer, and uploads a picture to the bucket", async () => {
    const owner = await stack.client("owner");
    const { code } = await owner.call<PairingCode & Record<string, unknown>>("code.create", {});
    await owner.close();
    const browser = await launchBrowser();
    // The policy names the bucket's address on AWS; the emulated bucket has another one.
    const page = await browser.newPage({ viewport: { width: 360, height: 640 }, bypassCSP: true });
    const faults = watchFaults(page);
    await page.goto(`${stack.cloud.page}/#c=${code}`);
    await page.waitForSelector(".dot.connected");
    await page.fill("textarea", "hello");
    await page.press("textarea", "Enter");
    await page.waitForSelector("article.reply:has-text('heard: hello')");
    await page.setInputFiles("input[type=file]", { name: "dot.png", mimeType: "image/png", buffer: dot });
    await page.fill("textarea", "look");
    await page.press("textarea", "Enter");
    await page.waitForSelector("article.reply:not(.open):has-text('heard: look')");
    await page.reload();
    await page.waitForSelector("article.mine img[src^='blob:']");
    expect(faults).toEqual([]);
    expect(stack.roles.refusals()).toEqual([]);
    await browser.close();
  });
});
