import type { Message } from "../../shared/protocol/messages.ts";
import { addArchives } from "../../shared/recall/archived-turns.ts";
import { fuseRanks } from "../../shared/recall/fusion.ts";
import { openRecall } from "../../shared/recall/recall.ts";
import { createSegments } from "../../shared/recall/segments.ts";
import { archivePart } from "../../shared/session/archive.ts";
import type { State } from "../support/state.ts";
import { type QuestionSet, timeOf } from "./question-set.ts";

/** Percentages are of questions (`any_at_5`, `first`) and of evidence turns (`evidence_at_10`). Times in ms. */
export interface RecallFigures {
  sessions: number;
  turns: number;
  questions: number;
  /** A conversation that holds an evidence turn is among the first five that are found. */
  any_at_5: number;
  /** Evidence turns that are among the first ten turns that are found; the mean over the questions. */
  evidence_at_10: number;
  /** The first turn that is found is an evidence turn. */
  first: number;
  /** Writing what search reads, once for each conversation. */
  index_ms: number;
  /** The first search of a cold function: it reads everything and builds its index. */
  first_query_ms: number;
  query_p50_ms: number;
  rss_mb: number;
}

const agentId = "main";
const sessionKey = "agent:main:main";
const firstSessions = 5;
const firstTurns = 10;
/** Archives that are added by one write: a long set would otherwise take minutes. */
const archivesAtOnce = 100;
/** Turns that are asked for, so that five conversations are among them. */
const asked = 200;

/**
 * Puts the conversations into a gateway's bucket as compactions do, asks the questions, and compares what is found.
 */
export async function measure(set: QuestionSet, { table, bucket }: State): Promise<RecallFigures> {
  const places = new Map<string, string>();
  const archives: string[] = [];
  const began = performance.now();
  for (const [i, session] of set.sessions.entries()) {
    const at = timeOf(session);
    const sessionId = `s${String(i).padStart(6, "0")}`;
    for (const [k, { id }] of session.turns.entries()) places.set(id, `${sessionId} ${k + 1}`);
    const messages = session.turns.map(({ role, text }, k) => messageOf(role, text, at + k));
    const key = await archivePart(bucket, { sessionKey, sessionId }, at, {
      count: messages.length,
      stream: messages,
    });
    archives.push(key);
  }
  for (let start = 0; start < archives.length; start += archivesAtOnce)
    await addArchives(bucket, createSegments(bucket), agentId, archives.slice(start, start + archivesAtOnce));
  const indexed = performance.now();
  const cold = openRecall({ table, bucket });
  const scope = { agentId, all: true, timezone: "UTC" };
  const times: number[] = [];
  let [anyAtFive, evidenceAtTen, first] = [0, 0, 0];
  for (const { text, queries = [text], evidence } of set.questions) {
    const start = performance.now();
    const { orders } = await cold.find(scope, { questions: queries, limit: asked });
    times.push(performance.now() - start);
    const wanted = evidence.map((id) => places.get(id) ?? "");
    const named = orders.map((order) => order.map(({ turn }) => `${turn.conversation.sessionId} ${turn.n}`));
    const turns = fuseRanks(named, (place) => place);
    const sessions = [...new Set(turns.map(sessionOf))].slice(0, firstSessions);
    if (wanted.some((place) => sessions.includes(sessionOf(place)))) anyAtFive++;
    if (wanted.includes(turns[0] ?? "")) first++;
    const ten = turns.slice(0, firstTurns);
    evidenceAtTen += wanted.filter((place) => ten.includes(place)).length / Math.max(1, wanted.length);
  }
  const percent = (count: number) => Math.round((1000 * count) / Math.max(1, set.questions.length)) / 10;
  const [coldMs = 0, ...later] = times;
  return {
    sessions: set.sessions.length,
    turns: set.sessions.reduce((sum, { turns }) => sum + turns.length, 0),
    questions: set.questions.length,
    any_at_5: percent(anyAtFive),
    evidence_at_10: percent(evidenceAtTen),
    first: percent(first),
    index_ms: Math.round(indexed - began),
    first_query_ms: Math.round(coldMs),
    query_p50_ms: Math.round(10 * median(later)) / 10,
    rss_mb: Math.round(process.memoryUsage().rss / 1024 / 1024),
  };
}

const sessionOf = (place: string): string => place.split(" ")[0] ?? "";

/** A speaker who is neither user nor assistant is named in the text, as channels name the senders of a group. */
function messageOf(role: string, text: string, timestamp: number): Message {
  if (role === "assistant") return { role, content: [{ type: "text", text }], timestamp };
  const isNamed = role !== "user" && !text.startsWith(role);
  return { role: "user", content: isNamed ? `${role}: ${text}` : text, timestamp };
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
