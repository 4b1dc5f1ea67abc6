import type { Peer, Registration } from "../protocol/channel-accounts.ts";
import type { Mark } from "../protocol/events.ts";
import type { MediaAttachment } from "../protocol/messages.ts";
import type { Origin, RemoteMedia } from "../session/inbox-entry.ts";
import type { Content } from "./content/content.ts";
import type { Format } from "./outbound/leaves.ts";

/** An unverified webhook request. A channel verifies it before parsing. */
export interface WebhookRequest {
  method: string;
  /** Names in lower case. */
  headers: Record<string, string | undefined>;
  query: Record<string, string | undefined>;
  /** The raw bytes, which signatures cover. */
  body: Uint8Array;
}

/**
 * One account on a platform: its settings from the configuration, and its secrets by their configuration
 * names.
 */
export interface ChannelAccount {
  accountId: string;
  settings: Record<string, unknown>;
  secrets: Record<string, string | undefined>;
}

/** The channel and account of a message. */
export interface ChannelAddress {
  channel: string;
  accountId: string;
}

/**
 * The sender of a message, by the platform's stable id. Names are for display only: senders choose them
 * freely.
 */
export interface Sender {
  id: string;
  name?: string;
  handle?: string;
}

/** An attachment with its bytes in base64. */
export type EnclosedMedia = Omit<RemoteMedia, "source"> &
  Pick<MediaAttachment, "mimeType" | "transcription"> & { data: string };

/**
 * An inbound message, independent of the platform. A command is at the start of `text` as `/name`, without the agent's name on
 * the platform. `attachments` are fetched only after the sender is admitted.
 */
export interface InboundMessage extends Content {
  /** The platform's id of the event; a redelivery has the same id. */
  eventId: string;
  /** The id of a thread is `{room}/{thread}`. */
  peer: Peer;
  sender: Sender;
  messageId: string;
  /** Attachments with their bytes. They are stored only after the sender is admitted. */
  enclosed?: EnclosedMedia[];
  /** Epoch ms. */
  timestamp: number;
  /** The sender's platform gave no time: `timestamp` is that of the receipt, which says nothing of the order. */
  isUndated?: true;
  /** In rooms: whether the agent was addressed, by a mention or a reply. */
  wasMentioned: boolean;
  /** Further fields that the channel needs to answer. They may be secret: never log them. */
  context?: Record<string, string>;
}

export type Received =
  /**
   * 405 for a wrong method, 401 or 403 for a wrong signature, 400 for a verified body that cannot be parsed.
   */
  | { status: "refused"; httpStatus: number; reason: string }
  /** Respond with this body; there is no message for the agent. `contentType` defaults to JSON. */
  | { status: "answered"; httpStatus: number; body: string; contentType?: string }
  /** `shown`: the platform shows the HTTP response to the sender. There is then at most one message. */
  | {
      status: "messages";
      messages: InboundMessage[];
      presses?: Press[];
      reactions?: Reaction[];
      shown?: ShownAnswer;
      /** The JSON response body to a press, if the platform shows it. There is then at most one press. */
      pressed?: (outcome: PressOutcome) => string;
      /** Failures of earlier messages that the platform had accepted. */
      failures?: string[];
    };

/** `reason` is only logged, because the caller is not authenticated. */
export function refused(httpStatus: number, reason: string): Received {
  return { status: "refused", httpStatus, reason };
}

/** JSON response bodies, for platforms that show the HTTP response to the sender. */
export interface ShownAnswer {
  /** The agent will answer later. */
  pending: string;
  /** No answer will follow. The reason is not revealed. */
  refused: string;
  /** Shows a text, cut to the platform's limit. */
  text(text: string): string;
}

/** The outcome of sending one message. `retryAfterMs` only when the platform gave a time. */
export type SendOutcome = { status: "sent"; messageId?: string } | PlatformFailure;

/** A failed request to a platform. `reason` never contains a secret. */
export type PlatformFailure =
  /** May succeed later: connection errors, 429, 5xx. */
  | { status: "retry"; reason: string; retryAfterMs?: number }
  /** A retry is useless: the platform refused the request. */
  | { status: "failed"; reason: string };

/** The location of an attachment's bytes. `headers` may contain credentials. */
export type MediaLocation =
  | { status: "found"; url: string; headers?: Record<string, string> }
  | PlatformFailure;

/** The destination of a message. */
export interface Destination {
  peer: Peer;
  /** The conversation that the message belongs to; absent for a message outside of any. */
  sessionKey?: string;
  /** Id of the message to reply to. */
  replyToId?: string;
  /** The `context` of the inbound message to reply to. */
  context?: Readonly<Record<string, string>>;
  /** A message that waits for its bridge is dropped when this person is no longer an owner. */
  whileOwner?: ChannelOrigin["whileOwner"];
}

/** One message to a peer. When an answer has several parts, only the first has `replyToId`. */
export interface OutboundMessage extends Destination {
  text: string;
  /** Further fields of the platform's call, from its `Format`. If the platform refuses them, the text is sent alone. */
  formatting?: object;
  /** Unique id; a retry after a crash has the same id. */
  id?: string;
}

/** The beginning of every choice's data, by which a platform tells a press from other messages. */
export const choicePrefix = "ap:";

/** A button under a question. `data` comes back with a press: 1 to 64 bytes. */
export interface Choice {
  label: string;
  data: string;
}

/** A text with buttons. */
export interface Question {
  text: string;
  choices: readonly Choice[];
}

/** A button that somebody has pressed, from a verified request. */
export interface Press {
  /** The platform's id; a redelivery has the same id. */
  eventId: string;
  sender: Sender;
  /** Where the message with the button is. */
  peer: Peer;
  messageId: string;
  data: string;
}

/** A platform's questions with buttons. Failures of the platform are returned, not thrown. */
export interface Buttons {
  /** Longest encoded text, in UTF-16 units. */
  maxText: number;
  maxChoices: number;
  /** There are no buttons: the owner writes `yes` or `no`, and the start of the request's id (`shared/approvals/answer-in-words.ts`). */
  inWords?: true;
  /** Encloses what the platform must show as it is. Absent: it shows every text so. */
  fence?: string;
  /** Sends a question, within `sendTimeoutMs`. */
  ask(account: ChannelAccount, message: OutboundMessage & Pick<Question, "choices">): Promise<SendOutcome>;
  /** Replaces the encoded text of a question, and removes its buttons. Absent: the presser gets a message instead. */
  close?(account: ChannelAccount, sent: SentQuestion, text: string): Promise<SendOutcome>;
  /** Tells the presser, besides the closed question. Best effort. Absent: the HTTP response does. */
  respond?(account: ChannelAccount, press: Press, outcome: PressOutcome): Promise<void>;
}

/** A reaction of somebody to a message, from a verified request. */
export interface Reaction {
  /** The platform's id; a redelivery has the same id. */
  eventId: string;
  sender: Sender;
  peer: Peer;
  messageId: string;
  /** Absent: the sender has no reaction any more. */
  emoji?: string;
  /** The emoji was taken back. The sender may have another reaction. */
  isRemoved?: true;
}

/** What followed from a press. `isClosed`: the question shows how it was answered. */
export interface PressOutcome {
  text: string;
  isClosed: boolean;
}

/** Where a question was sent. */
export interface SentQuestion {
  peer: Peer;
  messageId: string;
}

/** A file to send. `filename` has no path. */
export interface OutboundFile {
  filename: string;
  mimeType: string;
  body: Uint8Array;
}

/** One file to a peer. */
export interface FileMessage extends Destination {
  file: OutboundFile;
  /** As in `OutboundMessage`. */
  id?: string;
}

/** Time limit of one request to a platform, in milliseconds. */
export const sendTimeoutMs = 10_000;

/** Time limit of sending a file, in milliseconds. */
export const sendFileTimeoutMs = 60_000;

/** A required setting or secret of an account. */
export interface AccountField {
  /** Its name in the configuration. */
  name: string;
  /** A secret: kept in the parameter store and never shown. */
  secret: boolean;
  /** The prompt for the operator: what the field is and where to find it. */
  about: string;
  /** The value is arbitrary, so it can be generated. */
  free?: true;
}

/** A platform's report about an account. `reason` never contains a secret. */
export type AccountCheck =
  | {
      ok: true;
      /** The agent's display name on the platform. */
      identity: string;
      /**
       * The webhook registered at the platform, when its API reports it: URL (empty when none) and last
       * error.
       */
      webhook?: { url: string; lastError?: string; lastErrorAt?: number };
    }
  | { ok: false; reason: string };

/** The setup of a platform's accounts. Failures of the platform are returned, not thrown. */
export interface AccountSetup {
  fields: readonly AccountField[];
  /** Verifies the credentials at the platform. */
  check(account: ChannelAccount): Promise<AccountCheck>;
  /** Registers the webhook's URL and everything else the platform needs. Safe to repeat. */
  register(account: ChannelAccount, webhookUrl: string): Promise<Registration>;
  /** Undoes `register` when the platform has an API for it. Best effort. */
  unregister?(account: ChannelAccount): Promise<void>;
}

/** A messaging platform. Each implementation is one entry in the table of channels. */
export interface Channel extends AccountSetup {
  name: string;
  /** Longest text of one message, in UTF-16 units; longer replies are split. */
  maxText: number;
  /** Encodes a text for the platform; `maxText` limits the encoded text. Default: no change. */
  encode?(text: string): string;
  /** How markdown is written. Loaded when it is first needed. Absent: markdown is sent as it is. */
  format?(): Promise<Format>;
  /**
   * Verifies the raw bytes, then parses them. Does not throw for bad input. Throws when it needs an API call
   * that fails, so that the platform delivers the event again.
   */
  receive(request: WebhookRequest, account: ChannelAccount): Promise<Received>;
  /**
   * Sends one encoded message of at most `maxText` characters. Returns within `sendTimeoutMs`; failures of
   * the platform are returned, not thrown.
   */
  send(account: ChannelAccount, message: OutboundMessage): Promise<SendOutcome>;
  /**
   * Sends one file, as an image, audio or video where the platform supports it. Like `send`, but within
   * `sendFileTimeoutMs`. Absent when the platform accepts no files.
   */
  sendFile?(account: ChannelAccount, message: FileMessage): Promise<SendOutcome>;
  /** A long answer stays texts: it is unknown whether files reach the platform. */
  keepsTexts?: true;
  /** Absent when the platform has no buttons. */
  buttons?: Buttons;
  /**
   * The platform shows a pending answer until a message replaces it, so that every request needs an answer.
   */
  awaitsAnswer?: true;
  /** Shows that an answer is being written. Best effort. */
  typing(account: ChannelAccount, destination: Destination): Promise<void>;
  /** Shows a mark on a message, in place of the one before. Best effort. Absent: the platform shows none. */
  mark?(account: ChannelAccount, message: SentQuestion, mark: Mark): Promise<void>;
  /**
   * Resolves an attachment's `source` to the location of its bytes, with an API call if needed. Does not
   * throw. Without this method, or for an unknown source, the location is the source's `url`.
   */
  locate?(account: ChannelAccount, source: Readonly<Record<string, string>>): Promise<MediaLocation>;
}

/** The methods of a channel for sending messages and fetching media. */
export type OutboundChannel = Pick<
  Channel,
  | "name"
  | "maxText"
  | "encode"
  | "format"
  | "keepsTexts"
  | "send"
  | "sendFile"
  | "buttons"
  | "typing"
  | "mark"
  | "locate"
>;

/** What a text's form depends on. */
export type TextForm = Pick<Channel, "encode" | "buttons">;

/** Channels by name, as used in the configuration and in webhook URLs. */
export type Channels = Readonly<Record<string, Channel>>;

export type ChannelOrigin = Extract<Origin, { kind: "channel" }>;

/** A text to send: plain, or markdown that the platform shows formatted. */
export type OutboundText = string | { markdown: string };

/** The text as it was written. */
export function sourceOf(text: OutboundText): string {
  return typeof text === "string" ? text : text.markdown;
}

/** Whether a message was delivered. */
export type Delivered = { ok: true } | { ok: false; reason: string };

/** Delivers messages to channels. */
export interface ChannelSender {
  /**
   * Sends a text to an origin, split at the platform's limit, and then a file. Of a text beyond four messages a file
   * `answer.md` replaces the end. `id` names the delivery: a retry with the same id skips parts that were already sent. A
   * failure is returned, not thrown.
   */
  deliver(origin: ChannelOrigin, id: string, text: OutboundText, file?: OutboundFile): Promise<Delivered>;
  /** Like `deliver`, for a question in the channel's form. It must fit into one message if the channel has buttons. */
  ask(origin: ChannelOrigin, id: string, question: (form: TextForm) => Question): Promise<Delivered>;
  /**
   * Replaces the text of a question that `ask` sent under this id. Best effort.
   * @returns the id of the changed message
   */
  close(id: string, text: (form: TextForm) => string): Promise<string | undefined>;
  /** Shows a typing indicator when the origin is a channel. Best effort. */
  typing(origin: Origin): Promise<void>;
  /** Shows a mark on the message of an origin, if the channel's setting `reactions` is on. Best effort. */
  mark(origin: Origin, mark: Mark): Promise<void>;
  /** Replaces a pending answer that the channel shows, when there will be no answer. */
  conclude(origin: Origin, id: string, text: string): Promise<void>;
}
