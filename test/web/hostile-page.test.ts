import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { openClient, openNode } from "../support/peer.ts";
import { until } from "../support/until.ts";
import { chromiumPath, inBrowser } from "./browser.ts";
import { hostilePayloads, hostileTexts } from "./hostile-texts.ts";
import { pageHouse } from "./page-house.ts";

/** What others can put on the page: outputs of tools, and the names of files, sessions and nodes. */

const written =
  ".log img, .log iframe, .log form, .log script, aside img, aside iframe, aside li form, aside script";

describe.skipIf(chromiumPath === undefined)("the page among attackers", inBrowser, () => {
  const house = pageHouse();

  /** That nothing was executed or loaded. The house checks requests and reports of the policy. */
  async function expectHarmless(): Promise<void> {
    expect(await house.page.evaluate(() => "hit" in globalThis)).toBe(false);
    expect(await house.page.locator(written).count()).toBe(0);
  }

  it("executes nothing and loads nothing of 500 outputs of tools, and no node has such a name", async () => {
    const outputs = Array.from({ length: 10 }, (_, part) =>
      hostileTexts.slice(part * 50, part * 50 + 50).join("\n\n"),
    );
    const { url, token } = house.dev;
    for (const id of hostilePayloads)
      await expect(openNode(url, token, id, {})).rejects.toThrow("400 client.id");
    const node = await openNode(url, token, "pc", {
      Echo: ({ part }) => outputs[Number(part)],
    });
    house.answer = ({ turns, tools }) => {
      const name = tools.find((one) => one.endsWith("Echo")) ?? "";
      if (turns.at(-1)?.role !== "user") return { text: "done" };
      return { toolCalls: outputs.map((text, part) => ({ name, arguments: { part, text } })) };
    };
    await house.signIn();
    await house.send("call them all");
    await until(async () => (await house.replies()).length === 1, "the calls are answered");
    expect(await house.page.locator(".tool.ok").count()).toBe(outputs.length);
    for (const card of await house.page.locator(".tool summary").all()) await card.click();
    expect(await house.page.locator(".tool .output").first().textContent()).toContain(hostileTexts[0]);
    await expectHarmless();
    await node.close();
  });

  it("executes nothing and loads nothing of the names of files and sessions", async () => {
    await house.signIn();
    const other = await openClient(house.dev.url, house.dev.token);
    for (const [index, label] of hostilePayloads.entries())
      await other.call("session.patch", { sessionKey: `s${index}`, label: label.slice(0, 200) });
    const buffer = Buffer.from("x");
    const files = hostilePayloads.map((name) => ({ name, mimeType: "text/plain", buffer }));
    for (let from = 0; from < files.length; from += 10) {
      await house.page.setInputFiles("input[type=file]", files.slice(from, from + 10));
      expect(await house.page.locator(".composer").textContent()).toContain(hostilePayloads[from]);
      await house.send("read them");
      await until(async () => (await house.replies()).length === from / 10 + 1, "they are read");
    }
    await house.page.reload();
    await until(async () => (await house.replies()).length === 3, "the messages are shown again");
    await until(
      async () => (await house.page.locator(".sessions li").count()) > hostilePayloads.length,
      "the sessions are listed",
    );
    expect(await house.page.locator(".sessions").textContent()).toContain(hostilePayloads[0]);
    await expectHarmless();
    await other.close();
  });

  it("is not shown in a frame of another page", async () => {
    await house.signIn();
    const outer = await house.page.context().newPage();
    const other = createServer((_, answer) => {
      answer.setHeader("content-type", "text/html");
      answer.end(`<iframe src="${house.dev.cloud.page}/"></iframe>`);
    }).listen(0, "127.0.0.1");
    await once(other, "listening");
    await outer.goto(`http://127.0.0.1:${(other.address() as AddressInfo).port}`);
    await until(() => outer.frames()[1]?.url().startsWith("chrome-error:"), "the frame is refused");
    other.close();
  });

  it("ends with its device, and cannot connect again", async () => {
    await house.signIn();
    const { devices } = await (await openClient(house.dev.url, house.dev.token)).call<{
      devices: { id: string }[];
    }>("device.list");
    const owner = await openClient(house.dev.url, house.dev.token, "owner");
    await owner.call("device.revoke", { id: devices[0]?.id });
    await house.page.waitForSelector("text=this device was signed out");
    await house.page.reload();
    await house.page.waitForSelector("#code");
    expect(await house.page.locator(".app").count()).toBe(0);
    await owner.close();
  });
});
