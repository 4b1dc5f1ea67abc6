import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Platform, platformNames } from "../support/platforms/platforms.ts";
import { Life, startTurnBench, type TurnBench } from "./turn-bench.ts";

const note = { name: "note.ogg", type: "audio/ogg", bytes: Buffer.from("OggS"), voice: true };

describe.each(platformNames)("a voice note of %s", (name) => {
  let platform: Platform;
  let bench: TurnBench;

  beforeAll(async () => {
    ({ platform, bench } = await startTurnBench(name));
  });
  afterAll(() => bench.close());

  /** The message arrives, the agent that processes it may die, and others follow. */
  async function run(agent: Life): Promise<void> {
    bench.renew();
    expect(await bench.deliver(platform.attach("", note))).toBe(true);
    await bench.runAgents(agent);
    for (let sweeps = 0; sweeps < 2; sweeps++) await bench.sweep();
  }

  it("is one message and one object when the agent dies", async () => {
    const whole = new Life();
    await run(whole);
    expect(whole.calls.filter((call) => call === "transcribe")).toHaveLength(1);
    for (let calls = 0; calls <= whole.calls.length; calls++) {
      const life = new Life(calls);
      await run(life);
      const keys = bench.bucket.keys().filter((key) => key.startsWith("media/"));
      const killed = `killed after ${calls} calls: ${life.calls}`;
      expect(keys, killed).toHaveLength(1);
      const heard = new RegExp(`^user: \n\\[voice note: .*${keys[0]}\\]\nTranscription: Buy milk\\.$`);
      expect(await bench.said(), killed).toEqual([expect.stringMatching(heard), "assistant: hello"]);
      expect(platform.answers(), killed).toContain("hello");
    }
  });
});
