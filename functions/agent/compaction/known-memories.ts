import { memoryId } from "../../../shared/memory/memory-line.ts";
import { isOfMachine, type Origins } from "../../../shared/origins/origins.ts";
import { type Message, textOf } from "../../../shared/protocol/messages.ts";
import { keyRules } from "../../../shared/session/key/routing.ts";
import { agentIdOf, sessionKind } from "../../../shared/session/key/session-key.ts";
import { audienceOf } from "../../../shared/workspace/privacy.ts";
import type { Agent } from "../agent.ts";

/** A memory that the model sees, so that it says which facts of a conversation are new. */
export interface KnownMemory {
  id: string;
  text: string;
  /** The day of its note, `YYYY-MM-DD`. */
  date?: string;
}

/** What a conversation says about a known memory. `text`: the fact that replaces it. */
export interface Change {
  kind: "same" | "replaces" | "ended";
  id: string;
  text?: string;
}

/** Max known memories of one question to the model. */
const maxKnown = 20;

/** Max characters of a conversation by which they are chosen: its newest ones. */
const maxCharacters = 20_000;

/** Max changes of one extraction. */
const maxChanges = 50;

/** A line of an answer about a known memory, and the line as it is stored. */
const answered =
  /^\s*(?:[-*+]\s+)?(same|replaces|ended)\s+[[(`]?([0-9a-f]{16})[\])`]?\s*(?:[:—–-]\s*(.*))?$/i;
const stored = /^- (same|replaces|ended) ([0-9a-f]{16})(?:: (.*))?$/;

/** A line that resembles one: without an id, or with a part of one. */
const malformed =
  /^\s*(?:[-*+]\s+)?(?:same|replaces|ended)(?:\s+[[(`]?[0-9a-f]{4,40}[\])`]?)?\s*(?::\s*(.*))?$/i;

/** The start of a new fact's line that says so. */
const isNew = /^(\s*(?:[-*+]\s+)?)new\s*:\s*/i;

/**
 * Whether a conversation may change what is remembered: only the owner and the owner's machines have spoken in it.
 * @param kind the kind of its session
 */
export function isOwners(kind: string, origins: Origins): boolean {
  return audienceOf(kind) !== "shared" && origins.every(isOfMachine);
}

/** The memories nearest to messages by their words. None for a conversation that contains words of others. */
export async function nearestMemories(
  agent: Pick<Agent, "configuration" | "memories">,
  sessionKey: string,
  origins: Origins,
  messages: readonly Message[],
): Promise<KnownMemory[]> {
  const configuration = await agent.configuration.load();
  const kind = sessionKind(sessionKey, keyRules(configuration));
  if (!isOwners(kind, origins)) return [];
  const said = messages.filter(({ role }) => role !== "toolResult").map(textOf);
  const text = said.join("\n").slice(-maxCharacters);
  if (text.trim() === "") return [];
  const memories = await agent.memories();
  const use = {
    agentId: agentIdOf(sessionKey),
    audience: audienceOf(kind),
    timezone: configuration.userTimezone,
  };
  const [found = []] = await memories.recallEach(use, [text], maxKnown);
  return found
    .filter(({ ended }) => ended === undefined)
    .map(({ id, text, places }) => {
      const date = places.map(({ path }) => /(\d{4}-\d{2}-\d{2})\.md$/.exec(path)?.[1]).find(Boolean);
      return { id, text, ...(date === undefined ? {} : { date }) };
    });
}

/**
 * The lines of a model's answer in the form in which they are stored: facts, `- same ID`, `- replaces ID: fact` and
 * `- ended ID`. A line about a memory that the model was not shown is a new fact, or nothing when it has no text.
 */
export function toStored(answer: string, known: readonly KnownMemory[]): string {
  const ids = new Set(known.map(({ id }) => id));
  return answer
    .split("\n")
    .flatMap((line) => storedLine(line, ids))
    .join("\n");
}

function storedLine(line: string, ids: ReadonlySet<string>): string[] {
  const [, word = "", id = "", rest = ""] = answered.exec(line) ?? [];
  const text = rest.trim();
  if (ids.has(id)) {
    const kind = word.toLowerCase();
    if (kind !== "replaces") return [`- ${kind} ${id}`];
    return text === "" || memoryId(text) === id ? [] : [`- replaces ${id}: ${text}`];
  }
  const about = malformed.exec(line);
  if (about === null) return [line.replace(isNew, "$1")];
  const fact = about[1]?.trim() ?? "";
  return fact === "" ? [] : [`- ${fact}`];
}

/** Separates stored lines: the facts, also those that replace others, and the changes of known memories. */
export function readStored(found: string): { text: string; changes: Change[] } {
  const facts = new Set<string>();
  const changes: Change[] = [];
  for (const line of found.split("\n")) {
    const [, kind, id = "", text] = stored.exec(line) ?? [];
    if (kind === undefined) facts.add(line);
    else {
      if (text !== undefined) facts.add(`- ${text}`);
      if (changes.length < maxChanges)
        changes.push({ kind: kind as Change["kind"], id, ...(text === undefined ? {} : { text }) });
    }
  }
  return { text: [...facts].join("\n"), changes };
}

/** A change as a stored line. */
export function changeLine({ kind, id, text }: Change): string {
  return text === undefined ? `- ${kind} ${id}` : `- ${kind} ${id}: ${text}`;
}
