import { describe, expect, it } from "vitest";
import { listTokens } from "../../shared/peers/tokens.ts";
import { until } from "../support/until.ts";
import { chromiumPath, watchFaults } from "./browser.ts";
import { pageHouse } from "./page-house.ts";

describe.skipIf(chromiumPath === undefined)("devices in a browser", () => {
  const house = pageHouse();
  const rows = () => house.page.locator("[aria-label=Devices] > li");

  it("connects another device by a code, and closes its page when it is revoked", async () => {
    await house.signIn("devices");
    await rows().first().waitFor();
    expect(await rows().allInnerTexts()).toEqual([expect.stringContaining("this device")]);
    await house.page.click("text=Connect another device");
    const short = await house.page.locator(".code-text").innerText();
    const other = await (await house.browser.newContext()).newPage();
    const faults = watchFaults(other);
    await other.goto(house.dev.cloud.page);
    await other.fill("#code", short);
    await other.press("#code", "Enter");
    await other.waitForSelector(".dot.connected");
    await house.page.waitForSelector("[role=status] >> text=Connected:");
    expect(await house.page.locator(".code-text").count()).toBe(0);
    await until(async () => (await rows().count()) === 2, "both are listed");
    await rows().nth(1).locator("button").click();
    await house.page.click("dialog >> text=Cancel");
    expect(await other.locator(".dot.connected").count()).toBe(1);
    await rows().nth(1).locator("button").click();
    await house.page.click("dialog button.danger");
    await other.waitForSelector("#code");
    await until(async () => (await rows().count()) === 1, "one is listed");
    await other.reload();
    await other.waitForSelector("#code");
    expect(faults).toEqual([]);
    await other.context().close();
  });

  it("revokes the token of a device that signs out, and deletes what it has kept", async () => {
    await house.signIn();
    await house.send("hello");
    await until(async () => (await house.replies()).length === 1, "it is answered");
    await house.page.goto(`${house.dev.cloud.page}/#/devices`);
    await rows().first().locator("button").click();
    await house.page.click("dialog button.danger");
    await house.page.waitForSelector("#code");
    await house.page.reload();
    await house.page.waitForSelector("#code");
    const tokens = await listTokens(house.dev.cloud.world.table, Date.now());
    expect(tokens.filter(({ device }) => device)).toEqual([]);
  });
});
