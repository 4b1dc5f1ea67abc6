import { encode } from "uqr";
import { describe, expect, it } from "vitest";
import { openGateway } from "../../cli/gateway/gateway-client.ts";
import { listTokens } from "../../shared/peers/tokens.ts";
import { until } from "../support/until.ts";
import { chromiumPath, inBrowser, watchFaults } from "./browser.ts";
import { pageHouse } from "./page-house.ts";

describe.skipIf(chromiumPath === undefined)("sessions in a browser", inBrowser, () => {
  const house = pageHouse();
  const answered = (count: number) =>
    until(async () => (await house.replies()).length === count, `${count} answers are shown`);

  it("continue from an edited message in a new session, and the old one stays", async () => {
    house.answer = ({ turns }) => ({ text: `to ${turns.at(-1)?.text}` });
    await house.signIn("chat", { width: 1440, height: 900 });
    for (const [index, text] of ["one", "two", "three"].entries()) {
      await house.send(text);
      await answered(index + 1);
    }
    await until(async () => (await house.page.locator(".edit").count()) === 3, "all are stored");
    await house.page.fill("textarea", "");
    await house.page.press("textarea", "ArrowUp");
    await until(async () => (await house.page.inputValue("textarea")) === "three", "the last is in the box");
    await house.page.click(".editing >> text=Cancel");
    await house.page.locator(".edit").nth(1).click();
    await until(async () => (await house.page.inputValue("textarea")) === "two", "it is in the box");
    await house.send("two again");
    await house.page.waitForSelector("h1:has-text('two again')");
    await answered(2);
    expect(await house.sent()).toEqual(["one", "two again"]);
    await house.page.click(".sessions li button:has-text('main')");
    await answered(3);
    // A message has its text when it is drawn.
    await expect.poll(house.sent).toEqual(["one", "two", "three"]);
    await house.page.locator(".edit").first().click();
    await house.send("first again");
    await house.page.waitForSelector("h1:has-text('first again')");
    await answered(1);
    expect(await house.sent()).toEqual(["first again"]);
  });

  it("are renamed, found by what was said, reset, read again and deleted", async () => {
    await house.signIn("chat", { width: 1440, height: 900 });
    await house.send("where do puffins nest?");
    await answered(1);
    await house.page.click("[title='This session']");
    await house.page.fill("main.view input", "birds");
    await house.page.click("text=Rename");
    await house.page.waitForSelector(".sessions .name:has-text('birds')");
    await house.page.click("text=Reset…");
    await house.page.click("dialog button.danger");
    const earlier = house.page.locator("[aria-label='Earlier conversations'] a");
    expect(await earlier.innerText()).toMatch(/^1\. conversation, (.*, )?\d\d:\d\d/);
    await earlier.click();
    await house.page.waitForSelector("main.view .mine:has-text('puffins')");
    expect(await house.page.locator("main.view .edit").count()).toBe(0);
    await house.page.fill("[type=search]", "puffins");
    await house.page.press("[type=search]", "Enter");
    await house.page.waitForSelector(".hits a:has-text('puffins')");
    await house.page.click("text=All conversations of this session");
    await house.page.click("text=Delete…");
    await house.page.click("dialog button.danger");
    await house.page.waitForSelector(".empty");
    await house.page.fill("[type=search]", "");
    await until(
      async () => (await house.page.locator(".sessions .name:has-text('birds')").count()) === 0,
      "gone",
    );
  });

  it("stay unread after a reload until they are shown", async () => {
    await house.signIn("chat", { width: 1440, height: 900 });
    await house.send("hello");
    await answered(1);
    await house.page.goto(`${house.dev.cloud.page}/#/chat/other`);
    await house.page.waitForSelector("h1:has-text('other')");
    await house.send("hello other");
    await answered(1);
    await house.page.click(".sessions li button:has-text('main')");
    await house.page.waitForSelector("h1:has-text('main')");
    expect(await house.page.locator(".unread").count()).toBe(0);
    const gateway = await openGateway(house.dev.url, house.dev.token);
    await gateway.request("chat.send", {
      ...{ sessionKey: "other", message: "from elsewhere", runId: crypto.randomUUID() },
    });
    await house.page.waitForSelector(".unread");
    await gateway.close();
    await house.page.reload();
    await house.page.waitForSelector("li:has-text('other') .unread");
    await house.page.click(".sessions li button:has-text('other')");
    await until(async () => (await house.page.locator(".unread").count()) === 0, "it is read");
  });
});

/** The rows of the square modules of an SVG path, 1 for those that it has. */
function modulesOf(path: string, size: number): string[] {
  const dark = new Set([...path.matchAll(/M(\d+ \d+)h1v1h-1z/g)].map(([, place]) => place));
  const columns = Array.from({ length: size }, (_, x) => x);
  return columns.map((y) => columns.map((x) => (dark.has(`${x} ${y}`) ? 1 : 0)).join(""));
}

describe.skipIf(chromiumPath === undefined)("devices in a browser", inBrowser, () => {
  const house = pageHouse();
  const rows = () => house.page.locator("[aria-label=Devices] > li");

  it("connects another device by a code, and closes its page when it is revoked", async () => {
    await house.signIn("devices");
    await rows().first().waitFor();
    expect(await rows().allInnerTexts()).toEqual([expect.stringContaining("this device")]);
    await house.page.click("text=Connect another device");
    const short = await house.page.locator(".code-text").innerText();
    const drawn = await house.page.getByRole("img", { name: "QR code" }).locator(".dark").getAttribute("d");
    const link = await house.page.locator(".code-card a").innerText();
    const modules = encode(link, { border: 4 }).data.map((row) => row.map(Number).join(""));
    expect(modulesOf(drawn ?? "", modules.length)).toEqual(modules);
    const other = await (await house.browser.newContext()).newPage();
    const faults = watchFaults(other);
    await other.goto(house.dev.cloud.page);
    await other.fill("#code", short);
    await other.press("#code", "Enter");
    await other.waitForSelector(".dot.connected");
    await house.page.waitForSelector("[role=status] >> text=Connected:");
    expect(await house.page.locator(".code-text").count()).toBe(0);
    await until(async () => (await rows().count()) === 2, "both are listed");
    await rows().nth(1).locator("button[aria-label]").click();
    await house.page.click("dialog >> text=Cancel");
    expect(await other.locator(".dot.connected").count()).toBe(1);
    await rows().nth(1).locator("button[aria-label]").click();
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
    await rows().first().locator("button[aria-label]").click();
    await house.page.click("dialog button.danger");
    await house.page.waitForSelector("#code");
    await house.page.reload();
    await house.page.waitForSelector("#code");
    expect(await house.kept()).toEqual(["settings gateway"]);
    const tokens = await listTokens(house.dev.cloud.world.table, Date.now());
    expect(tokens.filter(({ device }) => device)).toEqual([]);
  });
});
