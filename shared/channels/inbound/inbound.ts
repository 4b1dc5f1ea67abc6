import { setTimeout as sleep } from "node:timers/promises";
import type { Configuration } from "../../configuration/schema.ts";
import type { ConfigurationStore } from "../../configuration/store.ts";
import { log } from "../../runtime/log.ts";
import { refuseId } from "../../session/inbox.ts";
import { type Intake, type IntakeReply, submitMessage } from "../../session/intake.ts";
import { routeInbound } from "../../session/key/routing.ts";
import type { Bucket } from "../../world/world.ts";
import { ownValue } from "../account.ts";
import type { Activity } from "../activity.ts";
import type { ChannelAddress, ChannelOrigin, ChannelSender, InboundMessage } from "../channel.ts";
import { findSentText } from "../sent-text.ts";
import { type Admission, admit, type Refusal, refusalReason } from "./admission.ts";
import { correctMessage, stepFor } from "./correct.ts";
import {
  addSession,
  closeReceipt,
  type EventId,
  openReceipt,
  type Receipt,
  recordAnswer,
  recordEdit,
} from "./inbound-receipt.ts";
import { type Admitted, channelOrigin, incomingOf } from "./incoming.ts";
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
  /** An edit. `replaced`: the message's run had not begun and begins with the new text. */
  | { status: "corrected"; sessionKey: string; replaced: boolean }
  /** An edit that leaves the question as it was, or that of an old message that was never received. */
  | { status: "unchanged" }
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
  received: InboundMessage,
  isShown = false,
): Promise<InboundOutcome> {
  let message = received;
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
  const [known, configuration, answered] = await Promise.all([
    openReceipt(inbound.table, event, likely.sessionKey, inbound.now(), message),
    inbound.configuration.load({ fresh: true }),
    answeredText(inbound, address, message),
  ]);
  message = { ...message, ...answered };
  const step = stepFor(message, known, inbound.now());
  if (step === "duplicate") return { status: "duplicate" };
  // An older configuration admitted the message. Decide again: the newest configuration is now cached.
  if (refusalReason(configuration, address, message) !== undefined)
    return handleInbound(inbound, address, message, isShown);
  const { role, agentId, sessionKey } = route(configuration, address, message);
  const admitted = {
    ...{ id, sessionKey, role, timezone: configuration.userTimezone },
    configurationVersion: inbound.configuration.version(),
  };
  if (step === "unchanged") {
    await recordEdit(inbound.table, event, message);
    return { status: "unchanged" };
  }
  if (step === "correct") return correctMessage(inbound, address, message, known, admitted);
  if (!(await claimFor(inbound, sessionKey, event, id, known))) {
    await closeReceipt(inbound.table, event);
    return { status: "duplicate" };
  }
  const { status, answer } =
    known.answer === undefined
      ? await submit(inbound, address, message, admitted)
      : { status: "command" as const, answer: known.answer };
  const place = { ...origin, sessionKey };
  if (answer !== undefined && !isShown) await send(inbound.sender, place, `${id}:reply`, answer);
  await closeReceipt(inbound.table, event);
  const { peer, sender } = message;
  await inbound.activity.message({ ...address, agentId, peer, senderId: sender.id, role });
  const shown = () => Promise.all([inbound.sender.typing(place), inbound.sender.mark(place, "accepted")]);
  if (status === "started") await Promise.race([shown(), sleep(typingMs)]);
  return { status, sessionKey, ...(answer === undefined ? {} : { answer }) };
}

/** The text of the gateway that a message answers, if the platform gives only its id. */
async function answeredText(
  { table, now }: Inbound,
  address: ChannelAddress,
  { peer, replyToId: messageId, replyToText }: InboundMessage,
): Promise<{ replyToText?: string }> {
  if (messageId === undefined || replyToText !== undefined) return {};
  const found = await findSentText(table, { ...address, peer, messageId }, now());
  return found ? { replyToText: found.text } : {};
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
  address: ChannelAddress,
  message: InboundMessage,
  admitted: Admitted,
): Promise<{ status: IntakeReply["status"]; answer: string | undefined }> {
  const incoming = await incomingOf(inbound, address, message, admitted);
  const reply = await submitMessage(inbound, admitted.sessionKey, incoming);
  const { status } = reply;
  const answer = answerOf(reply);
  if (status !== "command" || answer === undefined) return { status, answer };
  return {
    status,
    answer: await recordAnswer(inbound.table, { ...address, eventId: message.eventId }, answer),
  };
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
