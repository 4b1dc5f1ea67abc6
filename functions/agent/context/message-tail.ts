import { tailStart } from "../../../shared/objects/wire-messages.ts";
import type { Message } from "../../../shared/protocol/messages.ts";
import { localTime } from "../../../shared/runtime/zoned-time.ts";
import { sectionSeparator } from "./prompt.ts";

/** What the newest message says beyond its content. */
export interface TailSources {
  /** Epoch ms. */
  now: number;
  /** IANA name of the user's timezone. */
  timezone: string;
  /** The messaging platform of the message; absent for a client. */
  channel?: string;
  /** As in the prompt's Runtime section. */
  machines: string;
  /** The prompt that is sent, and the prompt as it would be assembled now. */
  sent: string;
  current: string;
  /** The messages before the newest one since `sent` was first sent. */
  earlier: readonly Message[];
}

const tailEnd = "\n</gateway>";

/** Max characters of a changed section, and of the lines that were added to a list. Longer ones have to be read. */
const maxSection = 2000;

/** Sections whose new text replaces the old one, with their files. */
const texts: Readonly<Record<string, string>> = {
  "## Your Soul": "SOUL.md",
  "## Your Identity": "IDENTITY.md",
  "## About Your Human": "USER.md",
  "## Operating Instructions": "AGENTS.md",
  "## Tool Notes": "TOOLS.md",
  "## Heartbeats": "HEARTBEAT.md",
  "## COMMISSIONING CEREMONY (First Run)": "BOOTSTRAP.md",
  "## Current Soul (update during commissioning)": "SOUL.md",
  "## Current Identity (fill in during commissioning)": "IDENTITY.md",
};

/** Sections that are lists, of which only new lines are said. */
const lists: Readonly<Record<string, string>> = {
  "## Long-Term Memory": "MEMORY.md",
  "## Recent Context": "memory/",
};

/**
 * The end of a user message: the time, the channel, the machines if they have changed, and prompt files that have changed
 * since the prompt that is sent. It is stored with the message, so that later requests repeat it unchanged.
 */
export function messageTail(sources: TailSources): string {
  const { now, timezone, channel, machines, sent, current, earlier } = sources;
  const { weekday, date, time } = localTime(now, timezone);
  const told = earlier.flatMap((message) => (message.role === "user" && message.tail ? [message.tail] : []));
  const isTold = (told.findLast((tail) => tail.includes("\nMachines: ")) ?? sent).includes(
    `Machines: ${machines}\n`,
  );
  const state = [
    `Now: ${weekday}, ${date} ${time}`,
    ...(channel ? [`Channel: ${channel}`] : []),
    ...(isTold ? [] : [`Machines: ${machines}`]),
  ];
  const changes = sent === current && told.length === 0 ? [] : changedSections(sent, current, told);
  return `${tailStart}${[state.join("\n"), ...changes].join(sectionSeparator)}${tailEnd}`;
}

/** The sections of the current prompt that neither the prompt that is sent nor an earlier message contains. */
function changedSections(sent: string, current: string, told: readonly string[]): string[] {
  const [before, now] = [sectionsOf(sent), sectionsOf(current)];
  const stated = new Map([...before, ...told.flatMap((tail) => [...sectionsOf(tail)])]);
  const replaced = Object.entries(texts).flatMap(([heading, file]) => {
    const text = now.get(heading) ?? `${heading}\n\n(empty)`;
    if (text === (stated.get(heading) ?? `${heading}\n\n(empty)`)) return [];
    const isTold = stated.get(heading) === unread(heading, file) && text.length > maxSection;
    return isTold ? [] : [text.length > maxSection ? unread(heading, file) : text];
  });
  const known = new Set([sent, ...told].flatMap((text) => text.split("\n")));
  const added = Object.entries(lists).flatMap(([heading, file]) => {
    const lines = (now.get(heading) ?? "").split("\n").filter((line) => line !== "" && !known.has(line));
    if (lines.length === 0) return [];
    const text = [`${heading}: added`, ...lines].join("\n");
    return [text.length > maxSection ? unread(heading, file) : text];
  });
  return [...replaced, ...added];
}

const unread = (heading: string, file: string) =>
  `${heading}\n\n${file} has changed: read it before you rely on it.`;

/** The sections of a prompt or of a message's tail, by heading. */
function sectionsOf(text: string): Map<string, string> {
  const sections = text.replace(tailStart, "").replace(tailEnd, "").split(sectionSeparator);
  return new Map(sections.map((section) => [section.split("\n", 1)[0] ?? "", section]));
}
