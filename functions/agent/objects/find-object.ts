import { contextCalls, isContextTool, titleOf } from "../../../shared/context/context-calls.ts";
import { earlierOf } from "../../../shared/context/view.ts";
import { chatId, promptId, sessionObjectId } from "../../../shared/objects/locked-objects.ts";
import { argsDisplay, callsOf, resultText } from "../../../shared/objects/toolcall.ts";
import type { ActivatedObject, ObjectSource } from "../../../shared/protocol/context-objects.ts";
import type { Message } from "../../../shared/protocol/messages.ts";
import { findArchives, loadArchiveLines, partTime } from "../../../shared/session/archive.ts";
import { agentIdOf } from "../../../shared/session/key/session-key.ts";
import type { SessionState } from "../../../shared/session/state.ts";
import { type Audience, checkReadable } from "../../../shared/workspace/privacy.ts";
import type { Agent } from "../agent.ts";
import { readFileText } from "./inline-files.ts";

/** The session in which an object is searched, with its live messages. */
export interface ObjectSearch {
  state: SessionState;
  messages: readonly Message[];
  audience: Audience;
}

export type FoundObject =
  /** `origins`: whose words a file contains, besides the owner's. */
  | ({ status: "found"; text: string; origins?: string[] | undefined } & Pick<
      ActivatedObject,
      "id" | "title" | "source"
    >)
  /** The model always sees it. */
  | { status: "locked" }
  /** It has no text: an image, a file that is not text, or a deleted file. */
  | { status: "no text"; id: string; why: string }
  | { status: "pending" }
  | { status: "missing" };

type Stores = Pick<Agent, "bucket" | "workspace">;

const noText = "Content unavailable (non-text file)";

/**
 * Finds an object of a session by its id, or a call by its provider's id. It finds only calls of the session's own
 * conversation, and files that this conversation may read.
 * @throws PeerError 403 for a file that is private memory
 */
export async function findObject(agent: Stores, search: ObjectSearch, id: string): Promise<FoundObject> {
  const { sessionKey, sessionId } = search.state;
  const locked = [chatId(sessionId), sessionObjectId(sessionKey), promptId(agentIdOf(sessionKey), sessionId)];
  if (locked.includes(id)) return { status: "locked" };
  const path = /^file:gsv:(.+)$/s.exec(id)?.[1];
  if (path !== undefined) return findFile(agent, search, path);
  return liveCall(search.messages, id) ?? (await archivedCall(agent, search, id)) ?? { status: "missing" };
}

function liveCall(messages: readonly Message[], id: string): FoundObject | undefined {
  const calls = contextCalls(messages).filter(({ tool }) => !isContextTool(tool));
  const named = calls.filter(({ providerId }) => providerId === id);
  const call = calls.find((one) => one.id === id) ?? (named.length === 1 ? named[0] : undefined);
  if (call) return found(call.id, titleOf(call), resultText(call.result), { kind: "call" });
  return callsOf(messages).some((one) => one.id === id && !one.result) ? { status: "pending" } : undefined;
}

function found(id: string, title: string, text: string | null, source: ObjectSource): FoundObject {
  return text === null
    ? { status: "no text", id, why: noText }
    : { status: "found", id, title, text, source };
}

/** Finds a call in the archives of the conversation: in the one that the summary names, otherwise in any of them. */
async function archivedCall(
  { bucket }: Stores,
  { state, messages }: ObjectSearch,
  id: string,
): Promise<FoundObject | undefined> {
  const { sessionKey, sessionId, compactedAt = 0 } = state;
  const { calls, more } = earlierOf(messages);
  const known = calls.find((call) => call.id === id || call.providerId === id);
  if (!known && calls.length + more === 0 && state.compactedAt === undefined) return undefined;
  const { parts } = await findArchives(bucket, agentIdOf(sessionKey), sessionId);
  const counted = parts.filter((key) => partTime(key) <= compactedAt).reverse();
  const [own] = known ? counted.filter((key) => partTime(key) === known.at) : [];
  for (const key of own ? [own] : counted) {
    const call = await callInArchive(bucket, key, known?.id ?? id);
    if (call) return call;
  }
  return undefined;
}

async function callInArchive(
  bucket: Agent["bucket"],
  key: string,
  id: string,
): Promise<FoundObject | undefined> {
  const lines = (await loadArchiveLines(bucket, key)) ?? [];
  const messages = lines.map((line) => JSON.parse(line) as Message);
  const calls = contextCalls(messages);
  const named = calls.filter(({ providerId }) => providerId === id);
  const call = calls.find((one) => one.id === id) ?? (named.length === 1 ? named[0] : undefined);
  if (!call || isContextTool(call.tool)) return undefined;
  const source = { kind: "archive", at: partTime(key), line: call.index } as const;
  return found(call.id, argsDisplay(call.tool, call.args), resultText(call.result), source);
}

/** Finds a workspace file. A missing file is an object only if a call of the conversation names its path. */
async function findFile(
  agent: Stores,
  { state, messages, audience }: ObjectSearch,
  path: string,
): Promise<FoundObject> {
  checkReadable(audience, path);
  const id = `file:gsv:${path}`;
  const { text, origins } = await readFileText(agent, agentIdOf(state.sessionKey), path);
  if (text !== null)
    return { status: "found", id, title: path, text, source: { kind: "file", path }, origins };
  const isTouched = contextCalls(messages).some(
    ({ args }) => (args as { path?: unknown } | null)?.path === path,
  );
  return isTouched ? { status: "no text", id, why: `${noText}, or the file is gone` } : { status: "missing" };
}
