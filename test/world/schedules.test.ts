import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { TimerEvent } from "../../shared/world/world.ts";
import { openEmulated, type TestWorld, worlds } from "./worlds.ts";

describe.each(worlds)("the schedules of %s", (_name, open) => {
  let test: TestWorld;
  beforeAll(async () => {
    test = await open();
  });
  afterAll(() => test.close());

  const eventOf = (sessionKey: string): TimerEvent => ({ kind: "reset-due", sessionKey, at: 0 });
  const fired = (sessionKey: string) =>
    test.invocations.filter(({ event }) => (event as { sessionKey?: string }).sessionKey === sessionKey);
  const minute = 60_000;

  it("invoke the timer function once, with the event", async () => {
    await test.world.schedules.once("soon", Date.now() + minute, eventOf("soon"));
    await expect.poll(() => fired("soon")).toEqual([{ name: "timer", event: eventOf("soon") }]);
  });

  it("fire at once what lies in the past", async () => {
    await test.world.schedules.once("past", Date.now() - minute, eventOf("past"));
    await expect.poll(() => fired("past")).toHaveLength(1);
  });

  it("leave an existing schedule as it is", async () => {
    const later = Date.now() + 3 * minute;
    await test.world.schedules.once("same", later, eventOf("first"));
    await test.world.schedules.once("same", later, eventOf("second"));
    await expect.poll(() => fired("first")).toHaveLength(1);
    expect(fired("second")).toEqual([]);
  });

  it("take a name again once it has fired", async () => {
    await test.world.schedules.once("again", Date.now(), eventOf("one"));
    await expect.poll(() => fired("one")).toHaveLength(1);
    await expect
      .poll(async () => {
        await test.world.schedules.once("again", Date.now(), eventOf("two"));
        return fired("two").length > 0;
      })
      .toBe(true);
  });
});

it("a schedule that the Scheduler's clock finds in the past is asked for again, a minute later", async () => {
  const test = await openEmulated();
  try {
    const behind = Date.now() - 5000;
    vi.spyOn(Date, "now").mockReturnValueOnce(behind);
    await test.world.schedules.once("skewed", behind + 2000, {
      kind: "reset-due",
      sessionKey: "skewed",
      at: 0,
    });
    await expect.poll(() => test.invocations).toHaveLength(1);
  } finally {
    await test.close();
  }
});
