import { sha256 } from "../../../shared/objects/hash.ts";
import { tailStart, withoutTags } from "../../../shared/objects/wire-messages.ts";
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
  /** As in the prompt's Runtime section. Absent: not known. */
  machines?: string;
  /** What the message reminds of, one line each. */
  reminders?: readonly string[];
  /** The prompt that is sent, and the prompt as it would be assembled now. */
  sent: string;
  current: string;
  /** The messages before the newest one since `sent` was first sent. */
  earlier: readonly Message[];
}

const reminderText = "From earlier, perhaps of use; gsv__recall finds more:";

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
  const { now, timezone, channel, machines, reminders = [], earlier } = sources;
  // An earlier tail was stored without tags.
  const [sent, current] = [withoutTags(sources.sent), withoutTags(sources.current)];
  const { weekday, date, time } = localTime(now, timezone);
  const told = earlier.flatMap((message) => (message.role === "user" && message.tail ? [message.tail] : []));
  const stated = told.findLast((tail) => tail.includes("\nMachines: ")) ?? sent;
  const isTold = machines === undefined || stated.includes(`Machines: ${machines}\n`);
  const state = [
    `Now: ${weekday}, ${date} ${time}`,
    ...(channel ? [`Channel: ${channel}`] : []),
    ...(isTold ? [] : [`Machines: ${machines}`]),
    ...(reminders.length === 0 ? [] : [reminderText, ...reminders]),
  ];
  const saying = told.filter((tail) => tail.includes(sectionSeparator));
  const changes = sent === current && saying.length === 0 ? [] : changedSections(sent, current, saying);
  const text = [state.join("\n"), ...changes].join(sectionSeparator);
  return `${tailStart}${withoutTags(text)}${tailEnd}`;
}

/** The sections of the current prompt that neither the prompt that is sent nor an earlier message contains. */
function changedSections(sent: string, current: string, told: readonly string[]): string[] {
  const [before, now] = [sectionsOf(sent), sectionsOf(current)];
  const stated = new Map([...before, ...told.flatMap((tail) => [...sectionsOf(tail)])]);
  const replaced = Object.entries(texts).flatMap(([heading, file]) => {
    const text = now.get(heading) ?? `${heading}\n\n(empty)`;
    if (text === (stated.get(heading) ?? `${heading}\n\n(empty)`)) return [];
    const said = text.length > maxSection ? unread(heading, file, text) : text;
    return said === stated.get(heading) ? [] : [said];
  });
  const known = new Set([sent, ...told].flatMap((text) => text.split("\n")));
  const longer = Object.entries(lists).flatMap(([heading, file]) => {
    const lines = (now.get(heading) ?? "").split("\n").filter((line) => line !== "" && !known.has(line));
    if (lines.length === 0) return [];
    const text = [heading + added, ...lines].join("\n");
    if (text.length <= maxSection) return [text];
    const said = unread(heading, file, lines.join("\n"));
    return stated.get(heading) === said ? [] : [said];
  });
  return [...replaced, ...longer];
}

/** The version is a part of the line, so that another change is said again. */
const unread = (heading: string, file: string, text: string) =>
  `${heading}\n\n${file} has changed (${sha256(text).slice(0, 8)}): read it before you rely on it.`;

const added = ": added";
const headings: ReadonlySet<string> = new Set([...Object.keys(texts), ...Object.keys(lists), "## Runtime"]);

/** The sections of a prompt or of a message's tail, by heading. A file may contain what separates them. */
function sectionsOf(text: string): Map<string, string> {
  const sections = new Map<string, string>();
  let last = "";
  for (const part of text.replace(tailStart, "").replace(tailEnd, "").split(sectionSeparator)) {
    const heading = part.split("\n", 1)[0] ?? "";
    const isNew = last === "" || headings.has(heading.replace(added, "")) || part.startsWith("## Skills");
    if (isNew) last = heading;
    sections.set(last, isNew ? part : `${sections.get(last)}${sectionSeparator}${part}`);
  }
  return sections;
}
