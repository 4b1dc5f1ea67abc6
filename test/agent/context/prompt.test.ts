import { describe, expect, it } from "vitest";
import {
  assemblePrompt,
  machinesText,
  type PromptContent,
  type PromptRuntime,
} from "../../../functions/agent/context/prompt.ts";
import type { NodeRuntime } from "../../../shared/protocol/schemas.ts";
import { maxFileCharacters, maxTotalCharacters } from "../../../shared/workspace/budget.ts";
import type { WorkspaceFiles } from "../../../shared/workspace/load.ts";
import { audienceOf } from "../../../shared/workspace/privacy.ts";

type PromptInput = Omit<PromptContent, "agentId" | "audience"> & { runtime: PromptRuntime };

/** The prompt of a conversation of this kind, with the files that it may see. */
const prompt = ({ runtime, ...content }: PromptInput) => {
  const { agentId, sessionKind } = runtime;
  return assemblePrompt({ ...content, agentId, audience: audienceOf(sessionKind) }, runtime);
};

const tool = (name: string, description = "") => ({ name, description, inputSchema: { type: "object" } });
const skill = (name: string, always = false) => ({
  name,
  description: `about ${name}`,
  location: `skills/${name}/SKILL.md`,
  readPath: `skills/${name}/SKILL.md`,
  always,
});
const files: WorkspaceFiles = {
  soul: "SOUL-TEXT",
  identity: "IDENTITY-TEXT",
  user: "USER-TEXT",
  agents: "AGENTS-TEXT",
  memory: "MEMORY-TEXT",
  yesterday: "YESTERDAY-TEXT",
  today: "TODAY-TEXT",
  tools: "TOOLS-TEXT",
  heartbeat: "HEARTBEAT-TEXT",
};
const runtime = {
  agentId: "main",
  sessionKey: "agent:main:main",
  sessionKind: "main",
  model: "anthropic/some-model",
  timezone: "Europe/Berlin",
  machines: "laptop (linux)",
  isPrivate: false,
};
const full: PromptInput = {
  role: "owner",
  basePrompt: "BASE-TEXT",
  tools: [tool("gsv__ReadFile", "Reads a file."), tool("laptop__Bash", "Runs a command.")],
  files,
  skills: [skill("tea")],
  runtime,
};
const bare: PromptInput = { ...full, tools: [], files: {}, skills: [] };
const sectionsOf = (input: PromptInput) => prompt(input).text.split("\n\n---\n\n");
const headingsOf = (input: PromptInput) => sectionsOf(input).map((section) => section.split("\n", 1)[0]);
const sectionOf = (input: PromptInput, heading: string) =>
  sectionsOf(input).find((section) => section.startsWith(`${heading}\n`));

describe("the system prompt", () => {
  it("has every section, in the order of the protocol", () => {
    expect(headingsOf(full)).toEqual([
      "BASE-TEXT",
      "## Tooling",
      "## Tool Call Style",
      "## Safety",
      "## Workspace",
      "## Workspace Files",
      "## Your Soul",
      "## Your Identity",
      "## About Your Human",
      "## Operating Instructions",
      "## Long-Term Memory",
      "## Recent Context",
      "## Tool Notes",
      "## Heartbeats",
      "## Skills (Mandatory Scan)",
      "## Runtime",
    ]);
  });

  it("contains each file under its heading", () => {
    expect(sectionsOf(full).slice(6, 14)).toEqual([
      "## Your Soul\n\nSOUL-TEXT",
      "## Your Identity\n\nIDENTITY-TEXT",
      "## About Your Human\n\nUSER-TEXT",
      "## Operating Instructions\n\nAGENTS-TEXT",
      "## Long-Term Memory\n\nMEMORY-TEXT",
      "## Recent Context\n\n### Yesterday\n\nYESTERDAY-TEXT\n\n### Today\n\nTODAY-TEXT",
      "## Tool Notes\n\nTOOLS-TEXT",
      "## Heartbeats\n\nHEARTBEAT-TEXT",
    ]);
  });

  it("omits empty sections", () => {
    const headings = headingsOf({ ...bare, basePrompt: " \n", files: { soul: "  \n " } });
    expect(headings).toEqual(["## Tool Call Style", "## Safety", "## Workspace", "## Runtime"]);
    expect(sectionOf({ ...full, files: { today: "x" } }, "## Recent Context")).toBe(
      "## Recent Context\n\n### Today\n\nx",
    );
  });

  it("on the first run has only the ceremony and the files that it fills in", () => {
    const input = { ...full, files: { ...files, bootstrap: "BOOTSTRAP-TEXT" } };
    expect(headingsOf(input)).toEqual([
      "BASE-TEXT",
      "## Tooling",
      "## Tool Call Style",
      "## Safety",
      "## Workspace",
      "## Workspace Files",
      "## COMMISSIONING CEREMONY (First Run)",
      "## Current Soul (update during commissioning)",
      "## Current Identity (fill in during commissioning)",
      "## About Your Human",
      "## Heartbeats",
      "## Runtime",
    ]);
    const { text } = prompt(input);
    for (const absent of ["AGENTS", "MEMORY", "YESTERDAY", "TODAY", "TOOLS"])
      expect(text).not.toContain(`${absent}-TEXT`);
    expect(text).not.toContain("<available_skills>");
  });

  it("ignores an empty BOOTSTRAP.md", () => {
    expect(headingsOf({ ...full, files: { ...files, bootstrap: " \n" } })).toEqual(headingsOf(full));
  });
});

describe("when to recall", () => {
  const headings = (sessionKind: string, tools = [tool("gsv__recall")]) =>
    headingsOf({ ...full, tools, runtime: { ...runtime, sessionKind } });

  it("is said where nobody else reads along and there is a tool for it", () => {
    for (const kind of ["main", "named", "cron", "dm"]) expect(headings(kind), kind).toContain("## Recall");
    for (const kind of ["group", "unheard-of"]) expect(headings(kind), kind).not.toContain("## Recall");
    expect(headings("main", [])).not.toContain("## Recall");
  });
});

describe("private memory in the prompt", () => {
  const textFor = (sessionKind: string) => prompt({ ...full, runtime: { ...runtime, sessionKind } }).text;

  it("I8: is not shown if several people read the conversation, even if it was loaded: they see three files", () => {
    for (const kind of ["group", "channel", "thread", "unheard-of"]) {
      const text = textFor(kind);
      for (const secret of ["MEMORY", "YESTERDAY", "TODAY", "USER", "HEARTBEAT", "TOOLS"])
        expect(text).not.toContain(`${secret}-TEXT`);
      for (const shown of ["SOUL", "IDENTITY", "AGENTS"]) expect(text).toContain(`${shown}-TEXT`);
      expect(text).toContain("Others than your human read this conversation");
    }
  });

  it("has no first run if others read the conversation, and says when a guest wrote", () => {
    const shared = {
      ...full,
      files: { ...files, bootstrap: "BOOT" },
      runtime: { ...runtime, sessionKind: "guest" },
    };
    const text = prompt({ ...shared, role: "guest" }).text;
    expect(text).not.toContain("BOOT");
    expect(text).toContain("was written by a guest");
    expect(prompt(shared).text).not.toContain("was written by a guest");
  });

  it("is shown in a direct message, except for the long-term memory", () => {
    for (const kind of ["dm", "named"]) {
      expect(textFor(kind)).toContain("TODAY-TEXT");
      expect(textFor(kind)).not.toContain("MEMORY-TEXT");
      expect(textFor(kind)).not.toContain("Others than");
    }
  });

  it("I7: contains USER.md in the owner's own sessions, not in direct messages", () => {
    for (const kind of ["main", "named", "cron", "system"]) expect(textFor(kind)).toContain("USER-TEXT");
    expect(textFor("dm")).not.toContain("USER-TEXT");
  });
});

describe("the prompt's caps", () => {
  const body = (input: PromptInput, heading: string) => sectionOf(input, heading)?.slice(heading.length + 2);

  it("I10: cut a file at 12,000 characters and mark it", () => {
    const whole = "x".repeat(maxFileCharacters);
    expect(body({ ...full, files: { soul: whole } }, "## Your Soul")).toBe(whole);
    expect(body({ ...full, files: { soul: `${whole}y` } }, "## Your Soul")).toBe(
      `${whole}\n[truncated] The rest is in SOUL.md.`,
    );
  });

  it("keep the newest end of a daily note", () => {
    const note = `OLD${"x".repeat(maxFileCharacters)}NEW`;
    const today = body({ ...full, files: { today: note } }, "## Recent Context");
    expect(today).toMatch(/^### Today\n\n\[truncated\] The rest is in memory\/YYYY-MM-DD\.md\.\nx+NEW$/);
  });

  it("I12: keep the head of MEMORY.md and the newest dreamed lines at its end", () => {
    const dreamed = (day: string) =>
      `## Dreamed ${day} 03:00 UTC\n\n${Array.from({ length: 80 }, (_, i) => `- fact ${i} of ${day}, ${"x".repeat(40)}`).join("\n")}\n- NEWEST of ${day}`;
    const memory = `# Long-term memory\n\n- FIRST\n${"- written\n".repeat(300)}\n${dreamed("2026-04-22")}\n\n${dreamed("2026-04-23")}\n\n## Open questions\n\n- LAST WRITTEN`;
    const kept = body({ ...full, files: { memory } }, "## Long-Term Memory") ?? "";
    expect(memory.length).toBeGreaterThan(maxFileCharacters);
    expect(kept.length).toBeLessThanOrEqual(
      maxFileCharacters + "\n[truncated] The rest is in MEMORY.md.\n".length,
    );
    expect(kept).toMatch(/^# Long-term memory\n\n- FIRST\n/);
    expect(kept).toMatch(/\n\[truncated\] The rest is in MEMORY\.md\.\n- fact \d+ of 2026-04-22/);
    expect(kept).toMatch(/## Dreamed 2026-04-23 03:00 UTC\n[\s\S]+- NEWEST of 2026-04-23$/);
    expect(kept).toContain("- LAST WRITTEN");
  });

  it("I12: keep the start of a MEMORY.md in which nothing was dreamed, and the end of one long dreamed line", () => {
    const written = `FIRST${"x".repeat(maxFileCharacters)}`;
    expect(body({ ...full, files: { memory: written } }, "## Long-Term Memory")).toMatch(
      /^FIRSTx+\n\[truncated\] The rest is in MEMORY\.md\.$/,
    );
    const dreamed = `## Dreamed 2026-04-23 03:00 UTC ${"🐙".repeat(maxFileCharacters)}NEWEST`;
    const kept = body({ ...full, files: { memory: `FIRST\n${dreamed}` } }, "## Long-Term Memory") ?? "";
    expect(kept).toMatch(/^FIRST\n\[truncated\] The rest is in MEMORY\.md\.\n/);
    expect(kept.endsWith("🐙NEWEST")).toBe(true);
    expect(kept.isWellFormed()).toBe(true);
  });

  it("never split a surrogate pair, at either end", () => {
    const emoji = "🐙".repeat(maxFileCharacters);
    for (const odd of ["", "a"]) {
      const input = { ...full, files: { soul: odd + emoji, today: emoji + odd } };
      expect(prompt(input).text.isWellFormed()).toBe(true);
      expect(body(input, "## Your Soul")).toContain("[truncated]");
    }
  });

  it("I10: give all sections together 60,000 characters: a share to each, the rest in the order of the prompt", () => {
    const long = (letter: string) => letter.repeat(11_500);
    const input: PromptInput = {
      ...bare,
      files: { soul: long("s"), identity: long("i"), user: long("u"), agents: "aaaaa", memory: long("m") },
      skills: Array.from({ length: 10 }, (_, n) => skill(`skill-${n}`)),
    };
    Object.assign(input.files, {
      yesterday: long("y"),
      today: long("t"),
      tools: long("o"),
      heartbeat: long("h"),
    });
    const shown =
      prompt(input)
        .text.match(/([siuamytoh])\1{4,}/g)
        ?.map((run) => run.length) ?? [];
    const skillsSize = prompt(input).text.match(/<skill>[\s\S]*<\/skill>/)?.[0].length ?? 0;
    const left = maxTotalCharacters - 8 * 6000 - 5 - (skillsSize + 1);
    expect(shown).toEqual([11_500, left + 500, 6000, 5, 6000, 6000, 6000, 6000, 6000]);
    expect(prompt(input).text).toContain("<name>skill-9</name>");
    expect(sectionOf(input, "## Tool Notes")).toMatch(/o\n\[truncated\] The rest is in TOOLS\.md\.$/);
  });

  it("leave out whole skills, never a part of one", () => {
    const skills = Array.from({ length: 200 }, (_, n) => skill(`skill-${n}`));
    const section = sectionOf({ ...bare, skills }, "## Skills (Mandatory Scan)") ?? "";
    const listed = section.split("<skill>").length - 1;
    expect(section.split("</skill>").length - 1).toBe(listed);
    expect(listed).toBeGreaterThan(20);
    expect(section).toContain("</available_skills>");
    expect(section).toContain(`[truncated] ${200 - listed} more`);
    expect(section.length).toBeLessThan(maxFileCharacters + 1000);
  });
});

describe("tools, skills and runtime in the prompt", () => {
  it("says how tools are named, and leaves the rest to their definitions", () => {
    expect(sectionOf(full, "## Tooling")).toContain("`{machine}__…`");
    expect(prompt(full).text).not.toContain("Runs a command.");
  });

  it("lists skills with name, description, location and path, escaped", () => {
    const skills = [{ ...skill("a<b>&c", true), location: "agents/main/skills/a/SKILL.md" }];
    expect(sectionOf({ ...full, skills }, "## Skills (Mandatory Scan)")).toContain(
      [
        "<available_skills>",
        '<skill always="true">',
        "<name>a&lt;b&gt;&amp;c</name>",
        "<description>about a&lt;b&gt;&amp;c</description>",
        "<location>agents/main/skills/a/SKILL.md</location>",
        "<read_path>skills/a&lt;b&gt;&amp;c/SKILL.md</read_path>",
        "</skill>",
        "</available_skills>",
      ].join("\n"),
    );
  });

  it("describes the agent's runtime", () => {
    expect(sectionOf(full, "## Runtime")).toBe(
      [
        "## Runtime",
        "",
        "- Agent: main",
        "- Session: agent:main:main (main)",
        "- Model: anthropic/some-model",
        "- Timezone: Europe/Berlin",
        "- Machines: laptop (linux)",
        "- <gateway> at the end of a message: the time, its channel, changed machines and files.",
        "",
      ].join("\n"),
    );
  });

  it("names the offered machines, and since when one is not connected", () => {
    const laptop = { id: "laptop", runtime: { hostOs: "linux" } as NodeRuntime };
    const pi = { id: "pi", leftAt: Date.parse("2026-03-01T13:05:00Z") };
    expect(machinesText([laptop, pi], "Europe/Berlin")).toBe(
      "laptop (linux), pi (not connected since 2026-03-01 14:05)",
    );
    expect(machinesText([], "UTC")).toBe("none connected");
  });

  it("is the same text for the same input", () => {
    expect(prompt(full)).toEqual(prompt(structuredClone(full)));
  });
});
