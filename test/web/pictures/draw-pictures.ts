import { rmSync } from "node:fs";
import { openGateway } from "../../../cli/gateway/gateway-client.ts";
import { openRequest } from "../../../shared/channels/inbound/pairing.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelRequest, Reply } from "../../support/models/scripted-model.ts";
import { openNode } from "../../support/peer.ts";
import { newFolder } from "../../support/run/test-folders.ts";
import { launchBrowser } from "../browser.ts";
import { PageHouse } from "../house.ts";

/** Draws the pictures of docs/console.md, with a scripted model. */
const folder = new URL("../../../docs/pictures/", import.meta.url).pathname;
const phone = { width: 360, height: 640 };
const laptop = { width: 900, height: 640 };

const answers: Readonly<Record<string, string>> = {
  "What takes space in my builds?": [
    "Three builds are older than a week. This removes such builds:",
    '```js\nfor (const build of await readdir("build")) {\n  // Older than 7 days\n  if (ageOf(build) > 7) await rm(build, { recursive: true });\n}\n```',
  ].join("\n\n"),
  "What may Bruno eat?": "Fish and rice. **No chicken**: he is allergic.",
};

function answer({ turns }: ModelRequest): Reply {
  const text = turns.at(-1)?.text ?? "";
  if (text === "Delete them.")
    return { toolCalls: [{ name: "laptop__Bash", arguments: { command: "rm -rf build/2026-11-02" } }] };
  return { text: answers[text] ?? "Done." };
}

async function openHouse(): Promise<PageHouse> {
  const house = new PageHouse();
  house.answer = answer;
  house.browser = await launchBrowser();
  house.model = await startOpenAiServer((request) => house.answer(request));
  house.dir = newFolder();
  await house.startGateway();
  const provider = { provider: "openai-compatible", id: "sonnet", baseUrl: house.model.url };
  await house.dev.configuration.set("model", provider);
  await house.dev.configuration.set("toolApproval.mode", "ask");
  return house;
}

/** What the views show: memories, a sender, a planned job, and an MCP server that needs a login. */
async function furnish(house: PageHouse): Promise<void> {
  const owner = await openGateway(house.dev.url, house.dev.token);
  for (const text of ["Ada prefers tea to coffee", "The boiler is serviced each October by Bo"])
    await owner.request("memory.add", { text });
  await owner.request("workspace.write", {
    path: "memory/2026-06-03.md",
    content: "- Bruno must not eat chicken, he is allergic\n",
  });
  await owner.close();
  await openRequest(
    house.dev.cloud.world.table,
    { channel: "telegram", accountId: "default" },
    {
      ...{ sender: { id: "7", name: "Bo" }, eventId: "e7", messageId: "7", peer: { kind: "dm", id: "7" } },
      ...{ text: "Hello, it is me. May I ask your agent?", timestamp: Date.now(), wasMentioned: true },
    },
    Date.now(),
  );
}

async function say(house: PageHouse, text: string): Promise<void> {
  const before = await house.page.locator("article.reply:not(.open)").count();
  await house.send(text);
  await house.page.waitForFunction(
    (count) => document.querySelectorAll("article.reply:not(.open)").length > count,
    before,
  );
}

async function draw(house: PageHouse): Promise<void> {
  const { page } = house;
  const picture = async (name: string, colorScheme: "light" | "dark", size = phone) => {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.setViewportSize(size);
    await page.mouse.move(0, 0);
    await page.evaluate(
      () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
    await page.screenshot({ path: `${folder}console-${name}.png` });
  };
  const view = async (hash: string, shown: string) => {
    await page.evaluate((one) => {
      location.hash = one;
    }, hash);
    await page.waitForSelector(shown);
  };
  await page.waitForSelector("text=What can you do on laptop?");
  await picture("empty", "dark");
  await say(house, "What takes space in my builds?");
  await say(house, "What may Bruno eat?");
  await page.click("text=Recalled 1 line");
  await picture("recalled", "light");
  await view("#/session/agent:main:main", ".view >> text=Reset");
  await page.click("text=Reset…");
  await page.locator("dialog").getByRole("button", { name: "Reset" }).click();
  await page.waitForSelector("text=1. conversation");
  await picture("session", "light");
  await view("#/chat/agent:main:main", ".empty");
  await say(house, "What takes space in my builds?");
  await page.locator("pre .keyword").first().waitFor();
  await house.send("Delete them.");
  await page.waitForSelector(".chat .approval");
  await picture("laptop", "dark", laptop);
  await picture("request", "light");
  await view("#/inbox", "text=Bo wants to write");
  await picture("inbox", "dark");
  await view("#/memory", "text=Ada prefers");
  await picture("memory", "light");
  await view("#/cost", ".sums");
  await picture("cost", "dark");
  await view("#/devices", "text=Connect another device");
  await page.click("text=Connect another device");
  await page.waitForSelector("svg.qr");
  await picture("devices", "light");
}

const house = await openHouse();
await furnish(house);
const node = await openNode(house.dev.url, house.dev.token, "laptop", { Bash: () => undefined });
await house.signIn();
await draw(house);
await node.close();
await house.context?.close();
await house.browser.close();
await house.dev.close();
await house.model.close();
rmSync(house.dir, { recursive: true });
