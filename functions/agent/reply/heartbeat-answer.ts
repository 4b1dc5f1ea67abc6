import { createHash } from "node:crypto";
import { recordBeatAnswer } from "../../../shared/heartbeat/beat-state.ts";
import { log } from "../../../shared/runtime/log.ts";
import type { HeartbeatTask } from "../../../shared/session/inbox-entry.ts";
import { absent, any, atMost, equal } from "../../../shared/world/expression.ts";
import { type Key, succeeds, type Table } from "../../../shared/world/world.ts";
import type { Agent } from "../agent.ts";

/** All failures count as one text: their reasons differ in details, and one a day is enough. */
const failureText = "failure";

/**
 * Settles a beat of a heartbeat: delivers what the answer says, unless it says nothing or the same was sent
 * within 24 hours, and notes it for `heartbeat.status`. A beat that failed tells so, likewise once in 24 hours;
 * one that was stopped does not. Every write can be repeated; the delivery has receipts under the run's id.
 */
export async function settleHeartbeat(
  agent: Pick<Agent, "table" | "channels" | "now">,
  { agentId, to }: HeartbeatTask,
  runId: string,
  end: { answer?: string; failure?: string; note?: string },
): Promise<void> {
  const { table, now } = agent;
  const { failure, answer = "" } = end;
  const told = failure === undefined ? deliverableText(answer) : end.note;
  let sentAt: number | undefined;
  if (told && to) {
    const toSend = { agentId, text: failure === undefined ? told : failureText, runId };
    if (await claimText(table, toSend, now())) {
      const delivered = await agent.channels.deliver(to, runId, told);
      if (delivered.ok) sentAt = now();
      else {
        log("channel.undelivered", { runId, channel: to.channel, reason: delivered.reason });
        await releaseText(table, toSend);
      }
    } else log("heartbeat.repeated", { agentId, runId });
  }
  const text = failure === undefined ? answer : `Error: ${failure}`;
  await recordBeatAnswer(table, agentId, { at: now(), text, sentAt });
}

/** For this long an agent's heartbeat does not send the same text again, in milliseconds. */
const guardMs = 86_400_000;

/** A text that a beat wants to send. */
interface ToSend {
  agentId: string;
  /** What is compared: the text, or a name for all texts that count as the same. */
  text: string;
  /** The run that sends it. */
  runId: string;
}

/**
 * Claims a text for sending. False when another run has claimed it within 24 hours. The same run may claim it
 * again: after a crash its delivery is repeated under the same id, and receipts skip what was sent.
 */
async function claimText(table: Table, toSend: ToSend, now: number): Promise<boolean> {
  const { runId } = toSend;
  const claim = { runId, sentAt: now, expiresAt: Math.ceil((now + guardMs) / 1000) };
  const isFree = any(absent("pk"), atMost("sentAt", now - guardMs), equal("runId", runId));
  return succeeds(table.put({ ...keyOf(toSend), ...claim }, isFree));
}

/** Gives up the claim of a text that could not be sent, so that the next beat may try again. */
async function releaseText(table: Table, toSend: ToSend): Promise<void> {
  await succeeds(table.delete(keyOf(toSend), equal("runId", toSend.runId)));
}

function keyOf({ agentId, text }: ToSend): Key {
  const digest = createHash("sha256").update(text).digest("hex");
  return { pk: `BEAT#${agentId}`, sk: digest.slice(0, 32) };
}

/** What the model answers when there is nothing to tell. */
const token = "HEARTBEAT_OK";

/** An answer with the token says nothing when the rest of it is not longer than this, in characters. */
const maxBeside = 300;

/** What may stand around the token: white space, marks of emphasis, and behind it the end of a sentence. */
const before = "[\\s*~`\"']*";
const behind = "[\\s*~`\"'.!]*";
const atStart = new RegExp(`^${before}${token}(?![\\p{L}\\p{N}_])${behind}`, "u");
const atEnd = new RegExp(`(?<![\\p{L}\\p{N}_])${before}${token}${behind}$`, "u");

/** The token at the end is looked for in so many characters: the pattern takes long in a long text. */
const endLength = 100;

/**
 * What is to be delivered of a heartbeat's answer; undefined for an answer that says there is nothing to tell:
 * `HEARTBEAT_OK` at its beginning or end, and at most 300 characters besides. A longer text is delivered
 * without the token, and a text without the token as it is.
 */
export function deliverableText(answer: string): string | undefined {
  const text = answer.trim();
  const rest = withoutEnd(text.replace(atStart, "")).trim();
  if (rest === text) return text;
  return [...rest].length > maxBeside ? rest : undefined;
}

function withoutEnd(text: string): string {
  return text.slice(0, -endLength) + text.slice(-endLength).replace(atEnd, "");
}
