import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { type Platform, platformNames } from "../support/platforms/platforms.ts";
import { startTurnBench, type TurnBench } from "./turn-bench.ts";

describe.each(platformNames)("%s delivers messages in any order, and more than once", (name) => {
  let platform: Platform;
  let bench: TurnBench;

  beforeAll(async () => {
    vi.spyOn(process.stdout, "write").mockReturnValue(true);
    ({ platform, bench } = await startTurnBench(name));
  });
  beforeEach(() => {
    bench.renew();
    bench.reply = { text: "heard" };
  });
  afterAll(() => bench.close());

  /** Events of messages that were written a second after one another. */
  const written = (...texts: string[]) =>
    texts.map((text) => {
      bench.pass(1000);
      return platform.direct(text);
    });
  const questions = async () =>
    (await bench.said()).flatMap((line) => (line.startsWith("user: ") ? [line.slice("user: ".length)] : []));

  it("repeats a message at once, while it is answered, and later: it is answered once", async () => {
    const [event] = written("hello");
    const repeat = async () => expect(await bench.deliver(event!)).toBe(true);
    bench.reply = { text: "heard", meanwhile: repeat };
    await Promise.all([repeat(), repeat(), repeat()]);
    await bench.runAgents();
    await repeat();
    bench.pass(7 * 86_400_000);
    await repeat();
    await bench.runAgents();
    expect([bench.asked, platform.answers(), await questions()]).toEqual([1, ["heard"], ["hello"]]);
  });

  it("repeats a message that was not accepted after a later one was answered: it is answered once, then", async () => {
    const [first, second] = written("first", "second");
    await bench.dying(first!, 1);
    await bench.deliver(second!);
    await bench.runAgents();
    bench.pass(60_000);
    for (let time = 0; time < 2; time++) expect(await bench.deliver(first!)).toBe(true);
    await bench.runAgents();
    expect([bench.asked, await questions()]).toEqual([2, ["second", "first"]]);
    expect(platform.answers()).toHaveLength(2);
  });

  it("delivers later messages first while one is answered: they are answered in the order in which they were written", async () => {
    const [before, ...events] = written("before", "first", "second", "third");
    const [first, second, third] = events;
    let isDelivered = false;
    bench.reply = {
      text: "heard",
      async meanwhile() {
        if (isDelivered) return;
        isDelivered = true;
        for (const event of [third, first, second, third, first]) await bench.deliver(event!);
      },
    };
    await bench.deliver(before!);
    await bench.runAgents();
    expect(await questions()).toEqual(["before", "first", "second", "third"]);
    expect([bench.asked, platform.answers().length]).toEqual([4, 4]);
  });

  it("refuses parts of an answer with 429: each part is sent once, in order, before the next answer", async () => {
    const parts = ["a", "b", "c"].map((letter) => letter.repeat(platform.maxText - 10));
    const [first, second] = written("first", "second");
    bench.reply = {
      text: parts.join("\n\n"),
      async meanwhile() {
        bench.reply = { text: "heard" };
        await bench.deliver(second!);
      },
    };
    platform.refuse("busy", "busy");
    await bench.deliver(first!);
    await bench.runAgents();
    expect(platform.answers()).toEqual([...parts, "heard"]);
  });
});
