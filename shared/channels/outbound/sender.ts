import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { ConfigurationStore } from "../../configuration/store.ts";
import { log, logError } from "../../runtime/log.ts";
import { absent, all, any, below, equal, remove, set } from "../../world/expression.ts";
import { type ItemValue, type Key, type Secrets, succeeds, type Table } from "../../world/world.ts";
import { ownValue } from "../account.ts";
import type { Bridges } from "../bridge/bridge.ts";
import {
  type ChannelAddress,
  type ChannelOrigin,
  type ChannelSender,
  type Channels,
  type Delivered,
  type Destination,
  type OutboundFile,
  type Question,
  type SendOutcome,
  sendFileTimeoutMs,
  sendTimeoutMs,
  type TextForm,
} from "../channel.ts";
import { channels as allChannels } from "../channels.ts";
import { keepSentText, type SentId, type SentText } from "../sent-text.ts";
import { type Divided, withAnswerFile } from "./answer-file.ts";
import type { Rendered } from "./leaves.ts";
import { messageTexts } from "./message-texts.ts";
import { createSigns } from "./signs.ts";
import { findTarget, type Target } from "./target.ts";

/** Maximum attempts to send one part. */
const maxTries = 3;

/**
 * Maximum wait between two attempts, in milliseconds, in functions whose HTTP response a platform waits for.
 */
const maxWaitMs = 15_000;

/**
 * Wait before the second attempt in milliseconds, when the platform gave none; doubled for each further
 * attempt.
 */
const firstWaitMs = 1000;

/** Time in milliseconds that a claim lasts longer than one request to the platform. */
const claimReserveMs = 5000;

/** Interval in milliseconds for checking a part that another sender has claimed. */
const lookEveryMs = 250;

export interface SenderOptions {
  table: Table;
  secrets: Pick<Secrets, "get">;
  configuration: Pick<ConfigurationStore, "load">;
  /** Epoch ms. */
  now: () => number;
  channels?: Channels;
  /** Sends to bridges, for accounts that are not the gateway's own. */
  bridges?: Pick<Bridges, "find">;
  /**
   * Maximum wait between two attempts, in milliseconds. If the platform asks for more, the delivery fails.
   * Default 15 s.
   */
  maxWaitMs?: number;
  /** Sleeps for this many milliseconds. */
  wait?: (ms: number) => Promise<unknown>;
}

type Tools = Required<Omit<SenderOptions, "bridges">> & Pick<SenderOptions, "bridges">;

/**
 * Delivers to channels with a receipt for every part, so that a retry sends only unsent parts. When a crash
 * or a lost connection hides the platform's response, it is unknown whether a part was sent. Such a part is
 * sent again (`channel.resend`, `channel.retry` in the log), rather than lost.
 */
export function createChannelSender(options: SenderOptions): ChannelSender {
  const tools: Tools = { channels: allChannels, maxWaitMs, wait: sleep, ...options };
  const sender: ChannelSender = {
    async deliver(origin, id, text, file) {
      const target = await findTarget(tools, origin);
      if (!target.ok) return target;
      if (file && !target.channel.sendFile)
        return { ok: false, reason: `${origin.channel} accepts no files` };
      const messages = await messageTexts(target.channel, text);
      const divided = withAnswerFile(target.channel, text, messages);
      return deliverParts(tools, target, id, partsOf(target, origin, id, divided, file));
    },
    async ask(origin, id, question) {
      const target = await findTarget(tools, origin);
      if (!target.ok) return target;
      const asked = question(target.channel);
      if (!target.channel.buttons) return sender.deliver(origin, id, asked.text);
      return deliverPart(tools, target, { deliveryId: id, part: 0 }, questionPart(target, origin, id, asked));
    },
    async close(id, text) {
      try {
        return await closeQuestion(tools, id, text);
      } catch (error) {
        logError("channel.question.unclosed", error, { deliveryId: id });
        return undefined;
      }
    },
    ...createSigns(tools),
    async conclude(origin, id, text) {
      if (origin.kind !== "channel" || !ownValue(tools.channels, origin.channel)?.awaitsAnswer) return;
      await sender.deliver(origin, id, text);
    },
  };
  return sender;
}

/**
 * One message of a delivery, and the time limit of sending it, in milliseconds. `to`: its receipt says where it went. `kept`: what
 * is kept of it for replies.
 */
interface Part {
  send(): Promise<SendOutcome>;
  timeoutMs: number;
  to?: ChannelAddress & { peer: Destination["peer"] };
  kept?: Omit<SentId, "messageId"> & SentText;
}

/** A part of a delivery. `otherwise`: sent in its place if it cannot be delivered. */
interface NumberedPart extends Part {
  number: number;
  otherwise?: readonly NumberedPart[];
}

/** The parts of a delivery. The first part is the reply to the inbound message. */
function partsOf(
  { channel, account }: Target,
  origin: ChannelOrigin,
  id: string,
  { texts, file: answer, rest }: Divided,
  file: OutboundFile | undefined,
): NumberedPart[] {
  const textPart = (rendered: Rendered, number: number): NumberedPart => ({
    number,
    send: () => channel.send(account, { ...destinationOf(origin, id, number), ...rendered }),
    timeoutMs: sendTimeoutMs,
    ...keptOf(origin, rendered.text),
  });
  const { sendFile } = channel;
  const filePart = (toSend: OutboundFile | undefined, number: number): NumberedPart[] => {
    if (!toSend || !sendFile) return [];
    const send = () => sendFile(account, { ...destinationOf(origin, id, number), file: toSend });
    return [{ number, send, timeoutMs: sendFileTimeoutMs }];
  };
  const answerAt = texts.length;
  const otherwise = rest.map((rendered, index) => textPart(rendered, answerAt + 1 + index));
  const answerPart = filePart(answer, answerAt).map((part) => ({ ...part, otherwise }));
  return [
    ...texts.map(textPart),
    ...answerPart,
    ...filePart(file, answerAt + answerPart.length + rest.length),
  ];
}

/** Delivers parts in order, up to the first that cannot be delivered. */
async function deliverParts(
  tools: Tools,
  target: Target,
  deliveryId: string,
  parts: readonly NumberedPart[],
): Promise<Delivered> {
  for (const part of parts) {
    const delivered = await deliverPart(tools, target, { deliveryId, part: part.number }, part);
    if (delivered.ok) continue;
    const instead = part.otherwise && (await deliverParts(tools, target, deliveryId, part.otherwise));
    if (!instead?.ok) return instead ?? delivered;
  }
  return { ok: true };
}

function destinationOf(
  { peer, sessionKey, replyToId, context, whileOwner }: ChannelOrigin,
  id: string,
  part: number,
): Destination & { id: string } {
  return {
    id: `${id}#${part}`,
    peer,
    ...(sessionKey === undefined ? {} : { sessionKey }),
    ...(context ? { context } : {}),
    ...(whileOwner ? { whileOwner } : {}),
    ...(part === 0 && replyToId !== undefined ? { replyToId } : {}),
  };
}

function questionPart(
  { channel, account }: Target,
  origin: ChannelOrigin,
  id: string,
  { text, choices }: Question,
): Part {
  const { accountId, peer } = origin;
  const message = { ...destinationOf(origin, id, 0), text: channel.encode?.(text) ?? text, choices };
  return {
    send: async () => channel.buttons?.ask(account, message) ?? channel.send(account, message),
    timeoutMs: sendTimeoutMs,
    to: { channel: channel.name, accountId, peer },
    ...keptOf(origin, text),
  };
}

/** A text of a session is kept for replies; a notice to a stranger is not. */
function keptOf({ sessionKey, ...origin }: ChannelOrigin, text: string): Pick<Part, "kept"> {
  return sessionKey === undefined ? {} : { kept: { ...origin, sessionKey, text } };
}

/** Where a question was sent, and the id of its message. Undefined if it was not sent, or long ago. */
export async function findQuestion(
  table: Pick<Table, "get">,
  id: string,
): Promise<{ to: NonNullable<Part["to"]>; messageId: string } | undefined> {
  const receipt = await table.get(receiptKey({ deliveryId: id, part: 0 }));
  const { to, messageId } = (receipt ?? {}) as { to?: Part["to"]; messageId?: string };
  return to && messageId !== undefined ? { to, messageId } : undefined;
}

/** Does nothing to a question that was not sent, or was sent long ago. */
async function closeQuestion(
  tools: Tools,
  id: string,
  text: (form: TextForm) => string,
): Promise<string | undefined> {
  const asked = await findQuestion(tools.table, id);
  if (!asked) return undefined;
  const { to, messageId } = asked;
  const target = await findTarget(tools, to);
  if (!target.ok) return undefined;
  const { channel, account } = target;
  const plain = text(channel);
  const sent = { peer: to.peer, messageId };
  const closed = await channel.buttons?.close?.(account, sent, channel.encode?.(plain) ?? plain);
  log("channel.question.closed", { ...logFields(target, { deliveryId: id, part: 0 }), ...closed });
  return closed?.status === "sent" ? messageId : undefined;
}

async function deliverPart(tools: Tools, target: Target, id: PartId, part: Part): Promise<Delivered> {
  for (;;) {
    const now = tools.now();
    const claimed = await claimPart(tools.table, id, now + part.timeoutMs + claimReserveMs, now);
    if (claimed.state === "sent") return { ok: true };
    if (claimed.state === "failed") return { ok: false, reason: claimed.reason };
    if (claimed.state === "busy") {
      await tools.wait(lookEveryMs);
      continue;
    }
    if (claimed.again) log("channel.resend", logFields(target, id));
    const delivered = await sendClaimed(tools, target, id, claimed.claim, part);
    if (delivered !== "claim lost") return delivered;
  }
}

/** Sends a part, with retries, and stores the outcome in its receipt. */
async function sendClaimed(
  tools: Tools,
  target: Target,
  id: PartId,
  claim: string,
  part: Part,
): Promise<Delivered | "claim lost"> {
  const { table, now, wait } = tools;
  for (let tries = 1; ; tries++) {
    const outcome = await part.send();
    if (outcome.status === "sent") {
      const { messageId } = outcome;
      const { kept } = part;
      await Promise.all([
        recordSent(table, id, messageId, part.to),
        kept && messageId !== undefined && keepSentText(table, { ...kept, messageId }, kept, now()),
      ]);
      log("channel.sent", { ...logFields(target, id), tries });
      return { ok: true };
    }
    const { reason } = outcome;
    const waitMs = waitBefore(outcome, tries, tools.maxWaitMs);
    if (waitMs === undefined) {
      await recordFailed(table, id, claim, reason);
      log("channel.failed", { ...logFields(target, id), tries, reason });
      return { ok: false, reason };
    }
    log("channel.retry", { ...logFields(target, id), tries, waitMs, reason });
    const until = now() + waitMs + part.timeoutMs + claimReserveMs;
    if (!(await extendClaim(table, id, claim, until))) return "claim lost";
    await wait(waitMs);
    // Lambda may have frozen this function during the wait: another sender may have claimed the part.
    if (now() + part.timeoutMs > until) return "claim lost";
  }
}

/** The wait before the next attempt in milliseconds; undefined for no further attempt. */
function waitBefore(
  outcome: Exclude<SendOutcome, { status: "sent" }>,
  tries: number,
  maxMs: number,
): number | undefined {
  if (outcome.status === "failed" || tries >= maxTries) return undefined;
  const waitMs = outcome.retryAfterMs ?? firstWaitMs * 2 ** (tries - 1);
  return waitMs > maxMs ? undefined : waitMs;
}

function logFields({ channel, account }: Target, { deliveryId, part }: PartId) {
  return { channel: channel.name, accountId: account.accountId, deliveryId, part };
}

/** TTL of a receipt, in seconds. */
const keptSeconds = 7 * 86_400;

/**
 * Maximum difference between the clocks of two machines, in milliseconds. Other senders respect a claim for this much
 * longer than it was granted.
 */
const clockSkewMs = 5000;

/** One part of one delivery. */
interface PartId {
  deliveryId: string;
  part: number;
}

/** The result of claiming a part. */
type PartState =
  /**
   * The caller must send the part. `again`: an earlier claim expired, so that the part may already have been
   * sent.
   */
  | { state: "claimed"; claim: string; again: boolean }
  /** Another sender holds the claim. */
  | { state: "busy" }
  | { state: "sent" }
  | { state: "failed"; reason: string };

/**
 * Claims a part for sending until `until` (epoch ms), or returns its outcome. One of several concurrent claims
 * succeeds. An expired claim can be taken over; its holder may have sent the part and crashed before it
 * stored the outcome.
 */
export async function claimPart(table: Table, id: PartId, until: number, now: number): Promise<PartState> {
  const key = receiptKey(id);
  const claim = randomUUID();
  const seconds = Math.floor(now / 1000);
  const receipt = { state: "sending", claim, claimedUntil: until, expiresAt: seconds + keptSeconds };
  const isNew = any(absent("pk"), below("expiresAt", seconds));
  if (await succeeds(table.put({ ...key, ...receipt }, isNew)))
    return { state: "claimed", claim, again: false };
  const found = await table.get(key);
  if (!found) return { state: "busy" };
  // The SDK repeats a write whose response was lost. The condition then fails because of our own claim.
  if (found.claim === claim) return { state: "claimed", claim, again: false };
  if (found.state === "sent") return { state: "sent" };
  if (found.state === "failed") return { state: "failed", reason: String(found.reason) };
  if (Number(found.claimedUntil) + clockSkewMs >= now) return { state: "busy" };
  const steps = [set("claim", claim), set("claimedUntil", until)];
  const stale = all(equal("state", "sending"), equal("claim", String(found.claim)));
  if (await succeeds(table.update(key, steps, stale))) return { state: "claimed", claim, again: true };
  return { state: "busy" };
}

/** Extends a claim until `until` (epoch ms). False when another sender has taken it over. */
async function extendClaim(table: Table, id: PartId, claim: string, until: number): Promise<boolean> {
  return succeeds(table.update(receiptKey(id), [set("claimedUntil", until)], equal("claim", claim)));
}

/** Stores the outcome even when the claim was taken over, because a sent part stays sent. */
async function recordSent(
  table: Table,
  id: PartId,
  messageId: string | undefined,
  to: Part["to"],
): Promise<void> {
  const sent = [
    ...(messageId === undefined ? [] : [set("messageId", messageId)]),
    ...(to ? [set("to", to as unknown as ItemValue)] : []),
  ];
  await table.update(receiptKey(id), [
    set("state", "sent"),
    ...sent,
    remove("claim"),
    remove("claimedUntil"),
  ]);
}

async function recordFailed(table: Table, id: PartId, claim: string, reason: string): Promise<void> {
  const steps = [set("state", "failed"), set("reason", reason), remove("claim"), remove("claimedUntil")];
  await succeeds(table.update(receiptKey(id), steps, equal("claim", claim)));
}

function receiptKey({ deliveryId, part }: PartId): Key {
  return { pk: `TX#${deliveryId}`, sk: String(part).padStart(4, "0") };
}
