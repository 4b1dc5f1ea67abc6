import { randomUUID } from "node:crypto";
import { remove, set } from "../../shared/aws/expression.ts";
import { log } from "../../shared/log.ts";
import { okFrame } from "../../shared/protocol/frames.ts";
import { type InboxEntry, messageCount, sessionPartition } from "../../shared/session/state.ts";
import type { Agent } from "./agent.ts";
import type { Hold } from "./hold.ts";

/** What `session.reset` answers. */
export interface ResetResult {
  ok: true;
  sessionKey: string;
  oldSessionId: string;
  newSessionId: string;
  archivedMessages: number;
  archivedTo?: string;
  tokensCleared: { input: number; output: number; total: number };
  mediaDeleted: number;
}

/** Starts a session afresh under a new id and tells whoever asked for it. */
export async function resetSession(
  agent: Agent,
  hold: Hold,
  entry: Extract<InboxEntry, { kind: "reset" }>,
): Promise<void> {
  const { sessionId, sessionKey, tokens, previousSessionIds } = hold.state;
  const now = agent.now();
  const newSessionId = randomUUID();
  const result: ResetResult = {
    ok: true,
    sessionKey,
    oldSessionId: sessionId,
    newSessionId,
    archivedMessages: messageCount(hold.state),
    tokensCleared: tokens,
    mediaDeleted: 0,
  };
  await hold.commitEntry(entry, [
    set("sessionId", newSessionId),
    set("previousSessionIds", [...previousSessionIds, sessionId]),
    set("first", 1),
    set("head", 0),
    set("tokens", { input: 0, output: 0, total: 0 }),
    remove("contextTokens"),
    set("lastResetAt", now),
    set("updatedAt", now),
    set("listPk", sessionPartition),
    set("listSk", now),
  ]);
  log("session.reset", { sessionKey, oldSessionId: sessionId, newSessionId });
  const response = `Session reset. Archived ${result.archivedMessages} messages.`;
  await respond(agent, entry, result, { status: "command", command: "reset", response });
}

/** Answers the request that an entry stands for, in the shape in which it came. */
async function respond(
  agent: Agent,
  entry: Extract<InboxEntry, { kind: "reset" }>,
  asMethod: object,
  asCommand: { status: "command"; command: string; response: string },
): Promise<void> {
  const { origin } = entry;
  if (origin.kind === "channel") {
    await agent.channels.deliver(origin, entry.id, asCommand.response);
  } else if (origin.connectionId && origin.requestId) {
    const payload = entry.via === "method" ? asMethod : asCommand;
    await agent.sockets.post(origin.connectionId, okFrame(origin.requestId, payload));
  }
}
