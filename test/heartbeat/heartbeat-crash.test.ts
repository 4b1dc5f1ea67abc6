import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defaults } from "../../shared/configuration/defaults.ts";
import { readBeat, turnOff, turnOn } from "../../shared/heartbeat/beat-state.ts";
import { beatSettings } from "../../shared/heartbeat/beat-times.ts";
import { Life } from "../channels/turn-bench.ts";
import { textUpdate } from "../support/platforms/telegram/telegram-updates.ts";
import { HeartbeatBench, minute, owner } from "./heartbeat-bench.ts";

const bench = new HeartbeatBench();
beforeAll(() => bench.open());
afterAll(() => bench.close());

/** A gateway whose heartbeat is on, and whose owner is reached on Telegram. Its next beat is due. */
async function due(): Promise<{ at: number; event: NonNullable<typeof bench.next>["event"] }> {
  await bench.renew("2026-05-05T08:00:00Z");
  await bench.write("HEARTBEAT.md", "Tell me when the build fails.");
  await bench.hear(textUpdate("/status", { from: { id: owner } }));
  await bench.call("heartbeat.start");
  bench.telegram.sent.length = 0;
  bench.reply = { text: "The build fails." };
  const next = bench.next!;
  bench.pending.splice(0);
  bench.time = next.at;
  return next;
}

/** The beats whose schedules were made and that are the planned ones. */
async function planned(): Promise<number[]> {
  const { nextHeartbeatAt } = await bench.status();
  return bench.pending.map(({ at }) => at).filter((at) => at === nextHeartbeatAt);
}

describe("a beat whose process dies between any two of its calls", () => {
  it("of the timer: asks once, tells once, and the next beat is planned", async () => {
    const whole = new Life();
    const { event, at } = await due();
    await bench.fire(event, whole);
    expect(whole.calls).toEqual([
      "table.get HEARTBEAT",
      "table.get CONFIG",
      "table.get S",
      "table.get USAGE",
      "table.query ACTIVE",
      "table.update S",
      "table.get S",
      "table.put S",
      "wake",
      expect.stringMatching(/^schedules.once heartbeat-[0-9a-f]{32}-\d+$/),
      "table.update HEARTBEAT",
    ]);
    for (let calls = 0; calls <= whole.calls.length; calls++) {
      await due();
      await bench.fire(event, new Life(calls));
      await bench.runAgents();
      await bench.pass(3);
      expect(bench.sent, `killed after ${calls} calls`).toEqual([`${owner}: The build fails.`]);
      expect(bench.model.requests).toHaveLength(1);
      expect(await planned()).toEqual([at + 30 * minute]);
    }
  });

  it("of the agent: tells once, but for a text that was being sent when it died", async () => {
    const whole = new Life();
    const { event } = await due();
    await bench.fire(event);
    await bench.runAgents(whole);
    expect(whole.calls).toContain("table.put BEAT");
    let twice = 0;
    for (let calls = 0; calls <= whole.calls.length; calls++) {
      const life = new Life(calls);
      await due();
      await bench.fire(event);
      await bench.runAgents(life);
      await bench.pass(4);
      // Nobody knows whether a text was sent when the process died before it wrote that down.
      const unknown = life.calls.at(-1) === "platform.send" && life.calls.length === calls;
      if (unknown) twice++;
      const text = `${owner}: The build fails.`;
      expect(bench.sent, `killed after ${calls}: ${life.calls}`).toEqual(unknown ? [text, text] : [text]);
      expect(await bench.status()).toMatchObject({ lastHeartbeatText: "The build fails." });
      // The guard holds afterwards: the next beat says the same, and it is not sent.
      bench.time = bench.next!.at;
      await bench.beat();
      expect(bench.sent).toHaveLength(unknown ? 2 : 1);
    }
    expect(twice).toBe(1);
  });
});

describe("turning it on, when the process dies between any two of its calls", () => {
  it("is done by turning it on again, and every beat asks once", async () => {
    for (let calls = 0; calls <= 2; calls++) {
      await bench.renew("2026-05-05T08:00:00Z");
      await bench.write("HEARTBEAT.md", "Tell me when the build fails.");
      const life = new Life(calls);
      const dying = turnOn(
        bench.world(life),
        { agentId: "main" },
        beatSettings(defaults, "main"),
        bench.time,
      );
      await expect(dying).rejects.toThrow();
      expect(life.calls).toHaveLength(calls);
      bench.time += minute;
      await bench.call("heartbeat.start");
      while (bench.next && bench.next.at < Date.parse("2026-05-05T08:59:00Z")) await bench.beat();
      expect(bench.model.requests).toHaveLength(1);
    }
  });
});

it("a heartbeat that is turned off while it is being turned on for the first time stays off", async () => {
  await bench.renew("2026-05-05T08:00:00Z");
  const { table } = bench.state;
  const read = await readBeat(table, "main");
  await turnOff(table, "main");
  await turnOn(
    bench.world(new Life(Number.POSITIVE_INFINITY)),
    read,
    beatSettings(defaults, "main"),
    bench.time,
  );
  expect(await readBeat(table, "main")).toMatchObject({ on: false });
  expect(await readBeat(table, "main")).not.toHaveProperty("nextAt");
});
