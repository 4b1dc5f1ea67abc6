import { createHash } from "node:crypto";
import { answerInWords } from "../../../shared/approvals/answer-in-words.ts";
import type {
  ChannelAddress,
  EnclosedMedia,
  InboundMessage,
  Reaction,
} from "../../../shared/channels/channel.ts";
import { contentOf } from "../../../shared/channels/content/content.ts";
import type { Part } from "../../../shared/channels/content/part.ts";
import { handleInbound, type InboundOutcome } from "../../../shared/channels/inbound/inbound.ts";
import { handleReaction } from "../../../shared/channels/inbound/reaction.ts";
import { decodeMedia } from "../../../shared/media/media-store.ts";
import { code, PeerError } from "../../../shared/protocol/errors.ts";
import type { Params } from "../../../shared/protocol/methods.ts";
import type { InboundResult } from "../../../shared/protocol/results.ts";
import { log } from "../../../shared/runtime/log.ts";
import { parseCommand } from "../../../shared/session/commands/parse-command.ts";
import type { Caller, MethodTable } from "../gateway.ts";

export const bridgeMethods: Pick<MethodTable, "channel.inbound" | "channel.delivered"> = {
  "channel.inbound": {
    modes: ["channel"],
    async handle(gateway, params, { caller }) {
      const address = addressOf(caller);
      if (params.channel !== address.channel || params.accountId !== address.accountId) {
        const message = `this connection is only for ${address.channel}/${address.accountId}`;
        throw new PeerError(code.forbidden, message);
      }
      const reaction = readBridgeReaction(params);
      if (reaction) {
        const outcome = await handleReaction(gateway, address, reaction);
        log("bridge.reaction", { ...address, senderId: reaction.sender.id, outcome });
        return { status: "reaction", recorded: outcome === "recorded" };
      }
      const message = readBridgeMessage(params, gateway.now());
      const answered = await answerInWords(gateway, address, message);
      if (answered) return { status: "command", ...answered };
      const outcome = await handleInbound(gateway, address, message);
      const { eventId, sender } = message;
      // Message content is not logged.
      log("bridge.message", { ...address, eventId, senderId: sender.id, ...outcome, answer: undefined });
      return replyOf(outcome, message.text);
    },
  },
  "channel.delivered": {
    modes: ["channel"],
    async handle({ bridges }, receipt, { caller }) {
      return (await bridges.delivered(addressOf(caller), receipt))
        ? { ok: true }
        : { ok: true, dropped: true };
    },
  },
};

/** The channel and account of a bridge's connection, checked against its token in `connect`. */
function addressOf({ channel = "", accountId = "" }: Caller): ChannelAddress {
  return { channel, accountId };
}

/** The result of `channel.inbound`. A command's response is also sent, by `channel.outbound`. */
function replyOf(outcome: InboundOutcome, text: string): InboundResult {
  switch (outcome.status) {
    case "deferred":
    case "command":
      return {
        status: "command",
        sessionKey: outcome.sessionKey,
        command: parseCommand(text)?.name ?? "",
        ...responseOf(outcome.answer),
      };
    case "directive-only":
      return { status: "directive-only", sessionKey: outcome.sessionKey, ...responseOf(outcome.answer) };
    case "started":
      return { status: "started", sessionKey: outcome.sessionKey };
    case "corrected":
      return { status: "started", sessionKey: outcome.sessionKey };
    case "duplicate":
    case "unchanged":
      return { status: "started", duplicate: true };
    case "pending_pairing":
      return { status: "pending_pairing", senderId: outcome.senderId };
    case "blocked":
      return outcome;
  }
}

function responseOf(answer: string | undefined): { response?: string } {
  return answer === undefined ? {} : { response: answer };
}

type Inbound = Params<"channel.inbound">;

/**
 * The reaction that a bridge's `channel.inbound` params are. Undefined when they are a message.
 * @throws PeerError 400 for a reaction without a sender, or with other content
 */
function readBridgeReaction(params: Inbound): Reaction | undefined {
  const { peer, message } = params;
  const { parts = [] } = message;
  const reaction = parts.find((part) => part.kind === "reaction");
  if (!reaction) return undefined;
  if (message.text.trim() !== "" || parts.length > 1 || message.media.length > 0 || message.location)
    throw new PeerError(code.badRequest, "message: a reaction contains nothing else");
  const { of: messageId, emoji, removed } = reaction;
  const given = emoji === undefined ? {} : { emoji, ...(removed ? { isRemoved: true as const } : {}) };
  return { ...eventOf(params), peer, messageId, ...given };
}

/**
 * Converts a bridge's `channel.inbound` params to the message type of all channels. In a direct message
 * without `sender` the peer is the sender.
 * @param now time of receipt, epoch ms
 * @throws PeerError 400 for a message without a sender, or without text, parts, media and location
 */
export function readBridgeMessage(params: Inbound, now: number): InboundMessage {
  const { channel, peer, message, wasMentioned } = params;
  const { id, timestamp = now, replyToId, replyToText } = message;
  const { eventId, sender } = eventOf(params);
  const enclosed = message.media.flatMap(enclosedMedia);
  const content = contentOf(partsIn(message), { channel, senderId: sender.id });
  if (!content && enclosed.length === 0)
    throw new PeerError(code.badRequest, "message: needs a text, parts, media or a location");
  return {
    eventId,
    peer: { kind: peer.kind, id: peer.id, ...(peer.name ? { name: peer.name } : {}) },
    sender,
    messageId: id,
    ...(content ?? { text: "" }),
    timestamp,
    ...(message.timestamp === undefined ? { isUndated: true } : {}),
    ...(replyToId === undefined ? {} : { replyToId }),
    ...(replyToText === undefined ? {} : { replyToText }),
    ...(enclosed.length > 0 ? { enclosed } : {}),
    wasMentioned,
  };
}

/** The event's id, and who caused it. @throws PeerError 400 without a sender */
function eventOf({ peer, sender, message: { id } }: Inbound): Pick<InboundMessage, "eventId" | "sender"> {
  const from = sender ?? (peer.kind === "dm" ? peer : undefined);
  if (!from) throw new PeerError(code.badRequest, "sender: required unless the peer is a dm");
  return {
    eventId: `${id}@${digestOf(peer)}`,
    sender: {
      id: from.id,
      ...(from.name ? { name: from.name } : {}),
      ...(from.handle ? { handle: from.handle } : {}),
    },
  };
}

/** A digest of the peer. It makes event ids unique: many messengers number the messages of each conversation. */
function digestOf({ kind, id }: Inbound["peer"]): string {
  return createHash("sha256")
    .update(JSON.stringify([kind, id]))
    .digest("hex")
    .slice(0, 16);
}

type Media = Inbound["message"]["media"][number];

/** Media that the message contains as base64. @throws PeerError 400 when it is not base64 */
function enclosedMedia({ data, url: _url, ...media }: Media): EnclosedMedia[] {
  if (data === undefined) return [];
  decodeMedia(data);
  return [{ ...media, data }];
}

/** The message's parts; files with their bytes are none. */
function partsIn({ text, parts = [], media, location }: Inbound["message"]): Part[] {
  return [{ kind: "text", text: text.trim() }, ...placePart(location), ...parts, ...media.flatMap(mediaPart)];
}

/** Media that the message names by URL. */
function mediaPart({ data, url, transcription: _transcription, ...media }: Media): Part[] {
  return data === undefined && url !== undefined
    ? [{ kind: "media", media: { ...media, source: { url } } }]
    : [];
}

function placePart(location: Inbound["message"]["location"]): Part[] {
  if (!location) return [];
  const { lat: latitude, lon: longitude, name } = location;
  return [{ kind: "place", name, latitude, longitude }];
}
