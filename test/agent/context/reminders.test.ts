import "../../../functions/agent/self/remind.ts";
import "../../../shared/memory/memories.ts";
import "../../../shared/recall/recall.ts";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Agent } from "../../../functions/agent/agent.ts";
import { holdSession } from "../../../functions/agent/session-loop.ts";
import type { UserMessage } from "../../../shared/protocol/messages.ts";
import type { InboxEntry } from "../../../shared/session/inbox-entry.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer } from "../../support/models/scripted-model.ts";
import { type State, startState } from "../../support/state.ts";
import { type Bench, openBench } from "../bench.ts";

const main = "agent:main:main";
const dm = (id: string) => ({
  ...{ kind: "channel", channel: "telegram", accountId: "default" },
  peer: { kind: "dm", id },
});
const june = Date.parse("2026-06-03T10:00:00Z");
const november = Date.parse("2026-11-20T18:00:00Z");
let state: State;
let model: ModelServer;
let bench: Bench;
let warm: Agent;
let ids = 0;

beforeAll(async () => {
  model = await startOpenAiServer(({ turns }) => {
    const [first = ""] = (turns.at(-1)?.text ?? "").split("\n");
    if (turns.at(-1)?.role === "tool" || !first.startsWith("call ")) return { text: "noted" };
    const [, name = "", json = "{}"] = /^call (\S+) (.*)$/.exec(first) ?? [];
    return { toolCalls: [{ name, arguments: json }] };
  });
});
beforeEach(async () => {
  state = await startState();
  bench = openBench(state, { provider: "openai-compatible", id: "m", baseUrl: model.url });
  bench.configuration.compaction.extractMemories = false;
  bench.configuration.memory.autoRecall = true;
  warm = bench.agent();
  at(june);
});
afterAll(() => model.close());

const at = (time: number) => {
  bench.later = time - Date.now();
};

async function submit(entry: object, sessionKey = main, origin: object = { kind: "client" }): Promise<void> {
  await bench.submit(sessionKey, { id: `m${++ids}`, at: warm.now(), origin, ...entry } as InboxEntry);
  await holdSession(warm, sessionKey, () => 900_000);
}
/** Says something, and returns what the model received as the newest message. */
async function say(text: string, sessionKey = main, origin?: object, more: object = {}): Promise<string> {
  await submit({ kind: "message", text, ...more }, sessionKey, origin);
  return sentText(-1);
}
/** The text of a message of the newest request, as it was sent. */
function sentText(place: number): string {
  const { messages = [] } = (model.requests.at(-1)?.body ?? {}) as { messages?: { content: unknown }[] };
  const content = messages.at(place)?.content;
  return typeof content === "string"
    ? content
    : (content as { text: string }[]).map(({ text }) => text).join("\n");
}
const reset = (sessionKey = main) => submit({ kind: "reset", via: "method" }, sessionKey);
const note = (text: string, path = "memory/2026-05-03.md", origins?: string) =>
  state.bucket.put(`agents/main/${path}`, text, origins ? { metadata: { origins } } : {});
const fact = "My sister's dog Bruno must not eat chicken, he is allergic.";
const question = "What can Bruno not eat?";

describe("a message in the owner's conversation", () => {
  it("brings from November's terminal what June's Telegram said, without a tool", async () => {
    await say(fact, main, dm("7"));
    await reset();
    at(november);
    const asked = await say(question);
    expect(asked).toMatch(
      /From earlier.*\n- 2026-06-03 10:00, telegram, user, message 1 of [0-9a-f-]{36}: My sister's dog Bruno/,
    );
    expect(model.requests.at(-1)?.turns.some(({ role }) => role === "tool")).toBe(false);
  });

  it("finds it after a reset in the same invocation, and in a function that has just started", async () => {
    bench.configuration.session.defaultResetPolicy = { mode: "daily", atHour: 4 };
    await say(fact, main, dm("7"));
    at(november);
    expect(await say(question)).toContain("he is allergic");
    warm = bench.agent();
    at(november + 86_400_000);
    expect(await say(question)).toContain("he is allergic");
  });

  it("is stored with its lines, so that later requests repeat them, and does not bring them again", async () => {
    await note("- Tina lives in Basel\n");
    await say("Where does Tina live?");
    const [stored] = (await bench.live(main)) as UserMessage[];
    expect(stored?.tail).toMatch(
      /\n- 2026-05-03, memory\/2026-05-03.md, memory [0-9a-f]{16}: Tina lives in Basel\n/,
    );
    const before = sentText(1);
    at(june + 60_000);
    expect(await say("And where does Tina live in winter?")).not.toContain("Basel");
    expect([before, sentText(1)]).toEqual([expect.stringContaining("Basel"), before]);
  });

  it("brings nothing that the prompt contains, and nothing about something unknown", async () => {
    at(november);
    await note("- Zoe is allergic to nuts\n", "MEMORY.md");
    await note("- Ada parks at the harbour\n", "memory/2026-05-01.md");
    await say("I like kayaks");
    await reset();
    for (const text of [
      "What is Zoe allergic to?",
      "What is the capital of Mongolia?",
      "Which car does Ada drive?",
      "Hello!",
      "I like kayaks",
      "thanks, that is all for today",
    ])
      expect(await say(text), text).not.toContain("From earlier");
  });

  it("brings at most five lines and about 600 tokens", async () => {
    for (let i = 0; i < 8; i++)
      await note(`- The harbour of ${i}${i}: ${"long and far ".repeat(40)}\n`, `memory/2026-05-${10 + i}.md`);
    const asked = await say("Tell me of the harbour");
    const lines = asked.split("\n").filter((line) => line.startsWith("- 20"));
    expect(lines).toHaveLength(5);
    expect(Buffer.byteLength(lines.join("\n"))).toBeLessThan(1800);
    bench.configuration.memory.autoRecall = false;
    expect(await say("Tell me of the harbour's colours")).not.toContain("From earlier");
  });

  it("brings nothing that was forgotten, deleted, said in private, or asked only", async () => {
    await say("Max takes 20 mg of fluoxetine each morning, since the spring");
    await say("Does Max take aspirin?");
    await reset();
    await note("- Max takes 20 mg of fluoxetine\n- Ada lives in Bergen\n");
    at(november);
    const told = await say("How much fluoxetine does Max take?");
    expect(told).toContain("since the spring");
    expect(told).not.toContain("aspirin");
    const memories = await warm.memories();
    const use = { agentId: "main", audience: "main", now: warm.now(), timezone: "UTC" } as const;
    const [known] = await memories.recall(use, "fluoxetine", 1);
    await memories.forget(use, known?.id ?? "");
    await reset();
    expect(await say("How much fluoxetine does Max take?")).not.toContain("From earlier");
    await submit({ kind: "reset", via: "method", private: true });
    await say("The surprise for Ada is a kayak");
    await reset();
    expect(await say("What is the surprise for Ada?")).not.toContain("kayak");
  });

  it("is not asked about for a job, and counts as no recall for dreaming", async () => {
    bench.configuration.dreaming.enabled = true;
    await note("- Tina lives in Basel\n");
    const task = { kind: "cron", jobId: "j", at: june, queuedAt: june, summary: "j" };
    expect(await say("Where does Tina live?", main, undefined, { task })).not.toContain("Basel");
    expect(await say("Where does Tina live?")).toContain("Basel");
    expect(await state.table.query({ pk: "RECALL#main" })).toEqual([]);
  });

  it("goes on without lines when the reads fail or take too long", async () => {
    await note("- Tina lives in Basel\n");
    const { list } = state.bucket;
    const notes = "agents/main/memory/";
    state.bucket.list = (prefix, ...rest) =>
      prefix === notes ? new Promise(() => {}) : list(prefix, ...rest);
    warm = bench.agent();
    expect(await say("Where does Tina live?")).toMatch(/^Where[\s\S]*<gateway>/);
    state.bucket.list = (prefix, ...rest) => {
      if (prefix === notes) throw new Error("no list");
      return list(prefix, ...rest);
    };
    warm = bench.agent();
    expect(await say("Where does Tina live?")).not.toContain("Basel");
    state.bucket.list = list;
    warm = bench.agent();
    expect(await say("Where does Tina live?")).toContain("Basel");
  });
});

describe("words of others", () => {
  it("are not brought, and those of the owner's machines are recorded as read", async () => {
    await note("- The boiler code is 4711\n", "memory/2026-05-01.md", "web:evil.example");
    await note("- The shed key hangs left\n", "memory/2026-05-02.md", "machine:laptop");
    expect(await say("What is the boiler code?")).not.toContain("4711");
    expect((await bench.state(main)).origins).toEqual([]);
    expect(await say("Where does the shed key hang?")).toContain("hangs left");
    expect((await bench.state(main)).origins).toEqual(["machine:laptop"]);
  });

  it("of guests and groups are not brought to the owner, also as their own messages", async () => {
    const group = { ...dm("-100"), peer: { kind: "group", id: "-100" } };
    await say("the code of the shed is 99", "agent:main:telegram:group:-100", group);
    await say("the code of the cellar is 98", "agent:main:telegram:guest:gail", dm("gail"), {
      role: "guest",
    });
    await reset("agent:main:telegram:group:-100");
    await reset("agent:main:telegram:guest:gail");
    expect(await say("What is the code of the shed?")).not.toContain("From earlier");
    expect(await say("What is the code of the cellar?")).not.toContain("From earlier");
  });
});

describe("guests and groups", () => {
  it("are sent none of twelve secrets of the owner", async () => {
    const things = "safe garage cellar attic boat cabin piano clock vault shed barn mill".split(" ");
    const secret = (thing: string, i: number) => `The code of the ${thing} is 47${10 + i}`;
    await note(
      things
        .slice(0, 3)
        .map((thing, i) => `- ${secret(thing, i)}\n`)
        .join(""),
      "MEMORY.md",
    );
    await note(
      things
        .slice(3, 6)
        .map((thing, i) => `- ${secret(thing, i + 3)}\n`)
        .join(""),
      "USER.md",
    );
    await note(
      things
        .slice(6, 9)
        .map((thing, i) => `- ${secret(thing, i + 6)}\n`)
        .join(""),
    );
    for (const [i, thing] of things.entries()) if (i >= 9) await say(secret(thing, i));
    await reset();
    at(november);
    const group = { ...dm("-100"), peer: { kind: "group", id: "-100" } };
    const before = model.requests.length;
    const owner: string[] = [];
    for (const thing of things) {
      const asked = `What is the code of the ${thing}?`;
      await say(asked, "agent:main:telegram:group:-100", group);
      await say(asked, "agent:main:telegram:guest:gail", dm("gail"), { role: "guest" });
      await say(asked, "agent:main:dm:gail", dm("gail"), { role: "guest" });
    }
    expect(model.requests).toHaveLength(before + 36);
    expect(JSON.stringify(model.requests.slice(before).map(({ body }) => body))).not.toMatch(/47\d\d/);
    for (const thing of things.slice(6)) owner.push(await say(`What is the code of the ${thing}?`));
    expect(owner.map((text) => /47\d\d/.test(text))).toEqual(things.slice(6).map(() => true));
  });
});
