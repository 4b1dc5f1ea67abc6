import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Platform, platformNames } from "../support/platforms/platforms.ts";
import { Life, startTurnBench, type TurnBench } from "./turn-bench.ts";

/** A message, the model's answer to it, and the expected outcome. */
interface Turn {
  text: string;
  reply: TurnBench["reply"];
  /** The texts that the sender receives; every entry is a message. */
  told: string[];
  /** The stored messages. */
  said: string[];
}

const nothing: Pick<Turn, "told" | "said"> = { told: [], said: [] };

describe.each(platformNames)("%s, when every process may die between any two of its calls", (name) => {
  let platform: Platform;
  let bench: TurnBench;
  let turns: Record<string, Turn>;

  beforeAll(async () => {
    ({ platform, bench } = await startTurnBench(name));
    const parts = ["a", "b", "c"].map((letter) => letter.repeat(platform.maxText * 0.75));
    const long = parts.join("\n\n");
    turns = {
      answer: {
        text: "hello",
        reply: { text: long },
        told: parts,
        said: ["user: hello", `assistant: ${long}`],
      },
      failure: {
        text: "hello",
        reply: { error: "no model is to be had" },
        told: ["Sorry, that failed: no model is to be had"],
        said: ["user: hello", "assistant: [no answer: no model is to be had]"],
      },
      command: {
        text: "/model amazon-bedrock/gpt-5",
        reply: { error: "was asked" },
        told: ["Model set to amazon-bedrock/gpt-5"],
        said: [],
      },
    };
  });
  beforeEach(() => bench.renew());
  afterAll(() => bench.close());

  /** A message arrives, and these processes handle it until nothing is left to do. @returns whether it was accepted */
  async function run({ text, reply }: Turn, webhook: Life, agent = new Life()): Promise<boolean> {
    bench.renew();
    bench.reply = reply;
    const event = platform.direct(text);
    let taken = await bench.deliver(event, webhook);
    await bench.runAgents(agent);
    for (let minutes = 0; minutes < 3; minutes++) {
      bench.pass(60_000);
      if (platform.redelivers) taken = (await bench.deliver(event)) || taken;
      await bench.runAgents();
      await bench.sweep();
    }
    return taken;
  }

  /** The sent and stored messages, next to the expected ones. */
  async function outcome(turn: Pick<Turn, "told" | "said">, doubled: string[] = []) {
    const told = [...turn.told, ...doubled].sort();
    return {
      found: { told: platform.answers().map(heading).sort(), said: (await bench.said()).map(heading) },
      expected: { told: told.map(heading), said: turn.said.map(heading) },
    };
  }

  /**
   * The one unknown outcome: whether a message was sent, when the process died before it recorded that. The message is sent
   * again. On Discord the current answer is read first, so that only parts after the first may be sent twice.
   */
  function unknowable(turn: Turn, { calls }: Life): string[] {
    if (calls.lastIndexOf("platform.send") <= calls.lastIndexOf("table.update TX")) return [];
    const sent = calls.filter((call) => call === "platform.send").length;
    return name === "discord" && sent === 1 ? [] : turn.told.slice(sent - 1, sent);
  }

  it.each(["answer", "failure", "command"])("an intake loses and duplicates nothing: %s", async (kind) => {
    const turn = turns[kind]!;
    const whole = new Life();
    expect(await run(turn, whole)).toBe(true);
    const { found, expected } = await outcome(turn);
    expect(found).toEqual(expected);
    expect(whole.calls.length).toBeGreaterThanOrEqual(3);
    for (let calls = 0; calls <= whole.calls.length; calls++) {
      const life = new Life(calls);
      const taken = await run(turn, life);
      // Discord does not redeliver: it shows the sender of the command that there was no response.
      const isRefused = !taken && !platform.redelivers && (await bench.said()).length === 0;
      const { found, expected } = await outcome(isRefused ? nothing : turn, unknowable(turn, life));
      expect(found, `killed after ${calls} calls: ${life.calls}`).toEqual(expected);
    }
  });

  it.each(["answer", "failure"])("a turn loses and duplicates nothing: %s", async (kind) => {
    const turn = turns[kind]!;
    const whole = new Life();
    await run(turn, new Life(), whole);
    expect(whole.calls.length).toBeGreaterThan(10);
    for (let calls = 0; calls <= whole.calls.length; calls++) {
      const life = new Life(calls);
      await run(turn, new Life(), life);
      const { found, expected } = await outcome(turn, unknowable(turn, life));
      expect(found, `killed after ${calls} calls: ${life.calls}`).toEqual(expected);
    }
  });

  it("an event that arrives five times at once and again after minutes is one message and one reply", async () => {
    for (const turn of Object.values(turns)) {
      bench.renew();
      bench.reply = turn.reply;
      const event = platform.direct(turn.text);
      for (const minutes of [0, 1, 10, 60]) {
        bench.pass(minutes * 60_000);
        const taken = await Promise.all(Array.from({ length: 5 }, () => bench.deliver(event)));
        expect(taken).toEqual(Array(5).fill(true));
        await bench.runAgents(new Life(), 3);
      }
      const { found, expected } = await outcome(turn);
      expect(found).toEqual(expected);
      expect(bench.asked).toBe(turn.said.length === 0 ? 0 : 1);
    }
  });
});

/** Enough of a text to recognize it. */
function heading(text: string): string {
  return text.slice(0, 40);
}
