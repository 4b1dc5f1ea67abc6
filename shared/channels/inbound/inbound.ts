import { setTimeout as sleep } from "node:timers/promises";
import { decodeMedia, storeMedia } from "../../media/media-store.ts";
import type { StoredMedia } from "../../protocol/messages.ts";
import { log } from "../../runtime/log.ts";
import { type Incoming, type Intake, type IntakeReply, takeMessage } from "../../session/intake.ts";
import { routeInbound } from "../../session/key/routing.ts";
import type { Bucket } from "../../world/world.ts";
import type { Activity } from "../activity.ts";
import type { ChannelAddress, ChannelOrigin, ChannelSender, InboundMessage } from "../channel.ts";
import { type Admission, admit, type Refusal } from "./admission.ts";
import { envelope } from "./envelope.ts";
import { fitMessage } from "./fit-message.ts";
import { closeReceipt, type EventId, noteAnswer, openReceipt } from "./inbound-receipt.ts";

/** The longest that showing "typing" holds up the answer to the platform, in milliseconds. */
const typingMs = 300;

/** What taking in messages of channels needs. */
export interface Inbound extends Intake {
  sender: ChannelSender;
  activity: Pick<Activity, "message">;
  /** Where enclosed media is stored; of functions that take in such messages. */
  bucket?: Pick<Bucket, "put">;
}

/**
 * A message that went to its session. `answer`: the answer to its sender, where sending it was left to the
 * caller.
 */
type TakenMessage = {
  [Status in IntakeReply["status"]]: { status: Status; sessionKey: string; answer?: string };
}[IntakeReply["status"]];

/** What became of a message. */
export type InboundOutcome =
  | TakenMessage
  /** Dealt with before. */
  | { status: "duplicate" }
  /** Not for the agent: nothing was stored, and nobody is told. */
  | { status: "blocked"; reason: Refusal }
  /** Their sender has asked to be let in. */
  | { status: "pending_pairing"; senderId: string; answer?: string };

/**
 * Takes a message of a channel to its session, once, however often and at whatever moment it is repeated.
 * What a command answers is sent back at once; everything else the agent answers.
 * @param message from a request that was verified
 * @param isShown the sender is shown what the platform's call is answered: the answer to a command is left
 * for that
 * @throws when it is to be delivered again: an intake that failed half way is then made whole
 */
export async function takeInbound(
  inbound: Inbound,
  address: ChannelAddress,
  message: InboundMessage,
  isShown = false,
): Promise<InboundOutcome> {
  const id = `${address.channel}:${address.accountId}:${message.eventId}`;
  const origin = originOf(address, message);
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
  const { configuration } = admission;
  const event = { ...address, eventId: message.eventId };
  const known = await openReceipt(inbound.table, event, inbound.now());
  if (known.isDone) return { status: "duplicate" };
  const { sessionKey } = routeInbound({ ...address, ...message }, configuration);
  const rest = { id, envelope: envelope(address.channel, message, configuration.userTimezone), origin };
  const { status, answer } =
    known.answer === undefined
      ? await carryOut(inbound, sessionKey, event, message, rest)
      : { status: "command" as const, answer: known.answer };
  if (answer !== undefined && !isShown) await send(inbound.sender, origin, `${id}:reply`, answer);
  await closeReceipt(inbound.table, event);
  await inbound.activity.message(address);
  if (status === "started") await Promise.race([inbound.sender.typing(origin), sleep(typingMs)]);
  return { status, sessionKey, ...(answer !== undefined && isShown ? { answer } : {}) };
}

/** Takes a message to its session. @returns what its sender is to be told besides the agent's answer */
async function carryOut(
  inbound: Inbound,
  sessionKey: string,
  event: EventId,
  message: InboundMessage,
  rest: Pick<Incoming, "id" | "envelope" | "origin">,
): Promise<{ status: IntakeReply["status"]; answer: string | undefined }> {
  const media = await storeEnclosed(inbound, sessionKey, rest.id, message);
  const incoming = { ...rest, ...(media.length > 0 ? { media } : {}) };
  const reply = await takeMessage(inbound, sessionKey, { ...incoming, ...fitMessage(message, incoming) });
  const { status } = reply;
  const answer = answerOf(reply);
  if (status !== "command" || answer === undefined) return { status, answer };
  return { status, answer: await noteAnswer(inbound.table, event, answer) };
}

/**
 * Stores what came whole, so that a repeat is the same objects.
 * @throws PeerError for what cannot be stored
 */
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

function originOf(
  address: ChannelAddress,
  { peer, messageId: replyToId, context }: InboundMessage,
): ChannelOrigin {
  return { kind: "channel", ...address, peer, replyToId, ...(context ? { context } : {}) };
}

/** What somebody who asks to be let in is told, once. Nothing of whose agent it is, or of what it can do. */
function noticeFor(admission: Exclude<Admission, { status: "admitted" | "blocked" }>): string | undefined {
  if (admission.status === "waiting") return undefined;
  return admission.isHeld
    ? "You are not known here yet. Your message waits until you are let in, and is answered then."
    : "You are not known here yet. Your message is too long to be kept: write again once you are let in.";
}

/** What the sender is told besides the agent's answer. */
function answerOf(reply: IntakeReply): string | undefined {
  const response = "response" in reply ? reply.response : undefined;
  const error = "error" in reply ? reply.error : undefined;
  return response ?? error;
}

/** An answer that cannot be delivered is not tried for ever. */
async function send(sender: ChannelSender, origin: ChannelOrigin, id: string, text: string): Promise<void> {
  const delivered = await sender.deliver(origin, id, text);
  if (!delivered.ok)
    log("channel.undelivered", { deliveryId: id, channel: origin.channel, reason: delivered.reason });
}
