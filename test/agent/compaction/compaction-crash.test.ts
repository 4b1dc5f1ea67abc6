import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Message, textOf } from "../../../shared/protocol/messages.ts";
import { archivePart } from "../../../shared/session/archive.ts";
import type { SessionState } from "../../../shared/session/state.ts";
import { requestStop } from "../../../shared/session/stop.ts";
import { readSummaryMessage } from "../../../shared/session/summary-message.ts";
import { isReading } from "../../support/models/model-window.ts";
import { until } from "../../support/until.ts";
import { copiesBefore, immortal } from "../bench.ts";
import {
  type CompactionBench,
  type CompactionStack,
  compact,
  message,
  startCompactionStack,
  turns,
} from "./compaction-bench.ts";
import { assistant, user } from "./transcripts.ts";

let stack: CompactionStack;
let bench: CompactionBench;

beforeAll(async () => {
  stack = await startCompactionStack();
});
beforeEach(() => {
  bench = stack.bench();
});
afterAll(() => stack?.close());

describe("a compaction whose process dies", () => {
  /** Processes the inbox, then resumes it after a death at each call, and checks the result each time. */
  async function checkEveryDeath(check: (where: string) => Promise<void>): Promise<void> {
    const { copies, before } = copiesBefore(() => ({
      ...{ state: bench.store.copy(), posted: [...bench.posted] },
    }));
    expect(await bench.invoke(bench.key, { ...immortal(), before })).toBe(true);
    const whole = bench;
    await check("not killed");
    expect(copies.length).toBeGreaterThan(20);
    for (const [calls, { state, posted }] of copies.entries()) {
      bench = stack.over(whole, state, posted);
      await revive();
      await check(`killed after ${calls} calls`);
    }
  }

  async function revive(): Promise<void> {
    for (let tries = 0; tries < 5; tries++) {
      await bench.invoke(bench.key);
      const { run, inbox, owner } = await bench.state(bench.key);
      if (!run && inbox.length === 0 && owner === undefined) return;
    }
    throw new Error("it is never done");
  }

  async function checkDone(expected: Message[], where = "not killed"): Promise<void> {
    const after = await bench.state(bench.key);
    expect(after, where).not.toHaveProperty("compacting");
    expect(after, where).not.toHaveProperty("clearFrom");
    const all = await bench.said();
    expect(all.map(textOf), where).toEqual(expected.map(textOf));
    expect(await bench.parts(bench.key), where).toHaveLength(1);
    expect((await bench.memories()).match(/### Extracted/g), where).toHaveLength(1);
    const items = await bench.items(bench.key);
    expect(items, where).toHaveLength(after.head - after.first + 1);
    expect(readSummaryMessage((await bench.live(bench.key))[0]), where).toBeDefined();
  }

  it("has the same result after any of its AWS calls, in the middle of a run", async () => {
    let said = 0;
    bench.reply = (request) =>
      isReading(request)
        ? { text: `<summary>Summary ${++said}</summary><memories>- memory ${said}</memories>` }
        : { text: "the answer" };
    const before = turns(4, 7000);
    await bench.seed(bench.key, before);
    await bench.submit(bench.key, message("m1", "and now?"));
    const all = [...before, user("and now?"), assistant("the answer")];
    await checkEveryDeath((where) => checkDone(all, where));
  }, 240_000);

  it("has the same result after any of its AWS calls, on request", async () => {
    const before = turns(6);
    await bench.seed(bench.key, before);
    await bench.submit(bench.key, compact("c1", 4));
    await checkEveryDeath(async (where) => {
      await checkDone(before, where);
      const results = bench.posted.map(({ frame }) => (frame as { payload: object }).payload);
      expect(results.length, where).toBeGreaterThan(0);
      for (const one of results) expect(one).toMatchObject({ trimmedMessages: 20, keptMessages: 4 });
    });
  }, 240_000);

  const running = (attempt: number): Partial<SessionState> => ({
    run: {
      runId: "m1",
      phase: "model",
      step: 0,
      attempt: 0,
      startedAt: Date.now(),
      origin: { kind: "client" },
      pending: {},
      pendingCount: 0,
      shrunk: "compacted",
    },
    compacting: { at: Date.now(), upTo: 72, mostCharacters: 1000, attempt },
  });

  it("is not disturbed by an earlier process that wakes up late", async () => {
    let asked = 0;
    let wake = () => {};
    const paused = new Promise<void>((resolve) => {
      wake = resolve;
    });
    bench.reply = async (request) => {
      if (!isReading(request)) return { text: "the answer" };
      const mine = ++asked;
      if (mine === 1) await paused;
      return { text: `<summary>Summary ${mine}</summary><memories>- memory ${mine}</memories>` };
    };
    const before = turns(4, 7000);
    await bench.seed(bench.key, before);
    await bench.submit(bench.key, message("m1", "and now?"));
    const late = bench.invoke(bench.key);
    await until(() => bench.readings().length === 1, "the summary is asked for");
    bench.later += 31_000;
    expect(await bench.invoke(bench.key)).toBe(true);
    const done = await bench.state(bench.key);
    wake();
    expect(await late).toBe(true);
    expect(await bench.state(bench.key)).toEqual(done);
    await checkDone([...before, user("and now?"), assistant("the answer")]);
    expect(await bench.memories()).not.toContain("- memory 1\n");
  });

  it("archives nothing when it wakes up after another process was stopped", async () => {
    let wake = () => {};
    const paused = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const life = immortal();
    life.before = async () => {
      // It has its summary, and looks for forgotten memories.
      if (bench.readings().length === 1 && life.calls.at(-1) === "table.query") await paused;
    };
    const before = turns(5);
    await bench.seed(bench.key, before);
    await bench.submit(bench.key, compact("c1", 4));
    const late = bench.invoke(bench.key, life);
    await until(() => bench.readings().length === 1, "the summary is asked for");
    await until(() => life.calls.at(-1) === "table.query", "the process pauses");
    await requestStop(bench.store.table, bench.key, "stop", Date.now());
    bench.later += 31_000;
    await bench.invoke(bench.key);
    expect((await bench.state(bench.key)).inbox).toEqual([]);
    wake();
    await late;
    expect(await bench.parts(bench.key)).toEqual([]);
    expect(await bench.live(bench.key)).toEqual(before);
  });

  it("twice is finished without a model call", async () => {
    const before = [...turns(20), user("and now?")];
    await bench.seed(bench.key, before, running(2));
    await bench.invoke(bench.key);
    expect(bench.readings()).toEqual([]);
    const live = await bench.live(bench.key);
    expect(readSummaryMessage(live[0])).toEqual({
      count: 72,
      text: "(72 messages could not be summarized. They are in the archive.)",
    });
    expect((await bench.said()).map(textOf)).toEqual([...before, assistant("the answer")].map(textOf));
  });

  it("repeatedly is given up, and the conversation is unchanged", async () => {
    const before = [...turns(20), user("and now?")];
    await bench.seed(bench.key, before, running(6));
    const state = await bench.state(bench.key);
    await archivePart(bench.store.bucket, state, state.compacting!.at, { count: 1, stream: before });
    await bench.invoke(bench.key);
    const live = await bench.live(bench.key);
    expect(live.slice(0, -1)).toEqual(before);
    expect(textOf(live.at(-1)!)).toMatch(/^\[no answer: the conversation is too long/);
    expect(await bench.parts(bench.key)).toEqual([]);
    expect(await bench.state(bench.key)).not.toHaveProperty("compacting");
    expect(await bench.state(bench.key)).not.toHaveProperty("run");
  });
});
