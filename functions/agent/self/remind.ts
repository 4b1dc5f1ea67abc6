import type { MemoryLine } from "../../../shared/memory/memory-line.ts";
import { indexMemories } from "../../../shared/memory/memory-store.ts";
import { mentionsOf, tombstoneOf } from "../../../shared/memory/tombstone.ts";
import { isOfMachine, joinOrigins, kindOf } from "../../../shared/origins/origins.ts";
import { densestPlace, partAround } from "../../../shared/recall/preview.ts";
import { questionTerms, rankTurns } from "../../../shared/recall/ranking.ts";
import type { IndexedTurn, TurnIndex } from "../../../shared/recall/turn-index.ts";
import { sentencesOf, termsOf } from "../../../shared/recall/words.ts";
import { localTime } from "../../../shared/runtime/zoned-time.ts";
import {
  clientKinds,
  isGuestSessionKey,
  type KeyRules,
  sessionKind,
} from "../../../shared/session/key/session-key.ts";
import { type Audience, isVisible } from "../../../shared/workspace/privacy.ts";

export { indexMemories };

/** The texts that reminders are chosen from. */
interface RemindSource {
  /** Memories as the owner's main session sees them. */
  lines: readonly MemoryLine[];
  memories: TurnIndex;
  /** The turns of all archived conversations of the agent. */
  turns: readonly TurnIndex[];
  /** Whether a text says something that was forgotten or has ended. */
  isGone(text: string): boolean;
}

/** The message that reminders are found for. */
export interface RemindRequest {
  sessionKey: string;
  audience: Audience;
  rules: KeyRules;
  /** IANA name. */
  timezone: string;
  text: string;
  /** Whether memories and earlier conversations may be used. */
  uses: { memories: boolean; turns: boolean };
  /** The prompt, and the messages before this one: what they contain needs no reminder. */
  visible: () => string;
}

/** Reminders as text, and the owner's machines whose words they contain. */
export interface Reminded {
  lines: string[];
  origins: string[];
}

/** Bounds of the reminders of a message: lines, bytes in UTF-8 (about 600 tokens), and characters of one text. */
const max = { lines: 5, bytes: 1700, ofText: 240 };

/** Of a message: the sentences that are looked up, the first and the last ones, and its characters. */
const asked = { first: 1, last: 2, characters: 4000 };

/** Candidates of each sentence. */
const depth = 30;

/**
 * What a reminder must contain: this share of a sentence's words by weight, this share by number, one word that only so many
 * texts have, and one that the sentence has not.
 */
const min = { weight: 0.35, words: 1 / 3, holders: 8, ofAll: 0.02 };

/** Words are weighed as among this many texts at least, so that few texts do not make all words common. */
const minTexts = 1000;

interface Candidate {
  /** Its date, source and id. */
  about: string;
  text: string;
  share: number;
  ts: number;
  origins: readonly string[];
}

/**
 * Chooses what a message reminds of: at most five lines. Texts that contain words of others than the owner are left out, because
 * nobody asked for them: a page or a guest could otherwise put a sentence into any later request.
 * @returns undefined when there are none
 */
export function remind(source: RemindSource, request: RemindRequest): Reminded | undefined {
  const found = new Map<string, Candidate>();
  for (const sentence of sentencesToAsk(request.text)) {
    for (const one of candidates(source, request, sentence)) {
      const known = found.get(one.about);
      if (!known || known.share < one.share) found.set(one.about, one);
    }
  }
  if (found.size === 0) return undefined;
  const seen = plain(request.visible());
  const best = [...found.values()]
    .filter(({ text }) => !source.isGone(text) && !seen.includes(plain(text)))
    .sort((a, b) => b.share - a.share || b.ts - a.ts);
  return shownOf(best, request.text);
}

/** The sentences of a message that say what it is about: usually the question is at its start or its end. */
function sentencesToAsk(text: string): string[] {
  const sentences = sentencesOf(text.slice(0, asked.characters));
  return sentences.length <= asked.first + asked.last
    ? sentences
    : [...sentences.slice(0, asked.first), ...sentences.slice(-asked.last)];
}

function candidates(source: RemindSource, request: RemindRequest, sentence: string): Candidate[] {
  const { uses } = request;
  const indexes = [...(uses.memories ? [source.memories] : []), ...(uses.turns ? source.turns : [])];
  const terms = questionTerms(sentence);
  const weighed = weigh(indexes, terms);
  return rankTurns(indexes, sentence, depth).flatMap(({ turn }) => {
    const own = new Set(termsOf(turn.text));
    const shared = weighed.filter(({ term }) => own.has(term));
    const share = sum(shared) / sum(weighed);
    const isAbout =
      share >= min.weight &&
      shared.length >= terms.length * min.words &&
      shared.some(({ isRare }) => isRare) &&
      own.size > shared.length;
    if (!isAbout) return [];
    const line = turn.conversation.sessionKey === "" ? source.lines[turn.n - 1] : undefined;
    const one = line ? ofMemory(line, request) : ofTurn(turn, request);
    return one ? [{ ...one, share, ts: turn.ts }] : [];
  });
}

/** The words of a sentence with their weight: the fewer texts have one, the more. */
function weigh(indexes: readonly TurnIndex[], terms: readonly string[]) {
  const total = indexes.reduce((count, { turns }) => count + turns.length, 0);
  const few = Math.max(min.holders, min.ofAll * total);
  return terms.map((term) => {
    const holders = indexes.reduce((count, index) => count + index.postings(term).length, 0);
    const weight = Math.log(1 + Math.max(minTexts, total) / (holders + 0.5));
    return { term, weight, isRare: holders <= few };
  });
}

const sum = (weighed: readonly { weight: number }[]) => weighed.reduce((all, { weight }) => all + weight, 0);

type Found = Omit<Candidate, "share" | "ts">;

function ofMemory(line: MemoryLine, { audience }: RemindRequest): Found | undefined {
  const { id, text, path, origins = [] } = line;
  if (!isVisible(audience, path) || !origins.every(isOfMachine)) return undefined;
  const day = /(\d{4}-\d{2}-\d{2})\.md$/.exec(path)?.[1];
  return { about: `${day ?? "undated"}, ${path}, memory ${id}`, text, origins };
}

/** Undefined for what this conversation may not see, for questions, and for words of others than the owner. */
function ofTurn(turn: IndexedTurn, request: RemindRequest): Found | undefined {
  const { conversation, n, role, channel, ts, text } = turn;
  if (!isSeen(conversation.sessionKey, request) || sentencesOf(text).every(isQuestion)) return undefined;
  if (role === "tool" || (role === "user" && (channel === undefined || ownChannels.has(channel))))
    return undefined;
  const { origins = [] } = conversation;
  // Without guests the owner wrote the user's messages, whatever else the conversation contains.
  const isOwn = role === "user" && origins.every((one) => kindOf(one) !== "guest");
  if (!isOwn && !origins.every(isOfMachine)) return undefined;
  const { date, time } = localTime(ts, request.timezone);
  const where = channel ?? sessionKind(conversation.sessionKey, request.rules);
  const about = `${date} ${time}, ${where}, ${role}, message ${n} of ${conversation.sessionId}`;
  return { about, text, origins: isOwn ? [] : origins };
}

/** Channels of messages that the gateway wrote itself. */
const ownChannels: ReadonlySet<string> = new Set(["cron", "exec", "heartbeat", "session"]);

const isQuestion = (sentence: string) => /[?？]\s*$/.test(sentence);

/** Main sees the owner's conversations, a named one those of main and named sessions, every other only its own. */
function isSeen(key: string, { audience, sessionKey, rules }: RemindRequest): boolean {
  if (isGuestSessionKey(key)) return false;
  const kind = sessionKind(key, rules);
  if (audience === "main") return kind === "dm" || clientKinds.includes(kind);
  return audience === "own" ? clientKinds.includes(kind) : key === sessionKey;
}

/** The best ones that fit, without those that say the same again. */
function shownOf(best: readonly Candidate[], question: string): Reminded | undefined {
  const terms = new Set(questionTerms(question));
  const lines: string[] = [];
  const told: ReadonlySet<string>[] = [];
  const origins: (readonly string[])[] = [];
  let left = max.bytes;
  for (const { about, text, origins: from } of best) {
    const words = new Set(termsOf(text));
    if (told.some((other) => [...words].every((word) => other.has(word)))) continue;
    const part = partAround(text, densestPlace(text, terms, max.ofText), max.ofText).text;
    const line = `- ${about}: ${part.replaceAll(/\s+/g, " ")}`;
    const bytes = Buffer.byteLength(line) + 1;
    if (bytes > left) continue;
    left -= bytes;
    told.push(words);
    lines.push(line);
    origins.push(from);
    if (lines.length === max.lines) break;
  }
  return lines.length === 0 ? undefined : { lines, origins: joinOrigins(...origins) };
}

const plain = (text: string) => text.normalize("NFC").replaceAll(/\s+/g, " ").toLowerCase();

/** A test for texts: whether they say what a memory that has ended said. */
export function endedTest(agentId: string, ended: readonly MemoryLine[]): (text: string) => boolean {
  return mentionsOf(agentId, new Map(ended.map(({ id, text }) => [id, tombstoneOf(agentId, text)])));
}
