import { setTimeout as sleep } from "node:timers/promises";
import type { Configuration } from "../../configuration/schema.ts";
import type { ConfigurationStore } from "../../configuration/store.ts";
import { decodeMedia, storeMedia } from "../../media/media-store.ts";
import { guestOrigin, joinOrigins } from "../../origins/origins.ts";
import type { StoredMedia } from "../../protocol/messages.ts";
import { log } from "../../runtime/log.ts";
import { localTime } from "../../runtime/zoned-time.ts";
import { maxEntryBytes, refuseId } from "../../session/inbox.ts";
import type { RemoteMedia } from "../../session/inbox-entry.ts";
import { type Incoming, type Intake, type IntakeReply, submitMessage } from "../../session/intake.ts";
import { routeInbound } from "../../session/key/routing.ts";
import type { Bucket } from "../../world/world.ts";
import { ownValue } from "../account.ts";
import type { Activity } from "../activity.ts";
import type { ChannelAddress, ChannelOrigin, ChannelSender, InboundMessage } from "../channel.ts";
import { contentNote } from "../content/content-note.ts";
import { type Admission, admit, type Refusal, refusalReason } from "./admission.ts";
import {
  addSession,
  closeReceipt,
  type EventId,
  openReceipt,
  type Receipt,
  recordAnswer,
} from "./inbound-receipt.ts";
import { senderRole } from "./sender-role.ts";

/** Maximum time that the typing indicator may delay the response to the platform, in milliseconds. */
const typingMs = 300;

/** The dependencies of handling inbound messages. */
export interface Inbound extends Intake {
  sender: ChannelSender;
  activity: Pick<Activity, "message">;
  configuration: Pick<ConfigurationStore, "load" | "version">;
  /** Bucket for enclosed media; absent in functions that do not accept enclosed media. */
  bucket?: Pick<Bucket, "put">;
}

/** A message accepted by its session. `answer`: the response for the sender, which was sent unless `isShown`. */
type AcceptedMessage = {
  [Status in IntakeReply["status"]]: { status: Status; sessionKey: string; answer?: string };
}[IntakeReply["status"]];

/** The outcome of an inbound message. */
export type InboundOutcome =
  | AcceptedMessage
  /** The message was handled before. */
  | { status: "duplicate" }
  /** Not admitted: nothing was stored, and the sender gets no answer. */
  | { status: "blocked"; reason: Refusal }
  /** The sender is not admitted yet and has a pairing request. */
  | { status: "pending_pairing"; senderId: string; answer?: string };

/**
 * Handles an inbound message exactly once, however often it is redelivered. A command's response is sent at
 * once; the agent answers other messages.
 * @param message from a verified request
 * @param isShown the platform shows the HTTP response to the sender, so that a command's response is returned
 * instead of sent
 * @throws any error; the platform must redeliver, which completes the handling
 */
export async function handleInbound(
  inbound: Inbound,
  address: ChannelAddress,
  message: InboundMessage,
  isShown = false,
): Promise<InboundOutcome> {
  const id = `${address.channel}:${address.accountId}:${message.eventId}`;
  const origin = channelOrigin(address, message);
  const admission = await admit(inbound, address, message);
  if (admission.status === "blocked") return admission;
  if (admission.status !== "admitted") {
    const answer = noticeFor(admission);
    if (answer !== undefined && !isShown) await send(inbound.sender, origin, `${id}:pairing`, answer);
    return {
      status: "pending_pairing",
      senderId: message.sender.id,
      ...(answer !== undefined && isShown ? { answer } : {}),
    };
  }
  if (isEmpty(message)) return { status: "blocked", reason: "empty" };
  const event = { ...address, eventId: message.eventId };
  const likely = route(await inbound.configuration.load(), address, message);
  // Use the newest configuration: a removed owner must lose access at once.
  const [known, configuration] = await Promise.all([
    openReceipt(inbound.table, event, likely.sessionKey, inbound.now()),
    inbound.configuration.load({ fresh: true }),
  ]);
  if (known.isDone) return { status: "duplicate" };
  // An older configuration admitted the message. Decide again: the newest configuration is now cached.
  if (refusalReason(configuration, address, message) !== undefined)
    return handleInbound(inbound, address, message, isShown);
  const { role, agentId, sessionKey } = route(configuration, address, message);
  if (!(await claimFor(inbound, sessionKey, event, id, known))) {
    await closeReceipt(inbound.table, event);
    return { status: "duplicate" };
  }
  const rest = {
    id,
    envelope: envelope(address.channel, message, configuration.userTimezone),
    origin: { ...origin, sessionKey },
    ...wordsOf(address, message),
    writer: { role, senderId: message.sender.id },
    configurationVersion: inbound.configuration.version(),
  };
  const { status, answer } =
    known.answer === undefined
      ? await submit(inbound, sessionKey, event, message, rest)
      : { status: "command" as const, answer: known.answer };
  if (answer !== undefined && !isShown) await send(inbound.sender, rest.origin, `${id}:reply`, answer);
  await closeReceipt(inbound.table, event);
  const { peer, sender } = message;
  await inbound.activity.message({ ...address, agentId, peer, senderId: sender.id, role });
  if (status === "started") await Promise.race([inbound.sender.typing(rest.origin), sleep(typingMs)]);
  return { status, sessionKey, ...(answer === undefined ? {} : { answer }) };
}

/** The role of a message's sender, and the session that the role leads to. */
function route(configuration: Configuration, address: ChannelAddress, message: InboundMessage) {
  const settings = ownValue(configuration.channels, address.channel);
  const role = senderRole(address.channel, settings, message.sender.id);
  return { role, ...routeInbound({ ...address, ...message }, configuration, role) };
}

/**
 * Makes every other session that an attempt may append a message to refuse it: the sender's role may have changed since.
 * @returns false when one of them has accepted it
 */
async function claimFor(
  { table, now }: Inbound,
  sessionKey: string,
  event: EventId,
  id: string,
  { isRepeated, sessionKeys }: Receipt,
): Promise<boolean> {
  if (!sessionKeys.includes(sessionKey)) await addSession(table, event, sessionKey);
  if (!isRepeated) return true;
  for (const other of sessionKeys)
    if (other !== sessionKey && !(await refuseId(table, other, id, now()))) return false;
  return true;
}

/** Whether a direct message contains only white space. In a room an empty message may be a mention, which needs an answer. */
function isEmpty({ text, shown, peer, attachments = [], enclosed = [] }: InboundMessage): boolean {
  return peer.kind === "dm" && text.trim() === "" && !shown && attachments.length + enclosed.length === 0;
}

/**
 * Submits a message to its session.
 * @returns the response for the sender, if any, besides the agent's answer
 */
async function submit(
  inbound: Inbound,
  sessionKey: string,
  event: EventId,
  message: InboundMessage,
  rest: Pick<Incoming, "id" | "envelope" | "origin" | "origins" | "writer" | "configurationVersion">,
): Promise<{ status: IntakeReply["status"]; answer: string | undefined }> {
  const media = await storeEnclosed(inbound, sessionKey, rest.id, message);
  const incoming = { ...rest, ...(media.length > 0 ? { media } : {}) };
  const reply = await submitMessage(inbound, sessionKey, { ...incoming, ...fitMessage(message, incoming) });
  const { status } = reply;
  const answer = answerOf(reply);
  if (status !== "command" || answer === undefined) return { status, answer };
  return { status, answer: await recordAnswer(inbound.table, event, answer) };
}

/** Stores enclosed media under keys that a repeat reuses. @throws PeerError for invalid media */
async function storeEnclosed(
  { bucket, now }: Inbound,
  sessionKey: string,
  id: string,
  { enclosed = [] }: InboundMessage,
): Promise<StoredMedia[]> {
  if (!bucket) return [];
  const stored = enclosed.map(({ data, ...media }, index) => {
    const target = { sessionKey, id: JSON.stringify([id, index]), now: now() };
    return storeMedia(bucket, target, { ...media, body: decodeMedia(data) });
  });
  return Promise.all(stored);
}

/** Whose words a message contains. In a room, anybody may have written the message that it answers. */
function wordsOf(
  { channel }: ChannelAddress,
  { peer, replyToText, origins }: InboundMessage,
): { origins?: string[] } {
  const room = peer.kind === "dm" || !replyToText ? [] : [guestOrigin(channel, peer.id)];
  const all = joinOrigins(origins, room);
  return all.length > 0 ? { origins: all } : {};
}

function channelOrigin(
  address: ChannelAddress,
  { peer, messageId: replyToId, context }: InboundMessage,
): ChannelOrigin {
  return { kind: "channel", ...address, peer, replyToId, ...(context ? { context } : {}) };
}

/** The notice that a pairing sender gets once. It does not reveal the owner or the agent's abilities. */
function noticeFor(admission: Exclude<Admission, { status: "admitted" | "blocked" }>): string | undefined {
  if (admission.status === "waiting") return undefined;
  return admission.isHeld
    ? "You don't have access yet. We kept your message and will answer once you are approved."
    : "You don't have access yet. Your message is too long to keep: please write again once you are approved.";
}

/** The response for the sender, if any, besides the agent's answer. */
function answerOf(reply: IntakeReply): string | undefined {
  const response = "response" in reply ? reply.response : undefined;
  const error = "error" in reply ? reply.error : undefined;
  return response ?? error;
}

/** A response that cannot be delivered is logged and dropped. */
async function send(sender: ChannelSender, origin: ChannelOrigin, id: string, text: string): Promise<void> {
  const delivered = await sender.deliver(origin, id, text);
  if (!delivered.ok)
    log("channel.undelivered", { deliveryId: id, channel: origin.channel, reason: delivered.reason });
}

/** Maximum length of a sender's name, in characters. */
const maxName = 64;

/** Maximum length of a quoted message, in UTF-16 units. */
const maxReply = 1000;

/**
 * The line before a message in the model's context: `[telegram · 2026-03-04 17:05]`, with the sender's name
 * outside of direct messages: `[telegram · 2026-03-04 17:05 · Ann]`. A quoted message, when known, follows on
 * a second line: `[in reply to: shall we?]`.
 * @param timezone the user's, an IANA name
 */
export function envelope(
  channel: string,
  {
    timestamp,
    peer,
    sender,
    replyToText,
  }: Pick<InboundMessage, "timestamp" | "peer" | "sender" | "replyToText">,
  timezone: string,
): string {
  const { date, time } = localTime(timestamp, timezone);
  const parts = [channel, `${date} ${time}`];
  if (peer.kind !== "dm") parts.push(plainName(sender.name) || plainName(sender.handle) || sender.id);
  const line = `[${parts.join(" · ")}]`;
  return replyToText ? `${line}\n${contentNote("in reply to", replyToText, maxReply)}` : line;
}

/** Removes characters from a name that could imitate the envelope or the text after it. */
function plainName(name = ""): string {
  const plain = name.replace(/[[\]·\p{Cc}\p{Bidi_Control}\s]+/gu, " ").trim();
  return [...plain].slice(0, maxName).join("").trimEnd();
}

/** Maximum number of attachments kept for one message. */
const maxAttachments = 10;

/** Maximum size of an attachment's description, in bytes of JSON. */
const maxAttachmentBytes = 4000;

/** Bytes reserved for the note about dropped content and for the entry's other fields. */
const reserve = 1000;

/**
 * Cuts a message's text and attachments to the size of an inbox entry, with a note about dropped content.
 * Refusing the message would be worse: the platform would redeliver it for days, and the sender would not
 * learn why.
 * @param others the entry's other values, which count against the size
 */
export function fitMessage(
  { text, shown = "", attachments = [] }: InboundMessage,
  others: object,
): { text: string; shown?: string; attachments: RemoteMedia[] } {
  const kept = attachments.filter((one) => jsonBytes(one) <= maxAttachmentBytes).slice(0, maxAttachments);
  const left = attachments.length - kept.length;
  const room = maxEntryBytes - reserve - jsonBytes(others) - jsonBytes(kept);
  const note =
    left > 0 ? `[${left} more ${left === 1 ? "attachment was" : "attachments were"} left out]` : "";
  const written = cutText(text, room);
  const rest = [shown && cutText(shown, Math.max(0, room - jsonBytes(written))), note]
    .filter((line) => line)
    .join("\n");
  return { text: written, ...(rest === "" ? {} : { shown: rest }), attachments: kept };
}

function cutText(text: string, room: number): string {
  if (jsonBytes(text) <= room) return text;
  let [fits, over] = [0, text.length];
  while (over - fits > 1) {
    const middle = Math.floor((fits + over) / 2);
    if (jsonBytes(text.slice(0, middle)) <= room) fits = middle;
    else over = middle;
  }
  return `${text.slice(0, fits).toWellFormed()}\n[cut here: the message has ${text.length} characters]`;
}

/** Size of a value in bytes of JSON. */
function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
