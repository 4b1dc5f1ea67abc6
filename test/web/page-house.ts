import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import { newFolder } from "../support/run/test-folders.ts";
import { launchBrowser } from "./browser.ts";
import { PageHouse } from "./house.ts";

/** A house for the tests of the suite that calls it. */
export function pageHouse(): PageHouse {
  const house = new PageHouse();
  beforeAll(async () => {
    house.browser = await launchBrowser();
    house.model = await startOpenAiServer((request) => house.answer(request));
  });
  afterAll(async () => {
    await house.browser?.close();
    await house.model?.close();
  });
  beforeEach(async () => {
    house.dir = newFolder();
    house.answer = () => ({ text: "Hello **you**." });
    await house.startGateway();
  });
  afterEach(async ({ task }) => {
    if (task.result?.state === "fail") process.stderr.write(`${await shownText(house)}\n`);
    await house.context?.close();
    await house.dev.close();
    expect(house.faults).toEqual([]);
  });
  return house;
}

/** What the page shows when its test fails. */
async function shownText({ page, context }: PageHouse): Promise<string> {
  if (!context) return "no page is open";
  return page
    .locator("body")
    .innerText({ timeout: 5000 })
    .catch((error: Error) => error.message);
}
