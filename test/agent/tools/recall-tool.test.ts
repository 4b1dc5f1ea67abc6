import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { holdSession } from "../../../functions/agent/session-loop.ts";
import { listRecalls } from "../../../shared/dreaming/recall-events.ts";
import { type Message, textOf } from "../../../shared/protocol/messages.ts";
import type { InboxEntry } from "../../../shared/session/inbox-entry.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer } from "../../support/models/scripted-model.ts";
import { type State, startState } from "../../support/state.ts";
import { type Bench, openBench } from "../bench.ts";

const main = "agent:main:main";
const group = "agent:main:telegram:group:-100";
let state: State;
let model: ModelServer;
let bench: Bench;
let ids = 0;

beforeAll(async () => {
  model = await startOpenAiServer(({ turns }) => {
    const text = turns.at(-1)?.text ?? "";
    if (turns.at(-1)?.role === "tool" || !text.includes("call ")) return { text: "heard" };
    return { toolCalls: [{ name: "gsv__recall", arguments: text.split("\n")[0]?.slice(5) ?? "" }] };
  });
});
beforeEach(async () => {
  state = await startState();
  bench = openBench(state, { provider: "openai-compatible", id: "m", baseUrl: model.url });
  bench.configuration.compaction.extractMemories = false;
});
afterAll(() => model.close());

async function submit(entry: object, sessionKey = main): Promise<void> {
  const origin =
    sessionKey === group
      ? { kind: "channel", channel: "telegram", accountId: "default", peer: { kind: "group", id: "-100" } }
      : { kind: "client" };
  await bench.submit(sessionKey, {
    id: `m${++ids}`,
    at: bench.agent().now(),
    origin,
    ...entry,
  } as InboxEntry);
  await holdSession(bench.agent(), sessionKey, () => 900_000);
}
const say = (text: string, sessionKey = main) => submit({ kind: "message", text }, sessionKey);
const reset = () => submit({ kind: "reset", via: "method" });

interface Hit {
  memory?: string;
  file?: string;
  session_id?: string;
  message?: number;
  date: string;
  source?: string;
  text: string;
}

async function recall(
  args: { queries: string[]; [name: string]: unknown },
  sessionKey = main,
): Promise<Hit[]> {
  await say(`call ${JSON.stringify(args)}`, sessionKey);
  const result = (await bench.live(sessionKey)).findLast(({ role }) => role === "toolResult") as Message;
  return JSON.parse(textOf(result)).result.hits;
}
const note = (text: string, path = "memory/2026-06-03.md") => state.bucket.put(`agents/main/${path}`, text);

describe("gsv__recall", () => {
  it("finds nine facts in every form and file, and nothing about something unknown", async () => {
    const facts: [text: string, path: string, question: string][] = [
      ["Zoe is allergic to nuts.\n", "memory/2026-06-01.md", "Zoe's allergy?"],
      ["1. The boiler was repaired by Olsen\n", "memory/2026-06-02.md", "Who repaired the boiler?"],
      ["+ Ada parks at the harbour\n", "memory/2026-06-03.md", "Where does Ada park?"],
      ["- Trips\n    - Lisbon in April with Mara\n", "memory/2026-06-04.md", "When is the Lisbon trip?"],
      ["| who | birthday |\n|--|--|\n| Tina | 4 May |\n", "memory/2026-06-05.md", "Tina birthday"],
      ["* The wifi password hangs in the hall\n", "memory/2026-06-06.md", "wifi password"],
      ["Max takes 40 mg\nof fluoxetine.\n", "memory/2026-06-07.md", "How much fluoxetine?"],
      ["The owner prefers short answers.\n", "USER.md", "Which answers does the owner prefer?"],
      ["## People\n\n- Yusuf is the gardener\n", "MEMORY.md", "Who is the gardener?"],
    ];
    for (const [text, path] of facts) await note(text, path);
    for (const [, path, question] of facts) {
      const [first] = await recall({ queries: [question] });
      expect(first, question).toMatchObject({ file: path, memory: expect.stringMatching(/^[0-9a-f]{16}$/) });
    }
    expect(await recall({ queries: ["What is the capital of Mongolia?"] })).toEqual([]);
  });

  it("returns a message once, with the messages around it, from archives and live conversations", async () => {
    await say("How is Max?");
    await say("He eats again, the vet gave him Carprofen");
    await reset();
    await say("call the vet about Carprofen for Max tomorrow");
    const hits = await recall({ queries: ["Carprofen", "what did the vet give Max?"] });
    const archived = hits.find(({ message }) => message === 3);
    expect(archived?.text).toContain("assistant: heard\nuser: He eats again, the vet gave him Carprofen");
    expect(archived).toMatchObject({
      source: "main",
      date: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d$/),
    });
    const messages = hits.map(({ session_id, message }) => `${session_id} ${message}`);
    expect(new Set(messages).size).toBe(messages.length);
    const texts = hits.map(({ text }) => text).join("\n");
    expect(texts.split("He eats again")).toHaveLength(2);
  });

  it("returns only what was said or noted in the days asked for", async () => {
    await note("- The plumber comes at nine\n", "memory/2026-06-03.md");
    await note("- The plumber comes at noon\n", "memory/2026-07-03.md");
    const found = await recall({ queries: ["plumber"], from: "2026-07-01", to: "2026-07-31" });
    expect(found.map(({ text }) => text)).toEqual(["The plumber comes at noon"]);
  });

  it("returns at most 4,000 characters", async () => {
    for (let i = 0; i < 20; i++)
      await note(`- The harbour, part ${i}: ${"long ".repeat(80)}\n`, `memory/2026-05-${10 + i}.md`);
    const hits = await recall({ queries: ["harbour"], limit: 50 });
    expect(hits.length).toBeGreaterThan(5);
    expect(JSON.stringify(hits).length).toBeLessThanOrEqual(4100);
  });

  it("counts as a recall for dreaming what it shows, once for each question", async () => {
    bench.configuration.dreaming.enabled = true;
    await note("- Zoe is allergic to nuts\n- Zoe swims on Friday\n- Zoe's school is in Oslo\n");
    await recall({ queries: ["What is Zoe allergic to?", "Zoe nuts"] });
    const events = await listRecalls(state.table, "main", 0);
    expect(events.map(({ hits }) => hits.length)).toEqual([1, 1]);
  });

  it("finds in a group only what the group heard, and no memory", async () => {
    await note("- The code of the safe is 4711\n");
    await say("the code of the safe is 4712");
    await say("the code of the shed is 99", group);
    const found = JSON.stringify(await recall({ queries: ["code", "safe"] }, group));
    expect(found).toContain("99");
    expect(found).not.toMatch(/471[12]/);
    expect(JSON.stringify(await recall({ queries: ["code", "safe"] }))).toMatch(/4711.*4712|4712.*4711/);
  });

  it("does without the part that the settings turn off", async () => {
    await note("- The code of the safe is 4711\n");
    await say("the code of the safe is 4712");
    bench.configuration.memory.tool = false;
    expect(JSON.stringify(await recall({ queries: ["safe"] }))).not.toContain("4711");
    bench.configuration.memory = { ...bench.configuration.memory, tool: true, sessionLogs: false };
    expect(JSON.stringify(await recall({ queries: ["safe"] }))).not.toContain("4712");
  });
});
