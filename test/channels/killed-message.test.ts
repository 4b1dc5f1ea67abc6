import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Platform, platformNames } from "../support/platforms/platforms.ts";
import { Life, startTurnBench, type TurnBench } from "./turn-bench.ts";

describe.each(platformNames)("a message that the model sends on %s by a call", (name) => {
  let platform: Platform;
  let bench: TurnBench;

  beforeAll(async () => {
    ({ platform, bench } = await startTurnBench(name));
  });
  afterAll(() => bench.close());

  /** A message arrives, the agent that processes it may die, and others follow. */
  async function run(agent: Life): Promise<{ sent: number; told: string }> {
    bench.renew();
    bench.reply = { text: "done", calls: { text: "a dozen eggs" } };
    expect(await bench.deliver(platform.direct("order eggs"))).toBe(true);
    await bench.runAgents(agent);
    for (let sweeps = 0; sweeps < 2; sweeps++) await bench.sweep();
    const sent = platform.answers().filter((text) => text === "a dozen eggs").length;
    const told = (await bench.said()).find((line) => line.startsWith("toolResult: ")) ?? "";
    return { sent, told };
  }

  it("is never sent twice when the agent dies; when the outcome is unknown, the model learns that", async () => {
    const whole = new Life();
    expect(await run(whole)).toEqual({ sent: 1, told: expect.stringContaining('"status":"sent"') });
    let unknown = 0;
    for (let calls = 0; calls <= whole.calls.length; calls++) {
      const life = new Life(calls);
      const { sent, told } = await run(life);
      const killed = `killed after ${calls} calls: ${life.calls}`;
      if (told.includes("interrupted, outcome unknown")) {
        expect(sent, killed).toBeLessThanOrEqual(1);
        unknown++;
      } else expect({ sent, told }, killed).toEqual({ sent: 1, told: expect.stringContaining("sent") });
      expect(platform.answers(), killed).toContain("done");
    }
    expect(unknown).toBeGreaterThan(0);
  });
});
