import { contextTools } from "../../../shared/context/context-calls.ts";
import { sha256 } from "../../../shared/objects/hash.ts";
import type { PeerRecord } from "../../../shared/peers/registry.ts";
import type { Role } from "../../../shared/protocol/channel-accounts.ts";
import type { ToolDefinition } from "../../../shared/protocol/messages.ts";
import { localTime } from "../../../shared/runtime/zoned-time.ts";
import type { ListedSkill } from "../../../shared/skills/skill-lister.ts";
import { identitySection } from "../../../shared/workspace/agent-identity.ts";
import {
  type Cut,
  cutToRoom,
  head,
  type Keep,
  roomsFor,
  tail,
  truncationMarker,
} from "../../../shared/workspace/budget.ts";
import { seenFiles, type WorkspaceFiles } from "../../../shared/workspace/load.ts";
import type { Audience } from "../../../shared/workspace/privacy.ts";
import { dailyMemoryPath, promptFiles } from "../../../shared/workspace/workspace-paths.ts";
import {
  contextText,
  guestText,
  mirrorText,
  recallText,
  safety,
  skillsText,
  toolCallStyle,
  toolingText,
  workspaceFilesText,
  workspaceText,
} from "./prompt-texts.ts";

export interface PromptRuntime {
  agentId: string;
  sessionKey: string;
  /** `main`, `named`, `dm`, `group`, `channel`, `thread`, … */
  sessionKind: string;
  /** `provider/id`. */
  model: string;
  /** IANA name of the user's timezone. */
  timezone: string;
  /** The machines whose tools are offered (`machinesText`). */
  machines: string;
  /** The conversation is not archived. */
  isPrivate: boolean;
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

export interface AssembledPrompt {
  text: string;
  /** SHA-256 of the text, in hex: its name among the objects. */
  hash: string;
}

/** What separates the sections. */
export const sectionSeparator = "\n\n---\n\n";

/**
 * The system prompt, in the order of docs/reference/protocol.md, "System prompt"; with BOOTSTRAP.md in the shorter order of
 * the first run. Empty sections are omitted. Workspace files and the list of skills get at most 12,000 characters each and
 * 60,000 in all: each an equal share, and what others leave.
 * Memory that this audience must not see is omitted even if `files` contains it.
 */
export function assemblePrompt(content: PromptContent, runtime: PromptRuntime): AssembledPrompt {
  const text = `${contentText(content)}${sectionSeparator}${runtimeSection(runtime)}`;
  return { text, hash: sha256(text) };
}

/** All sections before the Runtime section. */
function contentText({ agentId, audience, role, basePrompt, tools, files, skills }: PromptContent): string {
  const has = (tool: string) => tools.some(({ name }) => name === tool);
  const seen = seenFiles(files, audience);
  const texts = { ...seen, identity: identitySection(seen.identity ?? "") };
  const firstRun = (seen.bootstrap ?? "").trim() !== "";
  const names = firstRun ? firstRunFiles : usualFiles;
  const entries = firstRun ? [] : skills.map(skillEntry);
  const rooms = roomsFor([...names.map((name) => (texts[name] ?? "").trim().length), sizeOf(entries)]);
  const body: Body = (name, keep) =>
    cutToRoom((texts[name] ?? "").trim(), rooms[names.indexOf(name)] ?? 0, filePaths[name], keep);
  const fileSections = (firstRun ? firstRunSections(body) : sections(body)).filter(
    (section) => section !== "",
  );
  return [
    basePrompt.trim(),
    tools.length > 0 ? toolingText : "",
    toolCallStyle,
    has(contextTools.activate) ? contextText : "",
    safety,
    workspaceText(agentId, audience),
    audience !== "shared" && has("gsv__recall") ? recallText(has("gsv__memory")) : "",
    role === "guest" ? guestText : "",
    fileSections.length > 0 ? workspaceFilesText : "",
    ...fileSections,
    skillsSection(entries, rooms[names.length] ?? 0),
  ]
    .filter((section) => section !== "")
    .join(sectionSeparator);
}

type FileName = keyof WorkspaceFiles;

/** The files of a prompt, in the order in which they get space beyond their share. */
const usualFiles: readonly FileName[] = [
  "soul",
  "identity",
  "user",
  "agents",
  "memory",
  "yesterday",
  "today",
  "tools",
  "heartbeat",
];
const firstRunFiles: readonly FileName[] = ["bootstrap", "soul", "identity", "user", "heartbeat"];

const dailyPath = dailyMemoryPath("YYYY-MM-DD");
const filePaths: Record<FileName, string> = { ...promptFiles, yesterday: dailyPath, today: dailyPath };

/** The text of a file, cut to its room. Empty when the prompt has no such file. */
type Body = (name: FileName, keep?: Keep) => string;

function sections(body: Body): string[] {
  return [
    section("## Your Soul", body("soul")),
    section("## Your Identity", body("identity")),
    section("## About Your Human", body("user")),
    section("## Operating Instructions", body("agents")),
    section("## Long-Term Memory", body("memory", cutMemory)),
    recentContext(body),
    section("## Tool Notes", body("tools")),
    section("## Heartbeats", body("heartbeat")),
  ];
}

function firstRunSections(body: Body): string[] {
  return [
    section("## COMMISSIONING CEREMONY (First Run)", body("bootstrap")),
    section("## Current Soul (update during commissioning)", body("soul")),
    section("## Current Identity (fill in during commissioning)", body("identity")),
    section("## About Your Human", body("user")),
    section("## Heartbeats", body("heartbeat")),
  ];
}

function section(heading: string, body: string): string {
  return body === "" ? "" : `${heading}\n\n${body}`;
}

/** Long daily notes lose their start, because new notes are appended at the end. */
function recentContext(body: Body): string {
  const days = [
    section("### Yesterday", body("yesterday", "end")),
    section("### Today", body("today", "end")),
  ].filter((day) => day !== "");
  return days.length === 0 ? "" : ["## Recent Context", ...days].join("\n\n");
}

function runtimeSection(runtime: PromptRuntime): string {
  const lines = [
    `- Agent: ${runtime.agentId}`,
    `- Session: ${runtime.sessionKey} (${runtime.sessionKind})`,
    `- Model: ${runtime.model}`,
    ...(runtime.isPrivate
      ? ["- This conversation is private: write nothing about it into memories or files unless asked to."]
      : []),
    `- Timezone: ${runtime.timezone}`,
    `- Machines: ${runtime.machines}`,
    "- <gateway> at the end of a message: the time, its channel, changed machines and files.",
  ];
  return `## Runtime\n\n${lines.join("\n")}\n`;
}

/** Machines in one line: `laptop (darwin), pi (linux, not connected since 2026-11-24 14:02)`. */
export function machinesText(
  nodes: readonly Pick<PeerRecord, "id" | "runtime" | "leftAt">[],
  timezone: string,
): string {
  const names = nodes.map(({ id, runtime, leftAt }) => {
    const facts = [runtime?.hostOs ?? "", leftAt === undefined ? "" : leftText(leftAt, timezone)];
    const text = facts.filter((fact) => fact !== "").join(", ");
    return text === "" ? id : `${id} (${text})`;
  });
  return names.join(", ") || "none connected";
}

/** `not connected since 2026-11-24 14:02`. @param leftAt epoch ms */
export function leftText(leftAt: number, timezone: string): string {
  const { date, time } = localTime(leftAt, timezone);
  return `not connected since ${date} ${time}`;
}

/**
 * The section "Skills (Mandatory Scan)", empty without skills. Skills beyond the room are omitted, and a marker says how
 * many.
 */
function skillsSection(entries: readonly string[], room: number): string {
  if (entries.length === 0) return "";
  const over = entries.findIndex((_, i) => sizeOf(entries.slice(0, i + 1)) > room);
  const listed = over < 0 ? entries : entries.slice(0, over);
  const left = entries.length - listed.length;
  const more = left === 0 ? "" : `\n${truncationMarker} ${left} more: list the folder skills/`;
  const list = listed.map((entry) => `${entry}\n`).join("");
  const text = list.includes("\n<folder ") ? `${skillsText} ${mirrorText}` : skillsText;
  return `## Skills (Mandatory Scan)\n\n${text}\n\n<available_skills>\n${list}</available_skills>${more}`;
}

/** Characters of the list of skills, one line break after each. */
function sizeOf(entries: readonly string[]): number {
  return entries.reduce((sum, entry) => sum + entry.length + 1, 0);
}

function skillEntry(skill: ListedSkill): string {
  return [
    skill.always ? '<skill always="true">' : "<skill>",
    `<name>${escapeXml(skill.name)}</name>`,
    `<description>${escapeXml(skill.description)}</description>`,
    `<location>${escapeXml(skill.location)}</location>`,
    `<read_path>${escapeXml(skill.readPath)}</read_path>`,
    ...(skill.mirror
      ? [`<folder machines="${skill.mirror.machines.join(", ")}">${skill.mirror.folder}</folder>`]
      : []),
    "</skill>",
  ].join("\n");
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
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
