import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { spokenText } from "../../functions/agent/reply/voice-answer.ts";
import { defaults } from "../../shared/configuration/defaults.ts";
import { type Platform, platformNames } from "../support/platforms/platforms.ts";
import { startTurnBench, type TurnBench } from "./turn-bench.ts";

describe.each(platformNames)("a voice message on %s", (name) => {
  let platform: Platform;
  let bench: TurnBench;
  beforeAll(async () => {
    vi.spyOn(process.stdout, "write").mockImplementation(() => true);
    ({ platform, bench } = await startTurnBench(name));
  });
  beforeEach(() => {
    bench.renew();
    bench.reply = { text: "It **rains**." };
    bench.configuration.speech = { ...defaults.speech, enabled: true };
  });
  afterAll(() => bench.close());

  const note = { name: "voice.ogg", type: "audio/ogg", bytes: Buffer.from("OggS question"), voice: true };
  /** @returns the texts, and the voice messages that followed them */
  async function answerTo(event: object) {
    const before = platform.received().length;
    expect(await bench.deliver(event)).toBe(true);
    await bench.runAgents();
    const files = platform.received().slice(before);
    return { texts: platform.answers(), files: await Promise.all(files.map((file) => file.text())) };
  }

  it("is answered by a text and a voice message", async () => {
    const { texts, files } = await answerTo(platform.attach("", note));
    expect(texts).toEqual([expect.stringMatching(/^It \**rains\**\.$/)]);
    expect(files).toEqual(["OggS It rains."]);
  });

  it("is answered by a text alone if speech is off; so is a text", async () => {
    expect((await answerTo(platform.direct("hello"))).files).toEqual([]);
    bench.configuration.speech = defaults.speech;
    expect(await answerTo(platform.attach("", note))).toMatchObject({ texts: [{}, {}], files: [] });
  });
});

it("an answer is read aloud without marks, addresses, tables and code, up to a limit", async () => {
  const table = "| a | b |\n|---|---|\n| 1 | 2 |";
  const markdown = `# Plan\n\nSee [the **list**](https://example.com):\n\n\`\`\`js\nx()\n\`\`\`\n\n${table}\n\nBuy \`milk\`.`;
  expect(await spokenText(markdown)).toBe("Plan\n\nSee the list:\n\nBuy milk.");
  const long = await spokenText("This is one sentence. ".repeat(1000));
  expect(long.length).toBeLessThanOrEqual(4096);
  expect(long).toMatch(/sentence\.$/);
});
