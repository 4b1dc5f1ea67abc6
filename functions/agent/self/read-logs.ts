import { joinOrigins } from "../../../shared/origins/origins.ts";
import { code, PeerError } from "../../../shared/protocol/errors.ts";
import { type Preview, previewCharacters } from "../../../shared/recall/preview.ts";
import type { Recall } from "../../../shared/recall/recall.ts";
import type { Turn } from "../../../shared/recall/segment.ts";
import { sourceOf } from "../../../shared/recall/source.ts";
import type { RecallScope } from "../../../shared/recall/visible-turns.ts";
import { keyRules } from "../../../shared/session/key/routing.ts";
import type { KeyRules } from "../../../shared/session/key/session-key.ts";
import type { ToolCallContext } from "../tools/native/native-tool.ts";
import { recallScope } from "./recall-scope.ts";

/** Entries of an answer: the default, the default of `recent`, and the maximum. */
const entries = { usual: 50, recent: 10, max: 500 };

/** The arguments of `gsv__session_logs`: docs/search.md. */
export interface LogRequest {
  action: "list" | "read" | "recent" | "list_sessions" | "read_session" | "search";
  session_id?: string | undefined;
  query?: string | undefined;
  limit?: number | undefined;
  max_chars?: number | undefined;
  from_message?: number | undefined;
}

interface Answer {
  result: Record<string, unknown>;
  origins: string[];
}

interface Request {
  recall: Recall;
  scope: RecallScope;
  rules: KeyRules;
  limit: number;
  preview: number;
}

/**
 * Answers `gsv__session_logs`, with the conversations of `recallScope`.
 * @returns also whose words the answer contains, besides the owner's
 * @throws PeerError for an error that the model can fix
 */
export async function readLogs(args: LogRequest, context: ToolCallContext): Promise<Answer> {
  const { agent } = context;
  const configuration = await agent.configuration.load();
  const request: Request = {
    recall: await agent.recall(),
    scope: recallScope(configuration, context),
    rules: keyRules(configuration),
    limit: within(args.limit, args.action === "recent" ? entries.recent : entries.usual, 1, entries.max),
    preview: within(args.max_chars, previewCharacters.usual, previewCharacters.least, previewCharacters.most),
  };
  const answer = {
    ...{ list: listConversations, read: readSession, recent },
    // The names of the seed.
    ...{ list_sessions: listConversations, read_session: readSession, search },
  };
  return answer[args.action](args, request);
}

async function listConversations(_: LogRequest, { recall, scope, rules, limit }: Request): Promise<Answer> {
  const { conversations, waiting } = await recall.conversations(scope);
  const sessions = conversations.slice(0, limit).map(({ sessionId, sessionKey, count, firstAt, lastAt }) => ({
    session_id: sessionId,
    session: sessionKey,
    source: sourceOf(sessionKey, rules),
    entry_count: count,
    first_timestamp: time(firstAt),
    last_timestamp: time(lastAt),
  }));
  return { result: { count: sessions.length, sessions, ...waitingNote(waiting) }, origins: [] };
}

async function search(args: LogRequest, { recall, scope, rules, limit, preview }: Request): Promise<Answer> {
  const question = required("query", args.query);
  const { found, waiting } = await recall.search(
    { ...scope, withoutNewest: true },
    { question, limit, preview },
  );
  const hits = found.map(({ turn, preview: part }) => ({
    session_id: turn.conversation.sessionId,
    source: sourceOf(turn.conversation.sessionKey, rules),
    ...about(turn),
    preview: part.text,
    truncated: isTruncated(turn, part),
  }));
  const origins = joinOrigins(...new Set(found.map(({ turn }) => turn.conversation.origins)));
  return { result: { query: question, count: hits.length, hits, ...waitingNote(waiting) }, origins };
}

async function readSession(args: LogRequest, { recall, scope, limit, preview }: Request): Promise<Answer> {
  const name = required("session_id", args.session_id);
  const from = args.from_message === undefined ? {} : { from: args.from_message };
  const part = await recall.read(scope, { name, limit, preview, ...from });
  if (!part) throw notFound(name);
  const { conversation, entries, truncated } = part;
  const result = {
    session_id: conversation.sessionId,
    session: conversation.sessionKey,
    total_entries: conversation.count,
    returned: entries.length,
    truncated,
    entries: entries.map(loggedTurn),
  };
  return { result, origins: conversation.origins };
}

/** The end of a conversation, by default of this one. */
async function recent(args: LogRequest, { recall, scope, limit, preview }: Request): Promise<Answer> {
  const name = args.session_id?.trim() || scope.sessionKey || "";
  const part = await recall.read(scope, { name, limit, preview, newest: true });
  if (!part && name !== scope.sessionKey) throw notFound(name);
  const entries = part?.entries ?? [];
  const result = {
    session_id: part?.conversation.sessionId,
    count: entries.length,
    entries: entries.map(loggedTurn),
  };
  return { result, origins: part?.conversation.origins ?? [] };
}

function loggedTurn({ turn, preview }: { turn: Turn; preview: Preview }) {
  return { ...about(turn), content: preview.text, truncated: isTruncated(turn, preview) };
}

function about({ n, ts, role, channel, senderId, calls }: Turn) {
  return {
    message: n,
    timestamp: time(ts),
    role,
    ...(channel === undefined ? {} : { source_plugin: channel }),
    ...(senderId === undefined ? {} : { sender_id: senderId }),
    ...(calls === undefined ? {} : { tools: calls }),
  };
}

const isTruncated = ({ cut }: Turn, { truncated }: Preview): boolean => cut === true || truncated;

const time = (at: number): string => new Date(at).toISOString();

/** Says that archives remain to be searched, if so. */
export const waitingNote = (waiting: number): { note?: string } =>
  waiting === 0
    ? {}
    : { note: `${waiting} archives were not searched yet; repeat the same call to search them` };

function notFound(name: string): PeerError {
  return new PeerError(code.notFound, `session_not_found: ${name}; list lists the readable ones`);
}

function required(name: string, value: string | undefined): string {
  const text = value?.trim() ?? "";
  if (text === "") throw new PeerError(code.badRequest, `${name}: this action needs it`);
  return text;
}

/** The model's value within its bounds, or the default. */
function within(value: number | undefined, usual: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value ?? usual));
}
