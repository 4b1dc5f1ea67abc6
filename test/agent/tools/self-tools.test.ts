import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { memorySections } from "../../../functions/agent/self/self-report.ts";
import { holdSession } from "../../../functions/agent/session-loop.ts";
import { loadSweep } from "../../../shared/dreaming/load-sweep.ts";
import { type Message, textOf } from "../../../shared/protocol/messages.ts";
import type { InboxEntry } from "../../../shared/session/inbox-entry.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer } from "../../support/models/scripted-model.ts";
import { type State, startState } from "../../support/state.ts";
import { type Bench, openBench } from "../bench.ts";

let state: State;
let model: ModelServer;
let bench: Bench;
let ids = 0;

beforeAll(async () => {
  model = await startOpenAiServer((request) => {
    const text = request.turns.at(-1)?.text ?? "";
    if (request.turns.at(-1)?.role === "tool" || !text.includes("call ")) return { text: "heard" };
    const { name, ...args } = JSON.parse(text.slice(text.indexOf("call ") + 5));
    return { toolCalls: [{ name, arguments: JSON.stringify(args) }] };
  });
});
beforeEach(async () => {
  state = await startState();
  bench = openBench(state, { provider: "openai-compatible", id: "m", baseUrl: model.url });
  // With a separate scope a direct message is not the main conversation.
  bench.configuration.session.dmScope = "per-channel-peer";
  return () => state.close();
});
afterAll(() => model.close());

const put = (path: string, text: string) => state.bucket.put(`agents/main/${path}`, text);

/** The answer of a tool in a conversation: its result, or its error as text. */
async function ask(name: string, args: object = {}, sessionKey = "agent:main:main") {
  const role = sessionKey.includes(":guest:") ? { role: "guest" } : {};
  const entry = { id: `m${++ids}`, at: Date.now(), kind: "message", origin: { kind: "client" }, ...role };
  const text = `call ${JSON.stringify({ name, ...args })}`;
  await bench.submit(sessionKey, { ...entry, text } as InboxEntry);
  await holdSession(bench.agent(), sessionKey, () => 900_000);
  const result = (await bench.live(sessionKey)).findLast(
    (message) => message.role === "toolResult",
  ) as Message;
  const answer = textOf(result);
  return answer.startsWith('{"ok":true') ? JSON.parse(answer).result : answer;
}

const dm = "agent:main:telegram:dm:7";
const group = "agent:main:telegram:group:-100";
const guest = "agent:main:telegram:guest:9";

describe("gsv__who_am_i", () => {
  it("I19: returns id, model, workspace, the five fields and the beginning of SOUL.md", async () => {
    await put(
      "IDENTITY.md",
      "- **Name:** Kate\n- **Vibe:** warm but sharp\n- **Emoji:** 🐙\n- **Creature:** _(pick one)_\n",
    );
    await put("SOUL.md", "🐙".repeat(2049));
    expect(await ask("gsv__who_am_i")).toEqual({
      agent_id: "main",
      model: "openai-compatible/m",
      workspace_dir: "agents/main/",
      identity: { name: "Kate", creature: null, vibe: "warm but sharp", emoji: "🐙", avatar: null },
      soul_excerpt: `${"🐙".repeat(2048)}…`,
    });
    await put("SOUL.md", "x".repeat(2048));
    expect((await ask("gsv__who_am_i")).soul_excerpt).toBe("x".repeat(2048));
  });

  it("I19: returns null for a missing file", async () => {
    expect(await ask("gsv__who_am_i")).toMatchObject({
      workspace_dir: null,
      identity: null,
      soul_excerpt: null,
    });
  });

  it("I19: answers only the owner", async () => {
    await put("SOUL.md", "calm");
    expect((await ask("gsv__who_am_i", {}, dm)).soul_excerpt).toBe("calm");
    expect(await ask("gsv__who_am_i", {}, group)).toContain("several people read");
    expect(await ask("gsv__who_am_i", {}, guest)).toContain("Tool not found");
  });
});

describe("gsv__what_do_i_know", () => {
  it.each([
    ["an empty file", "", []],
    [
      "sections and their bullets",
      "# Title\n\n## Preferences\n- short answers\n- spanish  \n\n## Facts\nText.\n- lives in Madrid\n",
      [
        { heading: "Preferences", bullets: ["short answers", "spanish"] },
        { heading: "Facts", bullets: ["lives in Madrid"] },
      ],
    ],
    [
      "bullets before the first heading",
      "- orphan\n## Real\n- bullet",
      [{ heading: "Real", bullets: ["bullet"] }],
    ],
    [
      "asterisks, and carriage returns",
      "## H\r\n* one\r\n* two\r\n",
      [{ heading: "H", bullets: ["one", "two"] }],
    ],
    ["a heading without a name", "## A\n- a\n## \n- lost\n", [{ heading: "A", bullets: ["a"] }]],
    ["bullets that are indented or empty", "## A\n  - no\n- \n-no\n", [{ heading: "A", bullets: [] }]],
  ])("I20: reads %s", (_, text, sections) => {
    expect(memorySections(text)).toEqual(sections);
  });

  it("I20: shows ten bullets of a section and counts the others", async () => {
    const bullets = Array.from({ length: 12 }, (_, i) => `- b${i}`).join("\n");
    await put("MEMORY.md", `## People\n${bullets}\n## Places\n- Oslo\n`);
    const { sections, truncated } = await ask("gsv__what_do_i_know");
    expect(sections[0]).toMatchObject({ heading: "People", extra_bullets: 2 });
    expect(sections[0].bullets).toHaveLength(10);
    expect(sections[1]).toEqual({ heading: "Places", bullets: ["Oslo"], extra_bullets: null });
    expect(truncated).toBe(false);
  });

  it("I20: returns the sections whose heading contains a text, ignoring case", async () => {
    await put("MEMORY.md", "## People\n- Ana\n## Places\n- Oslo\n");
    const { sections } = await ask("gsv__what_do_i_know", { section: "PEOP" });
    expect(sections.map(({ heading }: { heading: string }) => heading)).toEqual(["People"]);
  });

  it("I20: returns 20 sections, at most 50, and says if there are more", async () => {
    await put("MEMORY.md", Array.from({ length: 60 }, (_, i) => `## S${i}\n- x\n`).join(""));
    const count = async (args: object) => {
      const { sections, truncated } = await ask("gsv__what_do_i_know", args);
      return [sections.length, truncated];
    };
    expect(await count({})).toEqual([20, true]);
    expect(await count({ limit: 99 })).toEqual([50, true]);
    expect(await count({ limit: 0 })).toEqual([1, true]);
  });

  it("I20: returns at most 6,144 bytes, but always the first section", async () => {
    const long = (letter: string) => `## ${letter}\n- ${"é".repeat(1400)}\n`;
    await put("MEMORY.md", long("A") + long("B") + long("C"));
    const shown = await ask("gsv__what_do_i_know");
    expect(shown).toMatchObject({ truncated: true, sections: [{ heading: "A" }, { heading: "B" }] });
    expect(Buffer.byteLength(JSON.stringify(shown))).toBeLessThanOrEqual(6144);
    await put("MEMORY.md", `## A\n- ${"x".repeat(9000)}\n## B\n- y\n`);
    expect(await ask("gsv__what_do_i_know")).toMatchObject({ truncated: true, sections: [{ heading: "A" }] });
  });

  it("I20: answers an agent that has no MEMORY.md", async () => {
    expect(await ask("gsv__what_do_i_know")).toEqual({ sections: [], truncated: false });
  });

  it("I20, I6: is refused wherever MEMORY.md is", async () => {
    await put("MEMORY.md", "## Secret\n- kiwi\n");
    for (const sessionKey of [dm, group, guest, "agent:main:errands"]) {
      const answer = JSON.stringify(await ask("gsv__what_do_i_know", {}, sessionKey));
      expect(answer).toMatch(/private memory|Tool not found/);
      expect(answer).not.toContain("kiwi");
    }
  });

  it("I21: gsv__my_stats counts conversations, memories, recalls and dreams", async () => {
    bench.configuration.dreaming.enabled = true;
    expect(await ask("gsv__my_stats", {}, "agent:main:work")).toContain("private memory");
    expect(await ask("gsv__my_stats")).toEqual({
      sessions_total: 2,
      memories_stored: 0,
      memories_promoted: 0,
      last_dream_ts: null,
      recall_events_7d: 0,
      top_concept_tags_7d: [],
      workspace_files_present: [],
    });
    for (const name of ["SOUL.md", "USER.md", "OTHER.md"]) await put(name, "x");
    await put("sessions/11111111-1111-4111-8111-111111111111.jsonl.gz", "x");
    for (const at of [1, 2])
      await put(`sessions/22222222-2222-4222-8222-222222222222-part${at}.jsonl.gz`, "x");
    for (const content of ["Ada stores the backup in the harbour", "Bo likes the harbour"])
      await ask("gsv__memory", { action: "remember", content });
    for (const query of ["harbour", "backup", "where is the backup"])
      await ask("gsv__memory", { action: "recall", query });
    const run = { agentId: "main", configuration: bench.configuration, now: bench.agent().now() };
    await loadSweep(bench.agent())(run);
    expect(await ask("gsv__my_stats")).toEqual({
      sessions_total: 4,
      memories_stored: 2,
      memories_promoted: 1,
      last_dream_ts: new Date(run.now).toISOString(),
      recall_events_7d: 4,
      top_concept_tags_7d: [
        ["harbour", 4],
        ["ada", 3],
        ["backup", 3],
        ["stores", 3],
      ],
      workspace_files_present: ["SOUL.md", "USER.md", "MEMORY.md", "DREAMS.md"],
    });
    bench.later += 8 * 86_400_000;
    expect(await ask("gsv__my_stats")).toMatchObject({ recall_events_7d: 0, top_concept_tags_7d: [] });
  });

  it("I25: the three are not offered if the configuration turns them off", async () => {
    bench.configuration.memory.selfReport = false;
    for (const name of ["gsv__who_am_i", "gsv__what_do_i_know", "gsv__my_stats"])
      expect(await ask(name)).toContain("Tool not found");
  });
});
