import { contextTools } from "../../../shared/context/context-calls.ts";
import { sha256 } from "../../../shared/objects/hash.ts";
import type { Role } from "../../../shared/protocol/channel-accounts.ts";
import type { ToolDefinition } from "../../../shared/protocol/messages.ts";
import { localTime } from "../../../shared/runtime/zoned-time.ts";
import type { ListedSkill } from "../../../shared/skills/skill-lister.ts";
import { identitySection } from "../../../shared/workspace/agent-identity.ts";
import {
  type Budget,
  type Cut,
  createBudget,
  head,
  type Keep,
  tail,
  truncationMarker,
} from "../../../shared/workspace/budget.ts";
import { seenFiles, type WorkspaceFiles } from "../../../shared/workspace/load.ts";
import type { Audience } from "../../../shared/workspace/privacy.ts";
import {
  contextText,
  guestText,
  safety,
  skillsText,
  toolCallStyle,
  workspaceFilesText,
  workspaceText,
} from "./prompt-texts.ts";

export interface PromptHost {
  nodeId: string;
  os?: string;
  /** Bare names of its tools. */
  tools: string[];
}

export interface PromptRuntime {
  agentId: string;
  sessionKey: string;
  /** `main`, `named`, `dm`, `group`, `channel`, `thread`, … */
  sessionKind: string;
  /** `provider/id`. */
  model: string;
  /** IANA name of the user's timezone. */
  timezone: string;
  channel?: string;
  /** Connected nodes. */
  hosts: PromptHost[];
  /**
   * Epoch milliseconds, shown to the minute. Pass the start of the run for all its steps: providers cache by prefix, and
   * the prompt comes before the conversation, so a clock that moves between steps would invalidate the whole cache.
   */
  now: number;
}

/** The content of all sections before "Runtime". */
export interface PromptContent {
  agentId: string;
  /** The private memory that this conversation may see. */
  audience: Audience;
  /** Whose message the run answers. */
  role: Role;
  /** The agent's own instructions, from configuration or the session's settings. */
  basePrompt: string;
  /** Native tools (`gsv__…`) and those of nodes (`{nodeId}__…`). */
  tools: ToolDefinition[];
  files: WorkspaceFiles;
  /** Eligible skills, in the order they are to be listed. */
  skills: ListedSkill[];
}

/** `text` is `stable` followed by `volatile`. */
export interface AssembledPrompt {
  text: string;
  /** The part that is the same in all calls until the workspace or the tools change. */
  stable: string;
  /** The end of the Runtime section: hosts and clock. */
  volatile: string;
  /** SHA-256 of `stable`, in hex: the name of the prompt among the objects. */
  hash: string;
}

const separator = "\n\n---\n\n";

/**
 * The system prompt, in the order of docs/reference/protocol.md, "System prompt"; with BOOTSTRAP.md in the shorter order of
 * the first run. Empty sections are omitted. Workspace files get at most 12,000 characters each and 60,000 in all.
 * Memory that this audience must not see is omitted even if `files` contains it.
 */
export function assemblePrompt(content: PromptContent, runtime: PromptRuntime): AssembledPrompt {
  const stable = `${contentText(content)}${separator}${runtimeFacts(runtime)}`;
  const volatile = runtimeState(runtime);
  return { text: stable + volatile, stable, volatile, hash: sha256(stable) };
}

/** All sections before the Runtime section. */
function contentText({ agentId, audience, role, basePrompt, tools, files, skills }: PromptContent): string {
  const budget = createBudget();
  const seen = seenFiles(files, audience);
  const firstRun = (seen.bootstrap ?? "").trim() !== "";
  const fileSections = (firstRun ? firstRunSections(seen, budget) : sections(seen, budget)).filter(
    (section) => section !== "",
  );
  return [
    basePrompt.trim(),
    toolingSection(tools),
    toolCallStyle,
    tools.some(({ name }) => name === contextTools.activate) ? contextText : "",
    safety,
    workspaceText(agentId, audience),
    role === "guest" ? guestText : "",
    fileSections.length > 0 ? workspaceFilesText : "",
    ...fileSections,
    firstRun ? "" : skillsSection(skills, budget),
  ]
    .filter((section) => section !== "")
    .join(separator);
}

function sections(files: WorkspaceFiles, budget: Budget): string[] {
  return [
    section("## Your Soul", files.soul, budget),
    section("## Your Identity", identitySection(files.identity ?? ""), budget),
    section("## About Your Human", files.user, budget),
    section("## Operating Instructions", files.agents, budget),
    section("## Long-Term Memory", files.memory, budget, cutMemory),
    recentContext(files, budget),
    section("## Tool Notes", files.tools, budget),
    section("## Heartbeats", files.heartbeat, budget),
  ];
}

function firstRunSections(files: WorkspaceFiles, budget: Budget): string[] {
  return [
    section("## COMMISSIONING CEREMONY (First Run)", files.bootstrap, budget),
    section("## Current Soul (update during commissioning)", files.soul, budget),
    section(
      "## Current Identity (fill in during commissioning)",
      identitySection(files.identity ?? ""),
      budget,
    ),
    section("## About Your Human", files.user, budget),
    section("## Heartbeats", files.heartbeat, budget),
  ];
}

function section(heading: string, text: string | undefined, budget: Budget, keep?: Keep): string {
  const body = budget.take(text ?? "", keep);
  return body === "" ? "" : `${heading}\n\n${body}`;
}

/** Long daily notes lose their start, because new notes are appended at the end. */
function recentContext(files: Pick<WorkspaceFiles, "yesterday" | "today">, budget: Budget): string {
  const days = [
    section("### Yesterday", files.yesterday, budget, "end"),
    section("### Today", files.today, budget, "end"),
  ].filter((day) => day !== "");
  return days.length === 0 ? "" : ["## Recent Context", ...days].join("\n\n");
}

function runtimeFacts(runtime: PromptRuntime): string {
  const lines = [
    `- Agent: ${runtime.agentId}`,
    `- Session: ${runtime.sessionKey} (${runtime.sessionKind})`,
    `- Model: ${runtime.model}`,
    `- Timezone: ${runtime.timezone}`,
  ];
  if (runtime.channel) lines.push(`- Channel: ${runtime.channel}`);
  return `## Runtime\n\n${lines.join("\n")}\n`;
}

function runtimeState(runtime: PromptRuntime): string {
  const { weekday, date, time } = localTime(runtime.now, runtime.timezone);
  const hosts = runtime.hosts.map(({ nodeId, os, tools }) => {
    return `  - ${nodeId}${os ? ` (${os})` : ""}: ${tools.join(", ") || "no tools"}`;
  });
  const machines = hosts.length === 0 ? "- Machines: none connected" : `- Machines:\n${hosts.join("\n")}`;
  return `${machines}\n- Now: ${weekday}, ${date} ${time}`;
}

/**
 * The section "Skills (Mandatory Scan)", empty without skills. Skills beyond the budget are omitted, and a marker says how
 * many.
 */
function skillsSection(skills: ListedSkill[], budget: Budget): string {
  if (skills.length === 0) return "";
  const entries: string[] = [];
  let room = budget.room();
  for (const skill of skills) {
    const entry = skillEntry(skill);
    room -= entry.length + 1;
    if (room < 0) break;
    entries.push(entry);
  }
  const left = skills.length - entries.length;
  const more = left === 0 ? "" : `\n${truncationMarker} ${left} more: list the folder skills/`;
  const list = entries.length === 0 ? "" : `${budget.take(entries.join("\n"))}\n`;
  return `## Skills (Mandatory Scan)\n\n${skillsText}\n\n<available_skills>\n${list}</available_skills>${more}`;
}

function skillEntry(skill: ListedSkill): string {
  return [
    skill.always ? '<skill always="true">' : "<skill>",
    `<name>${escapeXml(skill.name)}</name>`,
    `<description>${escapeXml(skill.description)}</description>`,
    `<location>${escapeXml(skill.location)}</location>`,
    `<read_path>${escapeXml(skill.readPath)}</read_path>`,
    "</skill>",
  ].join("\n");
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Max characters of a tool's description. The model also gets each tool's whole definition, so one line is enough here. */
const maxDescription = 160;

/** The section "Tooling": one line per tool, native tools first, then grouped by node. Empty without tools. */
function toolingSection(tools: ToolDefinition[]): string {
  if (tools.length === 0) return "";
  const groups = new Map<string, string[]>([["gsv", []]]);
  for (const { name, description } of tools) {
    const owner = name.split("__", 1)[0] ?? name;
    const lines = groups.get(owner) ?? [];
    lines.push(`- ${name}${summary(description)}`);
    groups.set(owner, lines);
  }
  const texts: string[] = ["## Tooling"];
  for (const [owner, lines] of groups) {
    if (lines.length === 0) continue;
    texts.push(owner === "gsv" ? "### Native" : `### Machine ${owner}`, lines.join("\n"));
  }
  return texts.join("\n\n");
}

function summary(description: string): string {
  const line = description.trim().split("\n", 1)[0] ?? "";
  if (line === "") return "";
  return line.length <= maxDescription ? `: ${line}` : `: ${head(line, maxDescription)}…`;
}

/** The heading of a section that dreaming has added: `## Dreamed 2026-04-23 03:00 UTC`. */
const dreamedHeading = /^##\s+Dreamed\b/;

/**
 * Shortens a MEMORY.md that is too long for the prompt: it keeps the start of the agent's own sections, and the newest
 * (last) lines of the sections that dreaming has added. These get at least half of the room, and all that the others leave.
 */
const cutMemory: Cut = (text, room) => {
  const { written, dreamed } = split(text);
  const forDreamed = Math.min(dreamed.length, Math.max(Math.floor(room / 2), room - written.length));
  const end = newestLines(dreamed, forDreamed);
  return { start: head(written, room - end.length), end };
};

/** Separates the sections that dreaming has added from all others. Each part keeps its order. */
function split(text: string): { written: string; dreamed: string } {
  const written: string[] = [];
  const dreamed: string[] = [];
  let isDreamed = false;
  for (const line of text.split("\n")) {
    if (/^##?\s/.test(line)) isDreamed = dreamedHeading.test(line);
    (isDreamed ? dreamed : written).push(line);
  }
  return { written: written.join("\n").trim(), dreamed: dreamed.join("\n").trim() };
}

/** The last whole lines that fit. If the last line alone does not fit: its end. */
function newestLines(text: string, room: number): string {
  if (text.length <= room) return text;
  const end = tail(text, room);
  const isWhole = text.at(-end.length - 1) === "\n";
  const line = end.indexOf("\n");
  return isWhole || line < 0 ? end : end.slice(line + 1);
}
