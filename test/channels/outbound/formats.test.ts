import { marked } from "marked";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { channels } from "../../../shared/channels/channels.ts";
import { type Platform, platformNames, platformStarts } from "../../support/platforms/platforms.ts";
import { goldenTexts } from "./golden-texts.ts";
import { bare, messagesOf, plainText, shownOn, wholeShown } from "./shown.ts";

const alone = goldenTexts.filter(({ place }) => place === "alone");

describe.each(platformNames)("markdown on %s", (name) => {
  let platform: Platform;
  beforeAll(async () => {
    platform = await platformStarts[name]();
  });
  afterAll(() => platform.close());

  it("is written as reviewed", async () => {
    const texts = await Promise.all(
      alone.map(async ({ name: construct, markdown }) => {
        const messages = await messagesOf(name, markdown);
        const shown = messages.map(({ text, formatting }) =>
          formatting ? `${text}\n${JSON.stringify(formatting)}` : text,
        );
        return `=== ${construct}\n${shown.join("\n--- next message\n")}\n`;
      }),
    );
    await expect(texts.join("\n")).toMatchFileSnapshot(`golden/${name}.txt`);
  });

  it("is accepted, and its parts have the whole text", async () => {
    const account = { accountId: "default", settings: platform.account, secrets: platform.account };
    const peer = { kind: "dm", id: peers[name] };
    const wrong: object[] = [];
    for (const { name: construct, place, markdown } of goldenTexts) {
      const messages = await messagesOf(name, markdown);
      const sent = messages.map((message) => channels[name]?.send(account, { peer, ...message }));
      for (const outcome of await Promise.all(sent))
        if (outcome?.status !== "sent") wrong.push({ construct, place, ...outcome });
      const parts = messages.map(shownOn[name]);
      const joined = bare(parts.join(""));
      if (joined !== bare(await wholeShown(name, markdown))) wrong.push({ construct, place, joined });
      const lost = firstLost(bare(await plainText(name, markdown)), joined);
      if (lost !== undefined) wrong.push({ construct, place, lost });
    }
    expect(wrong).toEqual([]);
  });
});

it("markdown loses no letter or digit when it is read", async () => {
  const wrong: object[] = [];
  for (const { name, markdown } of alone.filter((one) => !one.name.includes("wide table"))) {
    const html = String(marked.parse(markdown)).replace(/<[^>]*>/g, "");
    const letters = (text: string) => text.replace(/&#?\w+;|[^\p{L}\p{N}]/gu, "");
    const lost = firstLost(letters(html), letters(await plainText("telegram", markdown)));
    if (lost !== undefined) wrong.push({ name, lost });
  }
  expect(wrong).toEqual([]);
});

const peers = {
  telegram: "5001002003",
  whatsapp: "16505551234",
  slack: "D061F7AUR",
  discord: "753908232506183680",
};

/** The rest of the whole from the first character on that does not follow in the shown text. */
function firstLost(whole: string, shown: string): string | undefined {
  let at = 0;
  for (const [index, character] of [...whole].entries()) {
    at = shown.indexOf(character, at) + 1;
    if (at === 0) return [...whole].slice(index, index + 40).join("");
  }
  return undefined;
}
