import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { readSummaryMessage } from "../../functions/agent/summary-message.ts";
import { type Message, textOf } from "../../shared/protocol/messages.ts";
import { findArchives, partKey } from "../../shared/session/archive.ts";
import { requestStop } from "../../shared/session/calls.ts";
import type { InboxEntry, SessionState } from "../../shared/session/state.ts";
import { dailyMemoryPath, localTime } from "../../shared/workspace/clock.ts";
import { isReading, type WindowedScript, withWindow } from "../support/model-window.ts";
import { startOpenAiServer } from "../support/openai-server.ts";
import type { ModelRequest, ModelServer, Reply } from "../support/scripted-model.ts";
import { type State, startState } from "../support/state.ts";
import { until } from "../support/until.ts";
import { type Bench, immortal, type Life, openBench } from "./bench.ts";
import { assistant, result, user } from "./transcripts.ts";

const contextWindow = 8000;
const summaryReply = { text: "<summary>They counted.</summary>\n<memories>- counts a lot</memories>" };

let state: State;
let model: ModelServer;
let script: WindowedScript;
let reply: (request: ModelRequest) => Reply | Promise<Reply>;
let bench: Bench;
let key: string;
let sessions = 0;

beforeAll(async () => {
  state = await startState();
  script = withWindow(contextWindow, (request) => reply(request));
  model = await startOpenAiServer(script);
});
beforeEach(() => {
  bench = openBench(state, { provider: "openai-compatible", id: "m", baseUrl: model.url, contextWindow });
  bench.configuration.compaction.extractMemories = true;
  key = `agent:a${++sessions}:main`;
  reply = (request) => (isReading(request) ? summaryReply : { text: "the answer" });
  script.refused = 0;
  script.sizes.length = 0;
  model.requests.length = 0;
});
afterEach(() => expect(model.aborted()).toBe(model.aborted()));
afterAll(async () => {
  await model?.close();
  await state?.close();
});

/** Turns with a tool call each: 4 messages, about `length` characters. */
const turns = (count: number, length = 600): Message[] =>
  Array.from({ length: count }, (_, i) => [
    user(`question ${i} ${"q".repeat(length / 4)}`, 1000 + i),
    assistant("", `call_${i}`),
    result(`call_${i}`, `result ${i} ${"r".repeat(length / 2)}`),
    assistant(`answer ${i} ${"a".repeat(length / 4)}`),
  ]).flat();

const message = (id: string, text: string): InboxEntry => ({
  id,
  at: Date.now(),
  origin: { kind: "client", connectionId: "c", requestId: id },
  kind: "message",
  text,
});
const compact = (id: string, keep: number, via: "command" | "method" = "method"): InboxEntry => ({
  id,
  at: Date.now(),
  origin: { kind: "client", connectionId: "c", requestId: id },
  kind: "compact",
  keep,
  via,
});

const isSaid = (one: Message) => !readSummaryMessage(one);

/** Everything that was said, from the archives and the table, in order. */
async function said(sessionKey = key): Promise<Message[]> {
  return [...(await bench.parts(sessionKey)).flat(), ...(await bench.live(sessionKey))].filter(isSaid);
}

async function memories(sessionKey = key): Promise<string> {
  const agentId = sessionKey.split(":")[1];
  const { objects } = await state.bucket.list(`agents/${agentId}/memory/`);
  const files = await Promise.all(objects.map(({ key: file }) => state.bucket.get(file)));
  return files.map((file) => Buffer.from(file!.body).toString()).join("");
}

const conversation = () => model.requests.filter((request) => !isReading(request));
const readings = () => model.requests.filter(isReading);

describe("a conversation that fills the window", () => {
  it("is compacted before the model is called, and nothing that was said is lost", async () => {
    const before = turns(40);
    await bench.seed(key, before);
    await bench.submit(key, message("m1", "and now?"));
    const from = Date.now();
    expect(await bench.invoke(key)).toBe(true);
    const after = await bench.state(key);
    const live = await bench.live(key);
    expect(after).not.toHaveProperty("run");
    expect(after).not.toHaveProperty("compacting");
    expect(after).not.toHaveProperty("clearFrom");
    const summary = readSummaryMessage(live[0]);
    expect(summary).toEqual({ count: 160 - (live.length - 3), text: "They counted." });
    expect(live.slice(1, -2)).toEqual(before.slice(-(live.length - 3)));
    expect(await said()).toEqual([...before, ...live.slice(-2)]);
    expect(textOf(live.at(-1)!)).toBe("the answer");
    expect(script.refused).toBe(0);
    expect(Math.max(...script.sizes)).toBeLessThanOrEqual(contextWindow * 0.75);
    expect(conversation()).toHaveLength(1);
    expect(conversation()[0]!.turns[0]!.text).toMatch(/^\[Summary of the earlier conversation: \d+ messages/);
    expect(from).toBeLessThanOrEqual(after.compactedAt!);
  });

  it("leaves an archive as the storage layout says, and memories under their header", async () => {
    await bench.seed(key, turns(40));
    await bench.submit(key, message("m1", "and now?"));
    await bench.invoke(key);
    const { sessionId, compactedAt } = await bench.state(key);
    const agentId = key.split(":")[1]!;
    const { parts } = await findArchives(state.bucket, agentId, sessionId);
    expect(parts).toEqual([partKey(agentId, sessionId, compactedAt!)]);
    const [archived] = await bench.parts(key);
    expect((await state.bucket.head(parts[0]!))!.metadata).toEqual({
      sessionKey: key,
      sessionId,
      agentId,
      partNumber: String(compactedAt),
      messageCount: String(archived!.length),
      archivedAt: String(compactedAt),
    });
    const { date, time } = localTime(compactedAt!);
    const file = await state.bucket.get(`agents/${agentId}/${dailyMemoryPath(date)}`);
    expect(Buffer.from(file!.body).toString()).toBe(
      `### Extracted from context compaction (${time})\n\n- counts a lot\n`,
    );
  });

  it("leaves nothing else in the table", async () => {
    await bench.seed(key, turns(40));
    await bench.submit(key, message("m1", "and now?"));
    await bench.invoke(key);
    const { first, head } = await bench.state(key);
    const items = await bench.items(key);
    expect(items).toHaveLength(head - first + 1);
    expect(items.every((item) => String(item.sk).startsWith("M#"))).toBe(true);
  });

  it("counts the tokens of the summary into the session's", async () => {
    await bench.seed(key, turns(40));
    await bench.submit(key, message("m1", "and now?"));
    await bench.invoke(key);
    const { tokens } = await bench.state(key);
    expect(tokens.input).toBe(script.sizes.reduce((sum, size) => sum + size, 0));
    expect(tokens.total).toBe(tokens.input + tokens.output);
  });

  it("is summarized in chunks of a quarter of the window, each with the summary so far", async () => {
    let count = 0;
    reply = (request) =>
      isReading(request) ? { text: `<summary>up to ${++count}</summary><memories>- m${count}</memories>` } : { text: "ok" };
    await bench.seed(key, turns(60));
    await bench.submit(key, message("m1", "and now?"));
    await bench.invoke(key);
    expect(readings().length).toBeGreaterThan(3);
    for (const [i, { turns: [asked], tools }] of readings().entries()) {
      expect(tools).toEqual([]);
      expect(asked!.text.length * 0.3).toBeLessThan(contextWindow / 4 + 700);
      if (i === 0) expect(asked!.text).not.toContain("<summary_so_far>");
      else expect(asked!.text).toContain(`<summary_so_far>\nup to ${i}\n</summary_so_far>`);
    }
    expect(readSummaryMessage((await bench.live(key))[0])!.text).toBe(`up to ${count}`);
    expect(await memories()).toContain(`\n- m1\n- m2\n`);
  });

  it("carries the summary before it on into the next", async () => {
    await bench.seed(key, turns(40));
    await bench.submit(key, message("m1", "one"));
    await bench.invoke(key);
    const first = readSummaryMessage((await bench.live(key))[0])!;
    await bench.submit(key, compact("c1", 2));
    reply = (request) => {
      expect(request.turns[0]!.text).toContain("<summary_so_far>\nThey counted.\n</summary_so_far>");
      return { text: "<summary>They went on counting.</summary>" };
    };
    const kept = (await bench.live(key)).length - 1;
    await bench.invoke(key);
    const live = await bench.live(key);
    expect(readSummaryMessage(live[0])).toEqual({ count: first.count + kept - 2, text: "They went on counting." });
    expect(await said()).toHaveLength(162);
  });

  it("is not searched for memories when that is switched off", async () => {
    bench.configuration.compaction.extractMemories = false;
    await bench.seed(key, turns(40));
    await bench.submit(key, message("m1", "and now?"));
    await bench.invoke(key);
    expect(readings().every((request) => !request.turns[0]!.text.includes("memories"))).toBe(true);
    expect(await memories()).toBe("");
  });

  it("is sent as it is when compaction is switched off", async () => {
    bench.configuration.compaction.enabled = false;
    await bench.seed(key, turns(40));
    await bench.submit(key, message("m1", "and now?"));
    await bench.invoke(key);
    expect(model.requests).toHaveLength(1);
    expect(script.refused).toBe(1);
    expect(JSON.stringify(bench.posted)).not.toContain("the answer");
    expect(await bench.parts(key)).toEqual([]);
  });

  it("keeps the user's request in sight of a run that has been going on for long", async () => {
    const asked = user("please refactor the whole house", 5);
    const steps = Array.from({ length: 60 }, (_, i) => [
      assistant("", `s${i}`),
      result(`s${i}`, `step ${i} ${"r".repeat(500)}`),
    ]).flat();
    await bench.seed(key, [asked, ...steps], {
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
    await bench.invoke(key);
    const [summary] = await bench.live(key);
    expect(readSummaryMessage(summary)).toMatchObject({ request: "please refactor the whole house" });
    expect(conversation()[0]!.turns[0]!.text).toContain("please refactor the whole house");
    await bench.submit(key, message("m2", "thanks"));
  });
});

describe("a summary that cannot be had", () => {
  const oversized = [user("read it"), assistant("", "big"), result("big", "B".repeat(40_000)), assistant("read")];

  it("is made without the messages of more than half a window, with a note for each", async () => {
    await bench.seed(key, [...oversized, ...turns(20)]);
    await bench.submit(key, message("m1", "and now?"));
    await bench.invoke(key);
    expect(script.refused).toBeGreaterThan(0);
    expect(readings().some((request) => request.turns[0]!.text.includes("too long to be summarized"))).toBe(true);
    const live = await bench.live(key);
    expect(readSummaryMessage(live[0])!.text).toBe("They counted.");
    expect(textOf(live.at(-1)!)).toBe("the answer");
    expect(await said()).toHaveLength(86);
  });

  it("is replaced by a placeholder with the count, and the turn goes on", async () => {
    reply = (request) => (isReading(request) ? { error: { status: 400, message: "no" } } : { text: "the answer" });
    await bench.seed(key, turns(40));
    await bench.submit(key, message("m1", "and now?"));
    await bench.invoke(key);
    const live = await bench.live(key);
    const { count, text } = readSummaryMessage(live[0])!;
    expect(text).toBe(`(${count} messages could not be summarized. They are in the archive.)`);
    expect(textOf(live.at(-1)!)).toBe("the answer");
    expect(await said()).toHaveLength(162);
    expect(await memories()).toBe("");
  });

  it("keeps what was summarized before the model failed", async () => {
    let asked = 0;
    reply = (request) => {
      if (!isReading(request)) return { text: "the answer" };
      return ++asked === 1 ? summaryReply : { error: { status: 400, message: "no" } };
    };
    await bench.seed(key, turns(40));
    await bench.submit(key, message("m1", "and now?"));
    await bench.invoke(key);
    const { text } = readSummaryMessage((await bench.live(key))[0])!;
    expect(text).toMatch(/^They counted\.\n\n\(\d+ messages could not be summarized/);
  });

  it("is cut where it is longer than it may be", async () => {
    reply = (request) => (isReading(request) ? { text: "s".repeat(30_000) } : { text: "the answer" });
    await bench.seed(key, turns(40));
    await bench.submit(key, message("m1", "and now?"));
    await bench.invoke(key);
    expect(textOf((await bench.live(key))[0]!).length).toBeLessThan(contextWindow);
    expect(script.refused).toBe(0);
    expect(Math.max(...script.sizes)).toBeLessThanOrEqual(contextWindow * 0.75);
  });

  it("is given up when the run is stopped, and nothing is changed", async () => {
    reply = () => ({ hang: true });
    const before = turns(40);
    await bench.seed(key, before);
    await bench.submit(key, message("m1", "and now?"));
    const invoked = bench.invoke(key);
    await until(() => readings().length === 1, "the summary is asked for");
    await requestStop(state.table, key, Date.now());
    await invoked;
    const after = await bench.state(key);
    expect(after).toMatchObject({ first: 1, head: 161 });
    expect(after).not.toHaveProperty("run");
    expect(after).not.toHaveProperty("compacting");
    expect(await bench.parts(key)).toEqual([]);
  });
});

describe("a provider that refuses a conversation as too long", () => {
  /** A server with a smaller window than is known of it. */
  const guessed = 32_000;

  it("is asked once more, with the conversation compacted", async () => {
    bench.configuration.model.contextWindow = guessed;
    await bench.seed(key, turns(50));
    await bench.submit(key, message("m1", "and now?"));
    await bench.invoke(key);
    expect(conversation().map(({ status }) => status)).toEqual([400, 200]);
    expect(textOf((await bench.live(key)).at(-1)!)).toBe("the answer");
    expect(await said()).toHaveLength(202);
    expect((await bench.parts(key)).length).toBe(1);
  });

  it("ends the turn with its error when it refuses again", async () => {
    reply = (request) => (isReading(request) ? summaryReply : { error: tooLong });
    await bench.seed(key, turns(20));
    await bench.submit(key, message("m1", "and now?"));
    await bench.invoke(key);
    expect(conversation()).toHaveLength(2);
    expect(await bench.state(key)).not.toHaveProperty("run");
    expect(await said()).toHaveLength(81);
  });

  it("is sent a single message that is too long with its middle left out", async () => {
    bench.configuration.model.contextWindow = guessed;
    await bench.seed(key, []);
    await bench.submit(key, message("m1", "L".repeat(60_000)));
    await bench.invoke(key);
    expect(conversation().map(({ status }) => status)).toEqual([400, 200]);
    expect(conversation()[1]!.turns[0]!.text).toMatch(/characters left out/);
    const live = await bench.live(key);
    expect(textOf(live[0]!)).toBe("L".repeat(60_000));
    expect(textOf(live[1]!)).toBe("the answer");
  });
});

const tooLong = {
  status: 400,
  message: "This model's maximum context length is 8000 tokens. Please reduce the length of the messages.",
};

describe("a request to compact", () => {
  const answers = () =>
    bench.posted.map(({ frame }) => (frame as { type: string; payload: unknown })).filter(({ type }) => type === "res");

  it("keeps that many messages and answers what it did", async () => {
    const before = turns(5);
    await bench.seed(key, before);
    await bench.submit(key, compact("c1", 4));
    await bench.invoke(key);
    const live = await bench.live(key);
    expect(live.slice(1)).toEqual(before.slice(-4));
    const { sessionId, compactedAt } = await bench.state(key);
    const archivedTo = partKey(key.split(":")[1]!, sessionId, compactedAt!);
    expect(answers()).toMatchObject([
      { id: "c1", ok: true, payload: { ok: true, trimmedMessages: 16, keptMessages: 4, archivedTo } },
    ]);
    expect(await said()).toEqual(before);
  });

  it("never parts a call from its results, and keeps a few more for it", async () => {
    await bench.seed(key, turns(5));
    await bench.submit(key, compact("c1", 2, "command"));
    await bench.invoke(key);
    expect((await bench.live(key)).map(({ role }) => role)).toEqual(["user", "assistant", "toolResult", "assistant"]);
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
  ])("leaves %s as it is", async (_what, before, keep, kept) => {
    await bench.seed(key, before);
    await bench.submit(key, compact("c1", keep));
    await bench.invoke(key);
    expect(await bench.live(key)).toEqual(before);
    expect(model.requests).toEqual([]);
    expect(answers()).toMatchObject([{ payload: { ok: true, trimmedMessages: 0, keptMessages: kept } }]);
    expect(await bench.state(key)).toMatchObject({ inbox: [] });
  });

  it("never leaves a conversation larger than it was", async () => {
    reply = () => ({ text: `<summary>${"long ".repeat(500)}</summary>` });
    const before = Array.from({ length: 8 }, (_, i) => user(`m${i}`));
    await bench.seed(key, before);
    await bench.submit(key, compact("c1", 1));
    await bench.invoke(key);
    const live = await bench.live(key);
    expect(live).toHaveLength(2);
    expect(textOf(live[0]!).length).toBeLessThan(7 * 42);
  });

  it("gives parts of the same moment names of their own", async () => {
    await bench.seed(key, turns(10), { compactedAt: Date.now() + 3_600_000 } as Partial<SessionState>);
    await bench.submit(key, compact("c1", 20));
    await bench.submit(key, compact("c2", 4));
    await bench.invoke(key);
    expect(await bench.parts(key)).toHaveLength(2);
    expect(await said()).toEqual(turns(10));
  });
});

describe("a compaction whose process dies", () => {
  /** Runs until it is done: killed after `left` calls at first, then as often as it takes. */
  async function revive(left: number): Promise<Life> {
    const life: Life = { left, calls: [] };
    if (await bench.invoke(key, life)) return life;
    for (let tries = 0; tries < 5; tries++) {
      await bench.invoke(key, immortal());
      const { run, inbox, owner } = await bench.state(key);
      if (!run && inbox.length === 0 && owner === undefined) return life;
    }
    throw new Error("it is never done");
  }

  async function checkDone(expected: Message[], left: number): Promise<void> {
    const where = `killed after ${left} calls`;
    const after = await bench.state(key);
    expect(after, where).not.toHaveProperty("compacting");
    expect(after, where).not.toHaveProperty("clearFrom");
    const all = await said();
    expect(all.map(textOf), where).toEqual(expected.map(textOf));
    expect(await bench.parts(key), where).toHaveLength(1);
    expect((await memories()).match(/### Extracted/g), where).toHaveLength(1);
    const items = await bench.items(key);
    expect(items, where).toHaveLength(after.head - after.first + 1);
    expect(readSummaryMessage((await bench.live(key))[0]), where).toBeDefined();
  }

  it("after any of its AWS calls ends as if it had not, in the middle of a run", async () => {
    let said = 0;
    reply = (request) =>
      isReading(request)
        ? { text: `<summary>Summary ${++said}</summary><memories>- memory ${said}</memories>` }
        : { text: "the answer" };
    const before = turns(24, 800);
    for (let left = 1; ; left++) {
      key = `agent:run${left}:main`;
      await bench.seed(key, before);
      await bench.submit(key, message("m1", "and now?"));
      const { calls } = await revive(left);
      await checkDone([...before, user("and now?"), assistant("the answer")], left);
      if (calls.length < left) {
        expect(left).toBeGreaterThan(20);
        break;
      }
    }
  }, 120_000);

  it("after any of its AWS calls ends as if it had not, on request", async () => {
    const before = turns(6);
    for (let left = 1; ; left++) {
      key = `agent:asked${left}:main`;
      await bench.seed(key, before);
      await bench.submit(key, compact("c1", 4));
      bench.posted.length = 0;
      const { calls } = await revive(left);
      await checkDone(before, left);
      const results = bench.posted.map(({ frame }) => (frame as { payload: object }).payload);
      expect(results.length, `killed after ${left} calls`).toBeGreaterThan(0);
      for (const one of results) expect(one).toMatchObject({ trimmedMessages: 20, keptMessages: 4 });
      if (calls.length < left) break;
    }
  }, 120_000);

  it("again and again while the model is asked goes on without a summary", async () => {
    const before = turns(24, 800);
    await bench.seed(key, before);
    await bench.submit(key, message("m1", "and now?"));
    reply = () => ({ hang: true });
    for (let death = 1; death <= 2; death++) {
      const life = immortal();
      const invoked = bench.invoke(key, life);
      await until(() => readings().length === death, "the summary is asked for");
      life.left = 0;
      // The lease is not renewed any more, and the call ends with the process.
      await state.table.get({ pk: "-", sk: "-" });
      for (const request of readings()) request.status ??= 0;
      void invoked.catch(() => {});
    }
    reply = () => ({ text: "the answer" });
    bench.later += 31_000;
    expect(await bench.invoke(key)).toBe(true);
    const { text } = readSummaryMessage((await bench.live(key))[0])!;
    expect(text).toContain("could not be summarized");
    expect(await said()).toHaveLength(98);
  });
});
