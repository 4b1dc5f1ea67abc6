import { contextTools } from "../../../shared/context/context-calls.ts";
import { sha256 } from "../../../shared/objects/hash.ts";
import type { Role } from "../../../shared/protocol/channel-accounts.ts";
import type { ToolDefinition } from "../../../shared/protocol/messages.ts";
import { localTime } from "../../../shared/runtime/zoned-time.ts";
import type { ListedSkill } from "../../../shared/skills/skill-lister.ts";
import { identitySection } from "../../../shared/workspace/agent-identity.ts";
import { type Budget, createBudget, type Keep } from "../../../shared/workspace/budget.ts";
import { seenFiles, type WorkspaceFiles } from "../../../shared/workspace/load.ts";
import { cutMemory } from "../../../shared/workspace/long-term-memory.ts";
import type { Audience } from "../../../shared/workspace/privacy.ts";
import {
  contextText,
  guestText,
  safety,
  toolCallStyle,
  workspaceFilesText,
  workspaceText,
} from "./prompt-texts.ts";
import { skillsSection } from "./skills-section.ts";
import { toolingSection } from "./tooling-section.ts";

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
   * Epoch milliseconds, shown to the minute. Give the start of the run to all its steps: providers cache by prefix, and
   * the prompt stands before the conversation, so a clock that moves between steps makes them read everything again.
   */
  now: number;
}

/** What the prompt says whatever the run is. */
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

/** `text` is `stable` and `volatile`, one after the other. */
export interface AssembledPrompt {
  text: string;
  /** What stays the same from call to call while nobody changes the workspace or the tools. */
  stable: string;
  /** The end of the Runtime section: hosts and clock. */
  volatile: string;
  /** SHA-256 of `stable`, in hex: the name of the prompt among the objects. */
  hash: string;
}

const separator = "\n\n---\n\n";

/**
 * The system prompt, in the order of docs/reference/protocol.md, "System prompt"; with BOOTSTRAP.md in the shorter order of
 * the first run. Empty sections are left out. Workspace files take at most 12,000 characters each and 60,000 in all.
 * Memory that this kind of session must not see is left out even if `files` holds it.
 */
export function assemblePrompt(content: PromptContent, runtime: PromptRuntime): AssembledPrompt {
  const stable = `${contentText(content)}${separator}${runtimeFacts(runtime)}`;
  const volatile = runtimeState(runtime);
  return { text: stable + volatile, stable, volatile, hash: sha256(stable) };
}

/** All sections ahead of the Runtime section. */
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

/** Daily notes grow at their end, so that is what is kept of a long one. */
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
