import type { ExtraContent } from "../../../shared/context/render.ts";
import { readText } from "../../../shared/objects/text-store.ts";
import { resultText } from "../../../shared/objects/toolcall.ts";
import { joinOrigins } from "../../../shared/origins/origins.ts";
import type { ActivatedObject, ObjectSource } from "../../../shared/protocol/context-objects.ts";
import { PeerError } from "../../../shared/protocol/errors.ts";
import { agentIdOf } from "../../../shared/session/key/session-key.ts";
import type { SessionState } from "../../../shared/session/state.ts";
import { type Audience, checkReadable } from "../../../shared/workspace/privacy.ts";
import type { Agent } from "../agent.ts";

type Stores = Pick<Agent, "archivedResults" | "bucket" | "workspace">;
type Session = Pick<SessionState, "sessionKey" | "sessionId">;

/**
 * Reads the content of active files and archived results, in parallel. Null for an object that has no text any more.
 * `origins`: whose words the files contain, besides the owner's. Those of results are the conversation's.
 */
export async function loadExtras(
  agent: Stores,
  session: Session,
  extras: readonly ActivatedObject[],
): Promise<{ content: ExtraContent; origins: string[] }> {
  const stored = extras.filter(({ source }) => source.kind !== "call");
  const read = await Promise.all(
    stored.map(async ({ id, source }) => ({ id, ...(await contentOf(agent, session, source)) })),
  );
  return {
    content: new Map(read.map(({ id, text }) => [id, text])),
    origins: joinOrigins(...read.map(({ origins }) => origins)),
  };
}

async function contentOf(
  agent: Stores,
  { sessionKey, sessionId }: Session,
  source: ObjectSource,
): Promise<FileText> {
  const agentId = agentIdOf(sessionKey);
  if (source.kind === "archive") {
    const { at, line } = source;
    const result = await agent.archivedResults.read({ agentId, sessionId, at, line });
    return { text: result ? resultText(result) : null };
  }
  if (source.kind === "call") return { text: null };
  if (source.hash) return { text: (await readText(agent.bucket, agentId, source.hash)) ?? null };
  return readFileText(agent, agentId, source.path);
}

/** The content of a workspace file; null when it is not text, or is gone. `origins`: whose words it contains, besides the owner's. */
interface FileText {
  text: string | null;
  origins?: string[] | undefined;
}

/** Reads a workspace file. */
export async function readFileText(
  { workspace }: Pick<Agent, "workspace">,
  agentId: string,
  path: string,
): Promise<FileText> {
  try {
    const { content: text, origins } = await workspace.read(agentId, path);
    return { text, origins };
  } catch (error) {
    if (error instanceof PeerError) return { text: null };
    throw error;
  }
}

/** The objects that an audience may see: a file may be private to another kind of conversation. */
export function readableExtras(extras: readonly ActivatedObject[], audience: Audience): ActivatedObject[] {
  return extras.filter(({ source }) => source.kind !== "file" || isReadable(audience, source.path));
}

function isReadable(audience: Audience, path: string): boolean {
  try {
    checkReadable(audience, path);
    return true;
  } catch (error) {
    if (error instanceof PeerError) return false;
    throw error;
  }
}
