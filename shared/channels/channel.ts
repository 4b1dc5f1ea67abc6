import type { Origin, Peer } from "../session/state.ts";

/** A webhook call, as it came in: nothing is parsed before it is verified. */
export interface WebhookRequest {
  method: string;
  /** Names in lower case. */
  headers: Record<string, string | undefined>;
  query: Record<string, string | undefined>;
  /** The raw bytes: signatures cover these. */
  body: Uint8Array;
}

/** One account on a platform: its settings from the configuration, and its secrets by their configuration names. */
export interface ChannelAccount {
  accountId: string;
  settings: Record<string, unknown>;
  secrets: Record<string, string | undefined>;
}

/** A message that somebody sent, in the same terms for every platform. */
export interface InboundMessage {
  /** The platform's id of the event; a redelivery has the same. */
  eventId: string;
  peer: Peer;
  /** Who wrote it, by the platform's stable id. */
  sender: { id: string; name?: string; handle?: string };
  messageId: string;
  text: string;
  /** Epoch ms. */
  timestamp: number;
  replyToId?: string;
  replyToText?: string;
  /** In rooms: whether the agent was addressed, by a mention or a reply. */
  wasMentioned: boolean;
}

export type Received =
  /** Refused before anything was read: 401 or 403 for the signature, 400 for the body. */
  | { status: "refused"; httpStatus: number; reason: string }
  /** To be answered at once with this body; nothing for the agent. */
  | { status: "answered"; httpStatus: number; body: string }
  | { status: "messages"; messages: InboundMessage[] };

/** What became of one outgoing message. `retryAfterMs` where the platform named a time. */
export type SendOutcome =
  | { status: "sent"; messageId?: string }
  /** May succeed later: connection errors, 429, 5xx. */
  | { status: "retry"; reason: string; retryAfterMs?: number }
  /** Will not succeed: the platform refused it. */
  | { status: "failed"; reason: string };

/** A messaging platform: one file each behind this interface, one line in the table of channels. */
export interface Channel {
  name: string;
  /** Longest text of one message, in characters; longer replies are split. */
  maxText: number;
  /** Secrets of the account without which nothing is read or sent. */
  requiredSecrets: readonly string[];
  /** Verifies over the raw bytes, then parses. Does not throw for bad input. */
  receive(request: WebhookRequest, account: ChannelAccount): Promise<Received>;
  /** Sends one message of at most `maxText` characters. Does not throw for what the platform answers. */
  send(
    account: ChannelAccount,
    message: { peer: Peer; text: string; replyToId?: string },
  ): Promise<SendOutcome>;
  /** Shows that an answer is being written. Best effort. */
  typing(account: ChannelAccount, peer: Peer): Promise<void>;
}

export type ChannelOrigin = Extract<Origin, { kind: "channel" }>;

/** Delivers to channels, whichever they are. */
export interface ChannelSender {
  /**
   * Sends a text to where a message came from, in as many parts as the platform needs. `id` names the delivery, so that
   * a repeat after a crash does not send again what was sent. Returns the failure, if it could not be delivered.
   */
  deliver(
    origin: ChannelOrigin,
    id: string,
    text: string,
  ): Promise<{ ok: true } | { ok: false; reason: string }>;
  /** Shows that an answer is being written, where the origin is a channel. Best effort. */
  typing(origin: Origin): Promise<void>;
}
