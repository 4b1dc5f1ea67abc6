import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { textOf } from "../../../shared/protocol/messages.ts";
import { localTime } from "../../../shared/runtime/zoned-time.ts";
import { findArchives, partKey } from "../../../shared/session/archive.ts";
import { requestStop } from "../../../shared/session/stop.ts";
import { readSummaryMessage } from "../../../shared/session/summary-message.ts";
import { dailyMemoryPath } from "../../../shared/workspace/workspace-paths.ts";
import { isReading } from "../../support/models/model-window.ts";
import { until } from "../../support/until.ts";
import {
  type CompactionBench,
  type CompactionStack,
  compact,
  contextWindow,
  message,
  startCompactionStack,
  summaryReply,
  turns,
} from "./compaction-bench.ts";
import { assistant, result, user } from "./transcripts.ts";

let stack: CompactionStack;
let bench: CompactionBench;

beforeAll(async () => {
  stack = await startCompactionStack();
});
beforeEach(() => {
  bench = stack.bench();
});
afterAll(() => stack?.close());

describe("session-routing.md, Compaction: a conversation that fills the window", () => {
  it("is compacted before the model is called, and no message is lost", async () => {
    const before = turns(40);
    await bench.seed(bench.key, before);
    await bench.submit(bench.key, message("m1", "and now?"));
    const from = Date.now();
    expect(await bench.invoke(bench.key)).toBe(true);
    const after = await bench.state(bench.key);
    const live = await bench.live(bench.key);
    expect(after).not.toHaveProperty("run");
    expect(after).not.toHaveProperty("compacting");
    expect(after).not.toHaveProperty("clearFrom");
    const summary = readSummaryMessage(live[0]);
    expect(summary).toEqual({ count: 160 - (live.length - 3), text: "They counted." });
    expect(live.slice(1, -2)).toEqual(before.slice(-(live.length - 3)));
    expect(await bench.said()).toEqual([...before, ...live.slice(-2)]);
    expect(textOf(live.at(-1)!)).toBe("the answer");
    expect(bench.script.refused).toBe(0);
    expect(Math.max(...bench.script.sizes)).toBeLessThanOrEqual(contextWindow * 0.75);
    expect(bench.conversation()).toHaveLength(1);
    expect(bench.conversation()[0]!.turns[0]!.text).toMatch(
      /^\[Summary of the earlier conversation: \d+ messages/,
    );
    expect(from).toBeLessThanOrEqual(after.compactedAt!);
  });

  it("leaves an archive in the storage layout, and memories under their header", async () => {
    await bench.seed(bench.key, turns(40));
    await bench.submit(bench.key, message("m1", "and now?"));
    await bench.invoke(bench.key);
    const { sessionId, compactedAt } = await bench.state(bench.key);
    const agentId = bench.key.split(":")[1]!;
    const { parts } = await findArchives(bench.store.bucket, agentId, sessionId);
    expect(parts).toEqual([partKey(agentId, sessionId, compactedAt!)]);
    const [archived] = await bench.parts(bench.key);
    expect((await bench.store.bucket.head(parts[0]!))!.metadata).toEqual({
      sessionKey: bench.key,
      sessionId,
      agentId,
      partNumber: String(compactedAt),
      origins: "unknown",
      messageCount: String(archived!.length),
      archivedAt: String(compactedAt),
    });
    const { date, time } = localTime(compactedAt!, "UTC");
    const file = await bench.store.bucket.get(`agents/${agentId}/${dailyMemoryPath(date)}`);
    expect(Buffer.from(file!.body).toString()).toBe(
      `### Extracted from context compaction (${time})\n\n- counts a lot\n`,
    );
  });

  it("leaves nothing else in the table", async () => {
    await bench.seed(bench.key, turns(40));
    await bench.submit(bench.key, message("m1", "and now?"));
    await bench.invoke(bench.key);
    const { first, head } = await bench.state(bench.key);
    const items = await bench.items(bench.key);
    expect(items).toHaveLength(head - first + 1);
    expect(items.every((item) => String(item.sk).startsWith("M#"))).toBe(true);
  });

  it("adds the tokens of the summary to the session's", async () => {
    await bench.seed(bench.key, turns(40));
    await bench.submit(bench.key, message("m1", "and now?"));
    await bench.invoke(bench.key);
    const { tokens } = await bench.state(bench.key);
    expect(tokens.input).toBe(bench.script.sizes.reduce((sum, size) => sum + size, 0));
    expect(tokens.total).toBe(tokens.input + tokens.output);
  });

  it("is summarized in chunks of a quarter of the window, each with the summary so far", async () => {
    let count = 0;
    bench.reply = (request) =>
      isReading(request)
        ? { text: `<summary>up to ${++count}</summary><memories>- m${count}</memories>` }
        : { text: "ok" };
    await bench.seed(bench.key, turns(60));
    await bench.submit(bench.key, message("m1", "and now?"));
    await bench.invoke(bench.key);
    expect(bench.readings().length).toBeGreaterThan(3);
    for (const [
      i,
      {
        turns: [asked],
        tools,
      },
    ] of bench.readings().entries()) {
      expect(tools).toEqual([]);
      expect(asked!.text.length * 0.3).toBeLessThan(contextWindow / 4 + 700);
      if (i === 0) expect(asked!.text).not.toContain("<summary_so_far>");
      else expect(asked!.text).toContain(`<summary_so_far>\nup to ${i}\n</summary_so_far>`);
    }
    expect(readSummaryMessage((await bench.live(bench.key))[0])!.text).toBe(`up to ${count}`);
    expect(await bench.memories()).toContain(`\n- m1\n- m2\n`);
  });

  it("includes the earlier summary in the next one", async () => {
    await bench.seed(bench.key, turns(40));
    await bench.submit(bench.key, message("m1", "one"));
    await bench.invoke(bench.key);
    const first = readSummaryMessage((await bench.live(bench.key))[0])!;
    await bench.submit(bench.key, compact("c1", 2));
    bench.reply = () => ({ text: "<summary>They went on counting.</summary>" });
    bench.model.requests.length = 0;
    const kept = (await bench.live(bench.key)).length - 1;
    await bench.invoke(bench.key);
    const live = await bench.live(bench.key);
    expect(readSummaryMessage(live[0])).toEqual({
      count: first.count + kept - 2,
      text: "They went on counting.",
    });
    expect(bench.readings()[0]!.turns[0]!.text).toContain(
      "<summary_so_far>\nThey counted.\n</summary_so_far>",
    );
    expect(await bench.said()).toHaveLength(162);
  });

  it("is not searched for memories if that is switched off", async () => {
    bench.configuration.compaction.extractMemories = false;
    await bench.seed(bench.key, turns(40));
    await bench.submit(bench.key, message("m1", "and now?"));
    await bench.invoke(bench.key);
    expect(bench.readings().every((request) => !request.turns[0]!.text.includes("memories"))).toBe(true);
    expect(await bench.memories()).toBe("");
  });

  it("is sent unchanged if compaction is switched off", async () => {
    bench.configuration.compaction.enabled = false;
    await bench.seed(bench.key, turns(40));
    await bench.submit(bench.key, message("m1", "and now?"));
    await bench.invoke(bench.key);
    expect(bench.model.requests).toHaveLength(1);
    expect(bench.script.refused).toBe(1);
    expect(JSON.stringify(bench.posted)).not.toContain("the answer");
    expect(await bench.parts(bench.key)).toEqual([]);
  });

  it("keeps the user's request visible in a long run", async () => {
    const asked = user("please refactor the whole house", 5);
    const steps = Array.from({ length: 60 }, (_, i) => [
      assistant("", `s${i}`),
      result(`s${i}`, `step ${i} ${"r".repeat(500)}`),
    ]).flat();
    await bench.seed(bench.key, [asked, ...steps], {
      run: {
        runId: "long",
        phase: "model",
        step: 60,
        attempt: 0,
        startedAt: Date.now(),
        origin: { kind: "client" },
        pending: {},
        pendingCount: 0,
      },
    });
    await bench.invoke(bench.key);
    const [summary] = await bench.live(bench.key);
    expect(readSummaryMessage(summary)).toMatchObject({ request: "please refactor the whole house" });
    expect(bench.conversation()[0]!.turns[0]!.text).toContain("please refactor the whole house");
    await bench.submit(bench.key, message("m2", "thanks"));
  });
});

describe("a summary that cannot be made", () => {
  const oversized = [
    user("read it"),
    assistant("", "big"),
    result("big", "B".repeat(40_000)),
    assistant("read"),
  ];

  it("is made without the messages of more than half a window, with a note for each", async () => {
    await bench.seed(bench.key, [...oversized, ...turns(20)]);
    await bench.submit(bench.key, message("m1", "and now?"));
    await bench.invoke(bench.key);
    expect(bench.script.refused).toBeGreaterThan(0);
    expect(
      bench.readings().some((request) => request.turns[0]!.text.includes("too long to be summarized")),
    ).toBe(true);
    const live = await bench.live(bench.key);
    expect(readSummaryMessage(live[0])!.text).toBe("They counted.");
    expect(textOf(live.at(-1)!)).toBe("the answer");
    expect(await bench.said()).toHaveLength(86);
  });

  it("is replaced by a placeholder with the count, and the turn continues", async () => {
    bench.reply = (request) =>
      isReading(request) ? { error: { status: 400, message: "no" } } : { text: "the answer" };
    await bench.seed(bench.key, turns(40));
    await bench.submit(bench.key, message("m1", "and now?"));
    await bench.invoke(bench.key);
    const live = await bench.live(bench.key);
    const { count, text } = readSummaryMessage(live[0])!;
    expect(text).toBe(`(${count} messages could not be summarized. They are in the archive.)`);
    expect(textOf(live.at(-1)!)).toBe("the answer");
    expect(await bench.said()).toHaveLength(162);
    expect(await bench.memories()).toBe("");
  });

  it("keeps what was summarized before the model failed", async () => {
    let asked = 0;
    bench.reply = (request) => {
      if (!isReading(request)) return { text: "the answer" };
      return ++asked === 1 ? summaryReply : { error: { status: 400, message: "no" } };
    };
    await bench.seed(bench.key, turns(40));
    await bench.submit(bench.key, message("m1", "and now?"));
    await bench.invoke(bench.key);
    const { text } = readSummaryMessage((await bench.live(bench.key))[0])!;
    expect(text).toMatch(/^They counted\.\n\n\(\d+ messages could not be summarized/);
  });

  it("is cut if it is too long", async () => {
    bench.reply = (request) => (isReading(request) ? { text: "s".repeat(30_000) } : { text: "the answer" });
    await bench.seed(bench.key, turns(40));
    await bench.submit(bench.key, message("m1", "and now?"));
    await bench.invoke(bench.key);
    expect(textOf((await bench.live(bench.key))[0]!).length).toBeLessThan(contextWindow);
    expect(bench.script.refused).toBe(0);
    expect(Math.max(...bench.script.sizes)).toBeLessThanOrEqual(contextWindow * 0.75);
  });

  it("is given up when the run is stopped, and nothing changes", async () => {
    bench.reply = () => ({ hang: true });
    const before = turns(40);
    await bench.seed(bench.key, before);
    await bench.submit(bench.key, message("m1", "and now?"));
    const invoked = bench.invoke(bench.key);
    await until(() => bench.readings().length === 1, "the summary is asked for");
    await requestStop(bench.store.table, bench.key, "stop", Date.now());
    await invoked;
    const after = await bench.state(bench.key);
    expect(after).toMatchObject({ first: 1, head: 162 });
    expect(textOf((await bench.live(bench.key)).at(-1)!)).toBe("[stopped by the user before an answer]");
    expect(after).not.toHaveProperty("run");
    expect(after).not.toHaveProperty("compacting");
    expect(await bench.parts(bench.key)).toEqual([]);
  });
});

describe("a provider that is down", () => {
  const down = { error: { status: 401, message: "the key was revoked" } };

  it("ends the turn with its error, and leaves the conversation unchanged", async () => {
    bench.reply = () => down;
    const before = turns(40);
    await bench.seed(bench.key, before);
    await bench.submit(bench.key, message("m1", "and now?"));
    await bench.invoke(bench.key);
    expect((await bench.live(bench.key)).slice(0, -2)).toEqual(before);
    expect(await bench.parts(bench.key)).toEqual([]);
    const after = await bench.state(bench.key);
    expect(after).not.toHaveProperty("run");
    expect(after).not.toHaveProperty("compacting");
    bench.reply = (request) => (isReading(request) ? summaryReply : { text: "the answer" });
    await bench.submit(bench.key, message("m2", "are you back?"));
    await bench.invoke(bench.key);
    const live = await bench.live(bench.key);
    expect(readSummaryMessage(live[0])!.text).toBe("They counted.");
    expect(textOf(live.at(-1)!)).toBe("the answer");
    expect(await bench.said()).toHaveLength(164);
  });

  it("leaves the conversation unchanged in the middle of a summary too", async () => {
    let asked = 0;
    bench.reply = () => (++asked === 1 ? summaryReply : down);
    await bench.seed(bench.key, turns(40));
    await bench.submit(bench.key, message("m1", "and now?"));
    await bench.invoke(bench.key);
    expect(await bench.live(bench.key)).toHaveLength(162);
    expect(await bench.parts(bench.key)).toEqual([]);
  });

  it("answers a request to compact with a retryable error, and a command with an error", async () => {
    bench.reply = () => down;
    const before = turns(10);
    await bench.seed(bench.key, before);
    await bench.submit(bench.key, compact("c1", 4));
    await bench.submit(bench.key, compact("c2", 4, "command"));
    await bench.invoke(bench.key);
    const error = expect.stringMatching(/^Nothing was changed\. LLM error: .*the key was revoked/);
    expect(bench.posted.map(({ frame }) => frame)).toMatchObject([
      { id: "c1", ok: false, error: { code: 503, message: error, retryable: true } },
      { id: "c2", ok: true, payload: { status: "command", command: "compact", error } },
    ]);
    expect(await bench.live(bench.key)).toEqual(before);
    expect(await bench.state(bench.key)).toMatchObject({ inbox: [] });
  });
});

describe("a provider that refuses a conversation as too long", () => {
  /** A server with a smaller window than the catalogue says. */
  const guessed = 32_000;

  it("is called again with the compacted conversation", async () => {
    bench.configuration.model.contextWindow = guessed;
    await bench.seed(bench.key, turns(50));
    await bench.submit(bench.key, message("m1", "and now?"));
    await bench.invoke(bench.key);
    expect(bench.conversation().map(({ status }) => status)).toEqual([400, 200]);
    expect(textOf((await bench.live(bench.key)).at(-1)!)).toBe("the answer");
    expect(await bench.said()).toHaveLength(202);
    expect((await bench.parts(bench.key)).length).toBe(1);
  });

  it("ends the turn with its error when it refuses again", async () => {
    bench.reply = (request) => (isReading(request) ? summaryReply : { error: tooLong });
    await bench.seed(bench.key, turns(20));
    await bench.submit(bench.key, message("m1", "and now?"));
    await bench.invoke(bench.key);
    expect(bench.conversation()).toHaveLength(2);
    expect(await bench.state(bench.key)).not.toHaveProperty("run");
    expect(await bench.said()).toHaveLength(82);
  });

  it("gets a single message that is too long without its middle", async () => {
    bench.configuration.model.contextWindow = guessed;
    await bench.seed(bench.key, []);
    await bench.submit(bench.key, message("m1", "L".repeat(60_000)));
    await bench.invoke(bench.key);
    expect(bench.conversation().map(({ status }) => status)).toEqual([400, 200]);
    expect(bench.conversation()[1]!.turns[0]!.text).toMatch(/characters left out/);
    const live = await bench.live(bench.key);
    expect(textOf(live[0]!)).toBe("L".repeat(60_000));
    expect(textOf(live[1]!)).toBe("the answer");
  });
});

const tooLong = {
  status: 400,
  message: "This model's maximum context length is 8000 tokens. Please reduce the length of the messages.",
};
