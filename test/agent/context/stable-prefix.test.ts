import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { nodeTools } from "../../../cli/node/tools/offered.ts";
import { messageTail } from "../../../functions/agent/context/message-tail.ts";
import { chooseRetention } from "../../../functions/agent/model/cache-retention.ts";
import { holdSession } from "../../../functions/agent/session-loop.ts";
import { bindPeer, dropConnection, forgetNode, openConnection } from "../../../shared/peers/registry.ts";
import { type Message, textOf } from "../../../shared/protocol/messages.ts";
import { recordResult } from "../../../shared/session/calls.ts";
import { startAnthropicServer } from "../../support/models/anthropic-server.ts";
import type { ModelServer, Reply } from "../../support/models/scripted-model.ts";
import { type MemoryState, startState } from "../../support/state.ts";
import { type Bench, openBench } from "../bench.ts";

const sessionKey = "agent:main:main";
const minute = 60_000;
const start = Date.parse("2026-11-23T09:00:30Z");

let model: ModelServer;
let state: MemoryState;
let bench: Bench;
let agent: ReturnType<Bench["agent"]>;
let replies: Reply[] = [];
let entries = 0;
beforeAll(async () => {
  model = await startAnthropicServer(() => replies.shift() ?? { text: "Fine." });
});
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: start });
  state = await startState();
  bench = openBench(state, { provider: "anthropic", id: "claude-sonnet-4-5", baseUrl: model.url });
  agent = bench.agent();
  await write("SOUL.md", "Be kind.");
  await connect("laptop-1");
});
afterEach(async () => {
  vi.useRealTimers();
  await state.close();
});
afterAll(() => model.close());

const write = (name: string, text: string) => agent.bucket.put(`agents/main/${name}`, Buffer.from(text));
const later = (minutes: number) => vi.setSystemTime(Date.now() + minutes * minute);

async function connect(
  connectionId: string,
  tools = nodeTools.map(({ definition }) => definition),
): Promise<void> {
  const record = { connectionId, openedAt: Date.now(), frames: 0 };
  await openConnection(state.table, record);
  await bindPeer(state.table, record, {
    ...{ id: "laptop", mode: "node", connectionId, tokenId: "t", version: "1", platform: "linux", tools },
    connectedAt: Date.now(),
  });
}

/** Sends a message and answers the node's calls. @returns the requests to the model */
async function say(text: string, channel?: string): Promise<object[]> {
  const sent = model.requests.length;
  const peer = { kind: "dm", id: "1" } as const;
  const origin = channel
    ? ({ kind: "channel", channel, accountId: "a", peer } as const)
    : ({ kind: "client" } as const);
  await bench.submit(sessionKey, { id: `e${++entries}`, at: Date.now(), kind: "message", text, origin });
  for (;;) {
    await holdSession(agent, sessionKey, () => 900_000);
    const { run } = await bench.state(sessionKey);
    if (!run) break;
    for (const callId of Object.keys(run.pending)) {
      const address = { sessionKey, runId: run.runId, step: run.step, callId };
      await recordResult(state, address, "laptop", { result: "ok" }, Date.now());
    }
    later(2);
  }
  return model.requests.slice(sent).map(({ body }) => body as object);
}

/** The blocks of a request in the order of Anthropic's prefix: tools, system, messages. */
function blocks(body: object): string[] {
  const { tools, system, messages } = body as Record<string, { role?: string; content?: unknown }[]>;
  const said = messages!.flatMap(({ role, content }) => [content].flat().map((block) => ({ role, block })));
  return [...tools!, ...system!, ...said].map((block) =>
    JSON.stringify(block, (key, value) => (key === "cache_control" ? undefined : value)),
  );
}

const lastText = (body: object) => blocks(body).at(-1)!;
const isPrefix = (before: object, after: object) =>
  expect(blocks(after).slice(0, blocks(before).length)).toEqual(blocks(before));

describe("while the provider's cache is warm, a request starts with the whole one before", () => {
  it("after a minute, from another channel, with a memory and a changed file", async () => {
    const [first] = await say("hello");
    later(2);
    const [second] = await say("and on the way?", "telegram");
    isPrefix(first!, second!);
    expect(lastText(second!)).toContain("Now: Monday, 2026-11-23 09:02\\nChannel: telegram");
    later(2);
    replies = [
      { toolCalls: [{ name: "gsv__memory", arguments: { action: "remember", content: "Zoe likes tea" } }] },
    ];
    await say("remember: Zoe likes tea");
    await write("SOUL.md", "Be brief.");
    later(2);
    const [third] = await say("who are you?");
    isPrefix(second!, third!);
    expect(lastText(third!)).toContain("## Your Soul\\n\\nBe brief.");
    later(2);
    const [fourth] = await say("and now?");
    isPrefix(third!, fourth!);
    expect(lastText(fourth!)).not.toContain("Your Soul");
  });

  it("when a node leaves and returns; a call to it fails at once and says since when", async () => {
    const [first] = await say("hello");
    await dropConnection(state.table, "laptop-1", Date.now());
    later(2);
    replies = [{ toolCalls: [{ name: "laptop__Bash", arguments: { command: "ls" } }] }];
    const [second] = await say("list my files");
    isPrefix(first!, second!);
    expect(lastText(second!)).toContain("Machines: laptop (not connected since 2026-11-23 09:00)");
    const result = (await bench.live(sessionKey)).find(({ role }) => role === "toolResult");
    expect(textOf(result!)).toContain("laptop is not connected since 2026-11-23 09:00");
    await connect("laptop-2");
    const [third] = await say("again");
    isPrefix(second!, third!);
    expect(lastText(third!)).toContain("Machines: laptop\\n");
  });

  it("over 40 tool steps whose clock crosses an hour", async () => {
    const calls = [{ name: "laptop__Bash", arguments: { command: "make" } }];
    replies = Array.from({ length: 40 }, () => ({ toolCalls: calls }));
    const sent = await say("build it");
    expect(sent).toHaveLength(41);
    for (const [index, body] of sent.slice(1).entries()) isPrefix(sent[index]!, body);
  });

  it("on another instance of the function", async () => {
    const [first] = await say("hello");
    await write("SOUL.md", "Be brief.");
    agent = bench.agent();
    later(1);
    isPrefix(first!, (await say("again"))[0]!);
  });
});

describe("the prompt is assembled again", () => {
  const system = (body: object) => JSON.stringify((body as { system: unknown }).system);

  it("when the cache has expired, after five minutes or the hour that was asked for", async () => {
    await say("hello");
    await write("SOUL.md", "Be brief.");
    later(6);
    expect(system((await say("again"))[0]!)).toContain("Be brief.");
  });

  it("at once when the provider is asked to cache nothing", async () => {
    bench.configuration.model.cacheRetention = "none";
    await say("hello");
    await write("SOUL.md", "Be brief.");
    later(1);
    expect(system((await say("again"))[0]!)).toContain("Be brief.");
  });

  it("at once when the base prompt changes, and without the tools of a node that was forgotten", async () => {
    await say("hello");
    bench.configuration.systemPrompt = "You are Ada.";
    await dropConnection(state.table, "laptop-1", Date.now());
    await forgetNode(state.table, { id: "laptop", connectionId: "laptop-1" });
    later(1);
    const [body] = await say("again");
    expect(system(body!)).toContain("You are Ada.");
    expect(JSON.stringify(body)).not.toContain("laptop__Bash");
  });

  it("without the tools of a node that left longer ago than nodes.keepOfferedHours", async () => {
    await dropConnection(state.table, "laptop-1", Date.now());
    later(24 * 60 - 1);
    expect(JSON.stringify(await say("hello"))).toContain("laptop__Bash");
    later(2);
    expect(JSON.stringify(await say("hello"))).not.toContain("laptop__Bash");
  });
});

describe("the end of a message", () => {
  const prompt = (soul: string, memories = "- a") =>
    `base\n\n---\n\n## Your Soul\n\n${soul}\n\n---\n\n## Long-Term Memory\n\n${memories}\n\n---\n\n## Runtime\n\n- Machines: pi\n`;
  const tail = (sent: string, current: string, ...told: string[]) =>
    messageTail({
      ...{ now: start, timezone: "UTC", machines: "pi", sent, current },
      earlier: told.map((one): Message => ({ role: "user", content: "x", tail: one, timestamp: 1 })),
    });

  it("is the time alone when nothing has changed", () => {
    expect(tail(prompt("a"), prompt("a"))).toBe("<gateway>\nNow: Monday, 2026-11-23 09:00\n</gateway>");
  });

  it("has a changed file once, and again when it changes back", () => {
    const changed = tail(prompt("a"), prompt("b"));
    expect(changed).toContain("## Your Soul\n\nb");
    expect(tail(prompt("a"), prompt("b"), changed)).not.toContain("Your Soul");
    expect(tail(prompt("a"), prompt("a"), changed)).toContain("## Your Soul\n\na");
    expect(tail(prompt("a"), prompt("").replace("## Your Soul", ""))).toContain("## Your Soul\n\n(empty)");
  });

  it("has the new lines of a list, and the name of a file that is too long", () => {
    const added = tail(prompt("a"), prompt("a", "- a\n- b"));
    expect(added).toContain("## Long-Term Memory: added\n- b");
    expect(added).not.toContain("- a");
    expect(tail(prompt("a"), prompt("a", "- a\n- b"), added)).not.toContain("- b");
    const long = tail(prompt("a"), prompt("x".repeat(3000)));
    expect(long).toContain("SOUL.md has changed");
    expect(tail(prompt("a"), prompt("x".repeat(3000)), long)).not.toContain("Your Soul");
    expect(tail(prompt("a"), prompt("y".repeat(3000)), long)).toContain("SOUL.md has changed");
    const memories = prompt("a", `- a\n${"- b b b b b b b b b b b b\n".repeat(99)}- ${"c".repeat(2000)}`);
    const many = tail(prompt("a"), memories);
    expect(many).toContain("MEMORY.md has changed");
    expect(tail(prompt("a"), memories, many)).not.toContain("MEMORY.md");
  });

  it("has a change below a rule in a file, and no tag of its own from a file", () => {
    const ruled = (text: string) => prompt(`a\n\n---\n\n${text}`);
    expect(tail(ruled("old"), ruled("new"))).toContain("new");
    const tagged = prompt("b</gateway>c", "- <gateway> is a tag");
    const changed = tail(prompt("a"), tagged);
    expect(changed.match(/<\/gateway>/g)).toHaveLength(1);
    expect(tail(prompt("a"), tagged, changed)).not.toContain("## ");
  });
});

describe("the lifetime of the cache", () => {
  const claude = { provider: "anthropic", id: "claude-sonnet-4-5" };
  const spoken = (...gaps: number[]) => {
    let at = 0;
    const context = { prompt: "", active: "", model: "" };
    const replied = [0, ...gaps].map((gap): Message => {
      at += gap * minute;
      return { role: "assistant", content: [], context, timestamp: at };
    });
    return { replied, at };
  };
  const chosen = (...gaps: number[]) => {
    const { replied, at } = spoken(...gaps);
    return chooseRetention("auto", claude, replied, at + minute);
  };

  it("is long when the gaps are between five minutes and an hour, and short otherwise", () => {
    expect(chosen(20, 30, 10)).toBe("long");
    expect(chosen(1, 2, 1)).toBe("short");
    expect(chosen(180, 240, 200)).toBe("short");
    expect(chooseRetention("auto", claude, [], 0)).toBe("short");
  });

  it("is the configured one, and short where a provider has one price", () => {
    const { replied, at } = spoken(20, 30, 10);
    expect(chooseRetention("none", claude, replied, at)).toBe("none");
    expect(chooseRetention("auto", { provider: "openai", id: "gpt-5" }, replied, at)).toBe("short");
  });
});
