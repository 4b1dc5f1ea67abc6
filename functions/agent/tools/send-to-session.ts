import { createHash } from "node:crypto";
import { PeerError } from "../../../shared/protocol/errors.ts";
import { answererOf } from "../../../shared/session/asked-session.ts";
import type { CallAddress } from "../../../shared/session/call-address.ts";
import { type CallOutcome, putOutcome, recordResult } from "../../../shared/session/calls.ts";
import { submitEntry } from "../../../shared/session/intake.ts";
import { isGuestSessionKey } from "../../../shared/session/key/session-key.ts";
import type { AskedSession } from "../../../shared/session/run.ts";
import type { Agent } from "../agent.ts";
import type { SessionMessage, ToolTurn } from "./native/native-tool.ts";
import { countRun, notSent } from "./send-limit.ts";

/** The id of the message that a call sends, and of the run that answers it. A repeat of the call gets the same id. */
function sentRunId({ sessionKey, runId, step, callId }: CallAddress): string {
  const name = JSON.stringify([sessionKey, runId, step, callId]);
  return `session:${createHash("sha256").update(name).digest("hex").slice(0, 32)}`;
}

/** What a run stores for a call that waits for a session's answer. @param at epoch ms */
export function askedSession(
  address: CallAddress,
  { sessionKey, queued, waitSeconds }: SessionMessage,
  at: number,
): AskedSession {
  return { sessionKey, runId: sentRunId(address), queued, at, waitSeconds };
}

/**
 * Sends a message of one session to another. A repeat is harmless: the inbox knows the message's id.
 * @param isPending the call waits for the answer; otherwise its outcome is stored here
 */
export async function sendToSession(
  agent: Agent,
  turn: Pick<ToolTurn, "askers" | "root" | "sender" | "origins">,
  address: CallAddress,
  { sessionKey, message, queued }: SessionMessage,
  isPending: boolean,
): Promise<void> {
  const runId = sentRunId(address);
  const from = address.sessionKey;
  const asker = isPending ? { asker: address } : {};
  const task = {
    kind: "session",
    sessionKey,
    runId,
    queued,
    askers: [...turn.askers, from],
    root: turn.root,
    ...(turn.sender ? { sender: turn.sender } : {}),
    ...asker,
  } as const;
  const submit = async (): Promise<CallOutcome | undefined> => {
    const limit = (await agent.configuration.load()).session.sendLimit;
    if (!(await countRun(agent.table, turn.root, runId, limit, agent.now())))
      return { result: notSent(sessionKey, limit), origins: [] };
    const sent = await submitEntry(agent, sessionKey, {
      ...{ id: runId, at: agent.now(), kind: "message", text: `[session · ${from}]\n${message}` },
      origin: { kind: "client" },
      configurationVersion: agent.configuration.version(),
      // The guest of this conversation can later ask about the message.
      ...(isGuestSessionKey(sessionKey) ? { role: "guest" as const } : {}),
      task,
      origins: [...turn.origins],
    });
    if (isPending) return undefined;
    return {
      result: { ok: true, result: { status: "accepted", runId, sessionKey, queued: sent.queued } },
      origins: [],
    };
  };
  const outcome = await submit().catch((error: unknown): CallOutcome => {
    if (error instanceof PeerError) return { result: { ok: false, error: error.message }, origins: [] };
    throw error;
  });
  if (!outcome) return;
  if (isPending) await recordResult(agent, address, answererOf(sessionKey), outcome, agent.now());
  else await putOutcome(agent, address, outcome, agent.now());
}
