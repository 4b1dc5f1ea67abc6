import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openWorkspace } from "../../shared/workspace/workspace-files.ts";
import { message, ResetBench } from "../agent/reset-bench.ts";
import { isReading } from "../support/models/model-window.ts";

/**
 * storage-layout.md, row by row: "Workspace Files", "Daily Memory Files" and "Skills", seen in what the model is sent by a
 * whole turn. Archives and media: archive-layout.test.ts; the list of all keys: test/e2e/bucket.test.ts.
 */
const noon = Date.parse("2026-03-02T12:00:00Z");
const turns = new ResetBench();
beforeAll(() => turns.start());
beforeEach(() => turns.renew());
afterAll(() => turns.close());

type Files = Record<string, string>;

const daily = { yesterday: "memory/2026-03-01.md", today: "memory/2026-03-02.md" };
const everything: Files = {
  ...Object.fromEntries(
    ["SOUL", "IDENTITY", "USER", "AGENTS", "MEMORY", "TOOLS", "HEARTBEAT"].map((name) => [
      `${name}.md`,
      `the text of ${name}`,
    ]),
  ),
  [daily.yesterday]: "what was yesterday",
  [daily.today]: "what is today",
  "skills/tea/SKILL.md": "---\nname: tea\ndescription: makes tea\n---\nBoil water.",
};

const group = () => `agent:${turns.agentId}:telegram:group:-7`;
const isConversation = (request: (typeof turns.model.requests)[number]) => !isReading(request);

/** What the model is sent as its system prompt by a turn of a new agent with these files. */
async function promptWith(files: Files, session?: () => string): Promise<string> {
  turns.newSession();
  for (const [path, text] of Object.entries(files))
    await turns.state.bucket.put(`agents/${turns.agentId}/${path}`, text);
  if (session) turns.key = session();
  await turns.submit(message("hello", noon));
  await turns.invoke(noon);
  return turns.model.requests.filter(isConversation).at(-1)!.system;
}

const without = (file: string): Files =>
  Object.fromEntries(Object.entries(everything).filter(([name]) => name !== file));

describe("storage-layout.md, Workspace Files: Normal operation order", () => {
  const rows: [order: number, file: string, section: string][] = [
    [1, "(base prompt)", "You are a helpful AI assistant running inside GSV."],
    [2, "SOUL.md", "## Your Soul\n\nthe text of SOUL"],
    [3, "IDENTITY.md", "## Your Identity\n\nthe text of IDENTITY"],
    [4, "USER.md", "## About Your Human\n\nthe text of USER"],
    [5, "AGENTS.md", "## Operating Instructions\n\nthe text of AGENTS"],
    [6, "MEMORY.md", "## Long-Term Memory\n\nthe text of MEMORY"],
    [7, daily.yesterday, "### Yesterday\n\nwhat was yesterday"],
    [8, daily.today, "### Today\n\nwhat is today"],
    [9, "TOOLS.md", "## Tool Notes\n\nthe text of TOOLS"],
    [10, "HEARTBEAT.md", "## Heartbeats\n\nthe text of HEARTBEAT"],
    [11, "skills/tea/SKILL.md", "## Skills (Mandatory Scan)"],
    [12, "(runtime info)", "## Runtime\n\n"],
  ];
  let whole: string;
  beforeEach(async () => {
    whole ??= await promptWith(everything);
  });

  it.each(rows)("%i. %s", async (order, file, section) => {
    const [before] = rows.filter(([place]) => place === order - 1);
    expect(whole.split(section)).toHaveLength(2);
    expect(whole.indexOf(section)).toBeGreaterThan(before ? whole.indexOf(before[2]) : -1);
    if (file.startsWith("(")) expect(await promptWith({})).toContain(section);
    else expect(await promptWith(without(file))).not.toContain(section.split("\n", 1)[0]!.slice(3));
  });

  it("7. and 8. are under Recent Context", async () => {
    expect(whole).toContain("## Recent Context\n\n### Yesterday\n\nwhat was yesterday\n\n### Today\n\n");
  });

  it("6. MEMORY.md: only in the main session", async () => {
    const inGroup = await promptWith(everything, group);
    expect(inGroup).toContain("the text of SOUL");
    expect(inGroup).not.toContain("the text of MEMORY");
  });

  it.each(["  \n\t", "# Tasks\n\n## Later", "<!-- nothing\nyet -->", "---\n\n***"])(
    "10. HEARTBEAT.md: not without meaningful content, as in %j",
    async (text) => {
      expect(await promptWith({ "HEARTBEAT.md": text })).not.toContain("## Heartbeats");
    },
  );

  it("11. Skills: only eligible ones", async () => {
    const needs = "---\nname: tea\ndescription: d\nmetadata: {gsv: {requires: {bins: [kettle]}}}\n---\n";
    expect(await promptWith({ "skills/tea/SKILL.md": needs })).not.toContain("<available_skills>");
  });
});

describe("storage-layout.md, Workspace Files: Bootstrap (first-run) order", () => {
  it("is the core scaffold, BOOTSTRAP.md, SOUL.md, IDENTITY.md and USER.md; others are skipped", async () => {
    const prompt = await promptWith({ ...everything, "BOOTSTRAP.md": "the ceremony" });
    const order = [
      "You are a helpful AI assistant",
      "the ceremony",
      "the text of SOUL",
      "the text of IDENTITY",
      "the text of USER",
    ];
    const places = order.map((text) => prompt.indexOf(text));
    expect(Math.min(...places)).toBeGreaterThanOrEqual(0);
    expect(places).toEqual([...places].sort((a, b) => a - b));
    for (const absent of ["AGENTS", "MEMORY", "TOOLS"]) expect(prompt).not.toContain(`the text of ${absent}`);
    for (const absent of ["what was yesterday", "what is today", "<available_skills>"])
      expect(prompt).not.toContain(absent);
    // Beyond the seed, as the protocol has it: what a heartbeat is for must be known on the first run, too.
    expect(prompt).toContain("the text of HEARTBEAT");
  });

  it("takes what is missing as skipped", async () => {
    const prompt = await promptWith({ "BOOTSTRAP.md": "the ceremony" });
    expect(prompt).not.toMatch(/## (Current Soul|Current Identity|About Your Human)/);
  });
});

describe("storage-layout.md, File Descriptions", () => {
  const files = ["SOUL", "IDENTITY", "USER", "AGENTS", "MEMORY", "TOOLS", "HEARTBEAT", "BOOTSTRAP"];

  it.each(files.map((name) => `${name}.md`))(
    "agents/{agentId}/%s: Markdown, read for every LLM call, written by the user or the agent",
    async (file) => {
      turns.newSession();
      await openWorkspace(turns.state.bucket).write(turns.agentId, file, "as the user wrote it");
      const key = `agents/${turns.agentId}/${file}`;
      expect((await turns.state.bucket.head(key))?.contentType).toBe("text/markdown; charset=utf-8");
      const content = "as the agent wrote it";
      turns.reply = ({ turns: said }) =>
        said.at(-1)?.role === "tool"
          ? { text: "done" }
          : { toolCalls: [{ name: "gsv__WriteFile", arguments: { path: file, content } }] };
      await turns.submit(message("change it", noon));
      await turns.invoke(noon);
      expect(turns.model.requests[0]!.system).toContain("as the user wrote it");
      // While the provider caches the prompt, the next message has the new text; the agent's own call has it already.
      turns.reply = () => ({ text: "done" });
      await openWorkspace(turns.state.bucket).write(turns.agentId, file, "as the user changed it");
      await turns.submit(message("go on", noon + 60_000));
      await turns.invoke(noon + 60_000);
      expect(JSON.stringify(turns.model.requests.at(-1)!.body)).toContain("as the user changed it");
      await turns.submit(message("later", noon + 600_000));
      await turns.invoke(noon + 600_000);
      const { system } = turns.model.requests.at(-1)!;
      expect(system).toContain("as the user changed it");
      expect(system).not.toContain("as the user wrote it");
    },
  );

  it.each(["AGENTS.md", "TOOLS.md"])("agents/{agentId}/%s: read in normal operation only", async (file) => {
    const prompt = await promptWith({ [file]: "only later", "BOOTSTRAP.md": "first" });
    expect(prompt).not.toContain("only later");
  });

  it("agents/{agentId}/MEMORY.md: not read in direct messages of other peers in per-peer mode", async () => {
    turns.bench.configuration.session.dmScope = "per-peer";
    const prompt = await promptWith(everything, () => `agent:${turns.agentId}:dm:+31628552611`);
    expect(prompt).not.toContain("the text of MEMORY");
    expect(prompt).toContain("what is today");
  });

  it("agents/{agentId}/BOOTSTRAP.md: read while it exists; the agent deletes it after the ceremony", async () => {
    turns.reply = ({ turns: said }) =>
      said.at(-1)?.role === "tool"
        ? { text: "done" }
        : { toolCalls: [{ name: "gsv__DeleteFile", arguments: { path: "BOOTSTRAP.md" } }] };
    await promptWith({ ...everything, "BOOTSTRAP.md": "the ceremony" });
    const [first, second] = turns.model.requests.map(({ system }) => system);
    expect(first).toContain("the ceremony");
    expect(second).not.toContain("the ceremony");
    expect(second).toContain("the text of AGENTS");
  });
});

describe("storage-layout.md, Daily Memory Files: agents/{agentId}/memory/{YYYY-MM-DD}.md", () => {
  it.each([
    ["by server time", "UTC", ["2026-03-01", "2026-03-02"]],
    ["with a timezone of the user's by theirs", "Pacific/Auckland", ["2026-03-02", "2026-03-03"]],
  ])("Read: today's and yesterday's files, %s, and no others", async (_by, timezone, read) => {
    turns.bench.configuration.userTimezone = timezone;
    const days = ["2026-02-28", "2026-03-01", "2026-03-02", "2026-03-03"];
    const prompt = await promptWith(
      Object.fromEntries(days.map((day) => [`memory/${day}.md`, `notes of ${day}`])),
    );
    expect(days.filter((day) => prompt.includes(`notes of ${day}`))).toEqual(read);
  });

  it("Written by: the agent", async () => {
    turns.newSession();
    const write = { path: daily.today, content: "- tea at four" };
    turns.reply = ({ turns: said }) =>
      said.at(-1)?.role === "tool"
        ? { text: "noted" }
        : { toolCalls: [{ name: "gsv__WriteFile", arguments: write }] };
    await turns.submit(message("remember tea", noon));
    await turns.invoke(noon);
    expect(await turns.memories("2026-03-02")).toBe("- tea at four");
  });

  it("Written by: reset memory extraction, under the header, dated to the last activity", async () => {
    await turns.seed();
    await turns.submit(message("good morning", noon));
    await turns.invoke(noon);
    expect(await turns.memories("2026-03-01")).toBe(
      "### Extracted from context compaction (18:05)\n\n- likes tea\n",
    );
    expect(await turns.memories("2026-03-02")).toBeUndefined();
  });
});

describe("storage-layout.md, Skills", () => {
  const skill = (description: string) => `---\ndescription: ${description}\n---\nHow to: ${description}.`;
  const shared = { key: "skills/layout-soup/SKILL.md", text: skill("the soup of all") };
  beforeAll(() => turns.state.bucket.put(shared.key, shared.text));

  /** What the agent gets that reads a skill's file in its turn. */
  async function load(files: Files): Promise<{ system: string; read: string }> {
    turns.reply = ({ turns: said }) =>
      said.at(-1)?.role === "tool"
        ? { text: "done" }
        : { toolCalls: [{ name: "gsv__ReadFile", arguments: { path: "skills/layout-soup/SKILL.md" } }] };
    const system = await promptWith(files);
    return { system, read: turns.model.requests.at(-1)!.turns.at(-1)!.text };
  }

  it("agents/{agentId}/skills/{skillName}/SKILL.md: listed, loaded on demand, before a global one of its name", async () => {
    const { system, read } = await load({ "skills/layout-soup/SKILL.md": skill("my own soup") });
    expect(system).toContain("<description>my own soup</description>");
    expect(system).toContain(`<location>agents/${turns.agentId}/skills/layout-soup/SKILL.md</location>`);
    expect(system).not.toContain("the soup of all");
    expect(read).toContain("How to: my own soup.");
  });

  it("skills/{skillName}/SKILL.md: listed, loaded on demand, where the agent has none of that name", async () => {
    const { system, read } = await load({});
    expect(system).toContain("<description>the soup of all</description>");
    expect(system).toContain(`<location>${shared.key}</location>`);
    expect(read).toContain("How to: the soup of all.");
  });

  it("Skill resolution order: the agent's own first, global ones second", async () => {
    const prompt = await promptWith({ "skills/zebra/SKILL.md": skill("zebras") });
    expect(prompt.indexOf("zebras")).toBeLessThan(prompt.indexOf("the soup of all"));
    expect(prompt.indexOf("zebras")).toBeGreaterThan(0);
  });
});
