import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { holdSession } from "../../../functions/agent/session-loop.ts";
import { memoryId } from "../../../shared/memory/memory-line.ts";
import { type Message, textOf } from "../../../shared/protocol/messages.ts";
import type { InboxEntry } from "../../../shared/session/inbox-entry.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer } from "../../support/models/scripted-model.ts";
import { type State, startState } from "../../support/state.ts";
import { type Bench, openBench } from "../bench.ts";

const main = "agent:main:main";
const november = Date.parse("2026-11-20T18:00:00Z");
const bern = "Tina lives in Bern";
const basel = "Tina lives in Basel";
let state: State;
let model: ModelServer;
let bench: Bench;
/** What the model extracts from a conversation. */
let extract: (asked: string) => string;
let ids = 0;

beforeAll(async () => {
  model = await startOpenAiServer(({ turns }) => {
    const text = turns.at(-1)?.text ?? "";
    if (text.includes("<conversation>"))
      return { text: `<summary>They talked.</summary><memories>${extract(text)}</memories>` };
    const [, name = "", json = "{}"] = /^call (\S+) (.*)$/.exec(text.split("\n")[0] ?? "") ?? [];
    return turns.at(-1)?.role === "tool" || name === ""
      ? { text: "noted" }
      : { toolCalls: [{ name, arguments: json }] };
  });
});
beforeEach(async () => {
  state = await startState();
  bench = openBench(state, { provider: "openai-compatible", id: "m", baseUrl: model.url });
  bench.later = november - Date.now();
  extract = () => "";
});
afterAll(() => model.close());

async function submit(entry: object, sessionKey = main, origin: object = { kind: "client" }): Promise<void> {
  const now = bench.agent().now();
  await bench.submit(sessionKey, { id: `m${++ids}`, at: now, origin, ...entry } as InboxEntry);
  await holdSession(bench.agent(), sessionKey, () => 900_000);
}
const say = (text: string, sessionKey = main, origin?: object) =>
  submit({ kind: "message", text }, sessionKey, origin);
const reset = (sessionKey = main) => submit({ kind: "reset", via: "method" }, sessionKey);
const june = "memory/2026-06-03.md";
const note = (text: string, origins?: string) =>
  state.bucket.put(`agents/main/${june}`, text, origins ? { metadata: { origins } } : {});
const read = async (path: string) =>
  Buffer.from((await state.bucket.get(`agents/main/${path}`))?.body ?? "").toString();
const today = () => read("memory/2026-11-20.md");
const memories = () => bench.agent().memories();
const record = async (text: string) => (await memories()).ledger.find("main", memoryId(text));

interface Hit {
  text: string;
  ended?: string;
}
/** The hits of `gsv__recall`, as the model receives them. */
async function recall(...queries: string[]): Promise<Hit[]> {
  await say(`call gsv__recall ${JSON.stringify({ queries })}`, "agent:main:asking");
  const results = (await bench.live("agent:main:asking")) as Message[];
  return JSON.parse(textOf(results.findLast(({ role }) => role === "toolResult") as Message)).result.hits;
}

describe("a conversation's end", () => {
  it("shows the model the nearest known memories, and the date of each message", async () => {
    await note(
      `- ${bern}\n${Array.from({ length: 40 }, (_, i) => `- Shop ${i} opens at nine`).join("\n")}\n`,
    );
    let asked = "";
    extract = (text) => {
      asked = text;
      return "";
    };
    await say("Tina has moved, she lives elsewhere now. Remind me tomorrow which shop opens.");
    await reset();
    expect(asked).toContain(`${memoryId(bern)} 2026-06-03 ${bern}\n`);
    expect(asked.match(/^[0-9a-f]{16} /gm)).toHaveLength(20);
    expect(asked).toContain("[user, Friday 2026-11-20 18:00]\nTina has moved");
  });

  it("lets a fact replace another, which is shown as ended, and can be restored", async () => {
    await note(`# June\n\n- ${bern}\n- Max takes 20 mg of fluoxetine\n`);
    await say("Tina moved to Basel. Max takes 40 mg of fluoxetine now.");
    extract = () =>
      `- replaces ${memoryId(bern)}: ${basel}\n- replaces ${memoryId("Max takes 20 mg of fluoxetine")}: Max takes 40 mg of fluoxetine`;
    await reset();
    expect(await read(june)).toBe(
      `# June\n\n- ~~${bern} (until 2026-11)~~\n- ~~Max takes 20 mg of fluoxetine (until 2026-11)~~\n`,
    );
    expect(await today()).toContain(`\n- ${basel}\n- Max takes 40 mg of fluoxetine\n`);
    const lives = await recall("Where does Tina live now?");
    const noted = lives.filter(({ text }) => text.startsWith("Tina lives"));
    expect(noted.map(({ text, ended }) => [text, ended])).toEqual([
      [basel, undefined],
      [bern, "2026-11"],
    ]);
    expect((await recall("How much fluoxetine does Max take?"))[0]?.text).toContain("40 mg");
    expect(await record(bern)).toBeUndefined();
    expect(await (await memories()).allow("main", memoryId(bern))).toEqual([june]);
    expect(await read(june)).toContain(`- ${bern}\n`);
    expect((await recall("Where does Tina live now?")).every(({ ended }) => ended === undefined)).toBe(true);
  });

  it("ends a fact that no longer holds, and a compaction does the same", async () => {
    await note(`- ${bern}\n- Ada plays the cello\n`);
    extract = (text) => (text.includes("cello any more") ? `- ended ${memoryId("Ada plays the cello")}` : "");
    await say(`Ada does not play the cello any more ${"and so on ".repeat(200)}`);
    await say("Indeed");
    await submit({ kind: "compact", keep: 1, via: "method" });
    expect(await read(june)).toBe(`- ${bern}\n- ~~Ada plays the cello (until 2026-11)~~\n`);
    expect(await today()).toBe("");
  });

  it("records a fact that was said again as said here too, and the best kind counts", async () => {
    const group = "agent:main:telegram:group:-100";
    const room = {
      kind: "channel",
      channel: "telegram",
      accountId: "default",
      peer: { kind: "group", id: "-100" },
    };
    extract = () => `- ${bern}`;
    await say(bern, group, room);
    await reset(group);
    expect(await record(bern)).toMatchObject({ kind: "group" });
    await note(`- ${bern}\n`);
    extract = (text) => (text.includes(memoryId(bern)) ? `- same ${memoryId(bern)}` : "- lost");
    await say("Tina lives in Bern, you know");
    await reset();
    const { kind, others, sessionKey } = (await record(bern)) ?? {};
    expect([kind, sessionKey, others?.map((one) => one.kind)]).toEqual(["main", main, ["group"]]);
    expect(await today()).toBe("");
    await say("She still lives in Bern, Tina");
    await reset();
    expect((await record(bern))?.others).toHaveLength(2);
  });
});

describe("a malformed answer about known memories", () => {
  const other = memoryId("something else");
  it.each([
    ["an unknown id", `- replaces ${other}: ${basel}`],
    ["no id", `- replaces: ${basel}`],
    ["a part of an id", `- Replaces ${memoryId(bern).slice(0, 8)}: ${basel}`],
    ["the word new", `- new: ${basel}`],
    ["an ended one without id", `- ended ${other}\n- ended: \n- same\n- ${basel}`],
    ["a sentence that begins so", `- ${basel}\n- Ended the lease in May\n- Same old story with the boiler`],
    ["no list", `replaces ${other}: ${basel}`],
  ])("is a new fact, and ends nothing: %s", async (_what, answer) => {
    await note(`- ${bern}\n`);
    extract = () => answer;
    await say("Where Tina lives has changed");
    await reset();
    expect(await read(june)).toBe(`- ${bern}\n`);
    expect(
      (await (await memories()).files.read("main", "memory/2026-11-20.md")).map(({ text }) => text),
    ).toEqual(
      [basel, "Ended the lease in May", "Same old story with the boiler"].slice(
        0,
        answer.includes("lease") ? 3 : 1,
      ),
    );
  });

  it("ends no memory that the model was not shown", async () => {
    await note(`- ${bern}\n- zebra crossings are white\n`);
    extract = () => `- ended ${memoryId("zebra crossings are white")}`;
    await say("Where Tina lives has changed");
    await reset();
    expect(await read(june)).not.toContain("~~");
  });

  it("does not end a memory when its replacement was forgotten", async () => {
    const agent = await memories();
    const use = { agentId: "main", audience: "main", now: november, timezone: "UTC" } as const;
    const { id } = await agent.remember(use, basel, { kind: "main", by: "client" });
    await agent.forget(use, id);
    await note(`- ${bern}\n`);
    extract = () => `- replaces ${memoryId(bern)}: ${basel}`;
    await say("Tina moved to Basel");
    await reset();
    expect(await read(june)).toBe(`- ${bern}\n`);
  });
});

describe("a conversation with words of others", () => {
  it("ends nothing, is shown no memories, and leaves facts of the kind mixed", async () => {
    await note(`- ${bern}\n`);
    await bench.agent().workspace.write("main", "page.md", "Tina lives in Basel, ha!", ["web:evil.example"]);
    let asked = "";
    extract = (text) => {
      asked = text;
      return `- ended ${memoryId(bern)}\n- ${basel}`;
    };
    await say('call gsv__ReadFile {"path":"page.md"}');
    await reset();
    expect(asked).not.toContain("<known>");
    expect(await read(june)).toBe(`- ${bern}\n`);
    expect(await record(basel)).toMatchObject({ kind: "mixed", origins: ["web:evil.example"] });
  });
});
