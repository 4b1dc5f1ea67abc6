import { createHash } from "node:crypto";
import { deliverToReceiver } from "../../../shared/channels/receiver.ts";
import { recordBeatAnswer } from "../../../shared/heartbeat/beat-state.ts";
import { log } from "../../../shared/runtime/log.ts";
import type { HeartbeatTask } from "../../../shared/session/inbox-entry.ts";
import { absent, any, atMost, equal } from "../../../shared/world/expression.ts";
import { type Key, succeeds, type Table } from "../../../shared/world/world.ts";
import type { Agent } from "../agent.ts";

/** All failures count as the same text: their reasons differ only in details, and one a day is enough. */
const failureText = "failure";

/**
 * Settles a beat of a heartbeat: records its answer for `heartbeat.status`, and delivers it unless it reports nothing or
 * the same text was sent within 24 hours. A failure is delivered too, once in 24 hours, but not a stop. Every write is
 * repeatable; the delivery has receipts under the run's id.
 */
export async function settleHeartbeat(
  agent: Pick<Agent, "table" | "channels" | "configuration" | "now">,
  sessionKey: string,
  { agentId, to: planned }: HeartbeatTask,
  runId: string,
  end: { answer?: string; failure?: string; note?: string },
): Promise<void> {
  const { table, now } = agent;
  const { failure, answer = "" } = end;
  const message = failure === undefined ? deliverableText(answer) : end.note;
  let sentAt: number | undefined;
  if (message && planned) {
    const toSend = { agentId, text: failure === undefined ? message : failureText, runId };
    if (await claimText(table, toSend, now())) {
      // Not before the claim: an owner may be removed while it is written.
      const text = failure === undefined ? { markdown: message } : message;
      const to = { origin: { ...planned, sessionKey }, sender: undefined };
      const delivered = await deliverToReceiver(agent, to, runId, text, { runId });
      if (delivered.ok) sentAt = now();
      else await releaseText(table, toSend);
    } else log("heartbeat.repeated", { agentId, runId });
  }
  const text = failure === undefined ? answer : `Error: ${failure}`;
  await recordBeatAnswer(table, agentId, { at: now(), text, sentAt });
}

/** Within this time an agent's heartbeat does not send the same text again. Milliseconds. */
const guardMs = 86_400_000;

/** A text that a beat wants to send. */
interface ToSend {
  agentId: string;
  /** The compared text, or one name for all texts that count as the same. */
  text: string;
  /** The run that sends it. */
  runId: string;
}

/**
 * Claims a text for sending. False when another run claimed it within 24 hours. The same run may claim it again: after a
 * crash its delivery is repeated under the same id, and receipts skip the parts that were sent.
 */
async function claimText(table: Table, toSend: ToSend, now: number): Promise<boolean> {
  const { runId } = toSend;
  const claim = { runId, sentAt: now, expiresAt: Math.ceil((now + guardMs) / 1000) };
  const isFree = any(absent("pk"), atMost("sentAt", now - guardMs), equal("runId", runId));
  return succeeds(table.put({ ...keyOf(toSend), ...claim }, isFree));
}

/** Releases the claim of a text that could not be sent, so that the next beat may send it. */
async function releaseText(table: Table, toSend: ToSend): Promise<void> {
  await succeeds(table.delete(keyOf(toSend), equal("runId", toSend.runId)));
}

function keyOf({ agentId, text }: ToSend): Key {
  const digest = createHash("sha256").update(text).digest("hex");
  return { pk: `BEAT#${agentId}`, sk: digest.slice(0, 32) };
}

/** The model's answer when it has nothing to report. */
const token = "HEARTBEAT_OK";

/** An answer with the token reports nothing if the rest of it is not longer than this. Characters. */
const maxRest = 300;

/** Characters around the token that are ignored: white space, emphasis, and after it the end of a sentence. */
const before = "[\\s*~`\"']*";
const after = "[\\s*~`\"'.!]*";
const atStart = new RegExp(`^${before}${token}(?![\\p{L}\\p{N}_])${after}`, "u");
const atEnd = new RegExp(`(?<![\\p{L}\\p{N}_])${before}${token}${after}$`, "u");

/** The token is searched in this many characters at the end: the pattern is slow on a long text. */
const endLength = 100;

/**
 * The part of a heartbeat's answer to deliver. Undefined when it reports nothing: `HEARTBEAT_OK` at its start or end, and
 * at most 300 other characters. A longer text is delivered without the token, and a text without the token unchanged.
 */
export function deliverableText(answer: string): string | undefined {
  const text = answer.trim();
  const rest = withoutEnd(text.replace(atStart, "")).trim();
  if (rest === text) return text;
  return [...rest].length > maxRest ? rest : undefined;
}

function withoutEnd(text: string): string {
  return text.slice(0, -endLength) + text.slice(-endLength).replace(atEnd, "");
}
