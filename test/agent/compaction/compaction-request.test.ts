import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { textOf } from "../../../shared/protocol/messages.ts";
import { partKey } from "../../../shared/session/archive.ts";
import type { SessionState } from "../../../shared/session/state.ts";
import { requestStop } from "../../../shared/session/stop.ts";
import { until } from "../../support/until.ts";
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

describe("a request to compact", () => {
  const answers = () =>
    bench.posted
      .map(({ frame }) => frame as { type: string; payload: unknown })
      .filter(({ type }) => type === "res");

  it("keeps that many messages, and its answer reports the result", async () => {
    const before = turns(5);
    await bench.seed(bench.key, before);
    await bench.submit(bench.key, compact("c1", 4));
    await bench.invoke(bench.key);
    const live = await bench.live(bench.key);
    expect(live.slice(1)).toEqual(before.slice(-4));
    const { sessionId, compactedAt } = await bench.state(bench.key);
    const archivedTo = partKey(bench.key.split(":")[1]!, sessionId, compactedAt!);
    expect(answers()).toMatchObject([
      { id: "c1", ok: true, payload: { ok: true, trimmedMessages: 16, keptMessages: 4, archivedTo } },
    ]);
    expect(await bench.said()).toEqual(before);
  });

  it("is stopped while the model hangs: nothing changes, and the next message is answered", async () => {
    bench.reply = () => ({ hang: true });
    const before = turns(5);
    await bench.seed(bench.key, before);
    await bench.submit(bench.key, compact("c1", 4, "command"));
    const invoked = bench.invoke(bench.key);
    await until(() => bench.readings().length === 1, "the summary is asked for");
    const stop = await requestStop(bench.store.table, bench.key, "stop", Date.now());
    expect(stop).toMatchObject({ runId: "c1", isCompaction: true });
    await invoked;
    const error = "Nothing was changed. It was stopped by the user.";
    expect(answers()).toMatchObject([{ payload: { status: "command", command: "compact", error } }]);
    expect(await bench.live(bench.key)).toEqual(before);
    const after = await bench.state(bench.key);
    expect(after.inbox).toEqual([]);
    for (const left of ["compacting", "stopEntry", "stop", "owner"]) expect(after).not.toHaveProperty(left);
    bench.reply = () => ({ text: "the answer" });
    await bench.submit(bench.key, message("m1", "and now?"));
    await bench.invoke(bench.key);
    expect(textOf((await bench.live(bench.key)).at(-1)!)).toBe("the answer");
  });

  it("is not begun if it was stopped before", async () => {
    await bench.seed(bench.key, turns(5));
    await bench.submit(bench.key, compact("c1", 4));
    await requestStop(bench.store.table, bench.key, "stop", Date.now());
    await bench.invoke(bench.key);
    expect(answers()).toMatchObject([{ ok: false, error: { message: expect.stringContaining("stopped") } }]);
    expect(bench.readings()).toEqual([]);
    expect(await bench.state(bench.key)).not.toHaveProperty("stopEntry");
  });

  it("is stopped after a kill at any call: no message is lost, and none is kept twice", async () => {
    for (let left = 0, isWhole = false; !isWhole; left++) {
      bench = stack.bench();
      const before = turns(5);
      await bench.seed(bench.key, before);
      await bench.submit(bench.key, compact("c1", 4));
      isWhole = await bench.invoke(bench.key, { left, calls: [] });
      await requestStop(bench.store.table, bench.key, "stop", Date.now());
      await bench.invoke(bench.key);
      expect(await bench.said(), `killed after ${left} calls`).toEqual(before);
      expect((await bench.state(bench.key)).inbox).toEqual([]);
    }
  });

  it("never separates a call from its results, and keeps a few more messages for that", async () => {
    await bench.seed(bench.key, turns(5));
    await bench.submit(bench.key, compact("c1", 2, "command"));
    await bench.invoke(bench.key);
    expect((await bench.live(bench.key)).map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "toolResult",
      "assistant",
    ]);
    expect(answers()).toMatchObject([
      {
        payload: {
          status: "command",
          command: "compact",
          response: "Compacted session. Kept 3 messages, archived 17.",
        },
      },
    ]);
  });

  it.each([
    ["an empty conversation", [], 20, 0],
    ["one that is short enough", turns(2), 20, 8],
    ["one whose old messages are smaller than a summary", [user("a"), assistant("b"), user("c")], 2, 3],
  ])("leaves %s unchanged", async (_what, before, keep, kept) => {
    await bench.seed(bench.key, before);
    await bench.submit(bench.key, compact("c1", keep));
    await bench.invoke(bench.key);
    expect(await bench.live(bench.key)).toEqual(before);
    expect(bench.model.requests).toEqual([]);
    expect(answers()).toMatchObject([{ payload: { ok: true, trimmedMessages: 0, keptMessages: kept } }]);
    expect(await bench.state(bench.key)).toMatchObject({ inbox: [] });
  });

  it("leaves a conversation unchanged that was already compacted", async () => {
    await bench.seed(bench.key, turns(5));
    for (const id of ["c1", "c2"]) await bench.submit(bench.key, compact(id, 4));
    await bench.invoke(bench.key);
    expect(answers()).toMatchObject([
      { payload: { trimmedMessages: 16, keptMessages: 4 } },
      { payload: { ok: true, trimmedMessages: 0, keptMessages: 5 } },
    ]);
    expect(await bench.parts(bench.key)).toHaveLength(1);
  });

  it("never leaves a conversation larger than it was", async () => {
    bench.reply = () => ({ text: `<summary>${"long ".repeat(500)}</summary>` });
    const before = Array.from({ length: 8 }, (_, i) => user(`m${i}`));
    await bench.seed(bench.key, before);
    await bench.submit(bench.key, compact("c1", 1));
    await bench.invoke(bench.key);
    const live = await bench.live(bench.key);
    expect(live).toHaveLength(2);
    expect(textOf(live[0]!).length).toBeLessThan(7 * 42);
  });

  it("gives parts of the same moment different names", async () => {
    await bench.seed(bench.key, turns(10), { compactedAt: Date.now() + 3_600_000 } as Partial<SessionState>);
    await bench.submit(bench.key, compact("c1", 20));
    await bench.submit(bench.key, compact("c2", 4));
    await bench.invoke(bench.key);
    expect(await bench.parts(bench.key)).toHaveLength(2);
    expect(await bench.said()).toEqual(turns(10));
  });
});

describe("a budget's limit during a compaction", () => {
  const refusalIn = async (key: string) => {
    bench.key = key;
    bench.configuration.budgets = {
      ...bench.configuration.budgets,
      rules: [{ id: "day", scope: "all", per: "day", usd: 0, atLimit: "refuse" }],
    };
    await bench.seed(key, turns(5));
    await bench.submit(key, compact("c1", 4, "command"));
    await bench.invoke(key);
    return JSON.stringify(bench.posted);
  };

  it("is explained to the owner, with figures", async () => {
    const told = await refusalIn(bench.key);
    expect(told).toMatch(/Nothing was changed\..*limit of \$0\.00 .*gsv budget raise day/);
  });

  it.each(["group:-1", "guest:8"])(
    "is told without figures in a conversation that others read: %s",
    async (peer) => {
      const told = await refusalIn(`${bench.key.replace(/main$/, "telegram")}:${peer}`);
      expect(told).toContain("Nothing was changed. not available today");
      expect(told).not.toMatch(/\$\d|gsv budget/);
    },
  );

  it("of a run does not apply: no run is in progress", async () => {
    bench.configuration.budgets = {
      ...bench.configuration.budgets,
      rules: [{ id: "run", scope: "run", usd: 0.0001, atLimit: "refuse" }],
    };
    await bench.seed(bench.key, turns(5));
    await bench.submit(bench.key, compact("c1", 4));
    await bench.invoke(bench.key);
    expect((await bench.state(bench.key)).compactedAt).toBeGreaterThan(0);
  });
});
