import type { Peer, Registration } from "../protocol/channel-accounts.ts";
import type { MediaAttachment } from "../protocol/messages.ts";
import type { Origin, RemoteMedia } from "../session/inbox-entry.ts";

/** A webhook call, as it came in: nothing is parsed before it is verified. */
export interface WebhookRequest {
  method: string;
  /** Names in lower case. */
  headers: Record<string, string | undefined>;
  query: Record<string, string | undefined>;
  /** The raw bytes: signatures cover these. */
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

/** Where a message came in. */
export interface ChannelAddress {
  channel: string;
  accountId: string;
}

/** Who wrote a message, by the platform's stable id. Names are for reading only: anybody can take any. */
export interface Sender {
  id: string;
  name?: string;
  handle?: string;
}

/** What came with a message together with its bytes, in base64. */
export type EnclosedMedia = Omit<RemoteMedia, "source"> &
  Pick<MediaAttachment, "mimeType" | "transcription"> & { data: string };

/** A message that somebody sent, in the same terms for every platform. */
export interface InboundMessage {
  /** The platform's id of the event; a redelivery has the same. */
  eventId: string;
  /** The id of a thread is `{room}/{thread}`. */
  peer: Peer;
  sender: Sender;
  messageId: string;
  /** A command stands at its start as `/name`, without the agent's own name on the platform. May be empty. */
  text: string;
  /** What came with it, still with the platform: nothing is fetched before its sender was let in. */
  attachments?: RemoteMedia[];
  /** What came with it whole; it is stored once its sender was let in. */
  enclosed?: EnclosedMedia[];
  /** Epoch ms. */
  timestamp: number;
  replyToId?: string;
  replyToText?: string;
  /** In rooms: whether the agent was addressed, by a mention or a reply. */
  wasMentioned: boolean;
  /**
   * What an answer needs besides the peer, for the channel alone to read. It may hold a secret, and is never
   * logged.
   */
  context?: Record<string, string>;
}

export type Received =
  /**
   * 405 for the method, 401 or 403 for the signature, 400 for a body that was verified and cannot be read.
   */
  | { status: "refused"; httpStatus: number; reason: string }
  /** To be answered at once with this body; nothing for the agent. `contentType` is JSON unless given. */
  | { status: "answered"; httpStatus: number; body: string; contentType?: string }
  /** `shown`: the platform shows the sender what the call is answered, so there is one message at most. */
  | {
      status: "messages";
      messages: InboundMessage[];
      shown?: ShownAnswer;
      /** Why messages that the platform had taken before were not delivered after all. */
      failures?: string[];
    };

/** `reason` is for the log alone: the caller may be anybody. */
export function refused(httpStatus: number, reason: string): Received {
  return { status: "refused", httpStatus, reason };
}

/** The JSON bodies that a call can be answered with, where the sender gets to see the answer. */
export interface ShownAnswer {
  /** An answer of the agent's follows. */
  pending: string;
  /** Nothing follows, and nothing is told of the reason. */
  refused: string;
  /** Shows a text, shortened to what the platform takes. */
  text(text: string): string;
}

/** What became of one outgoing message. `retryAfterMs` where the platform named a time. */
export type SendOutcome = { status: "sent"; messageId?: string } | PlatformFailure;

/** Why a platform did not do what it was asked for. No reason ever holds a secret. */
export type PlatformFailure =
  /** May succeed later: connection errors, 429, 5xx. */
  | { status: "retry"; reason: string; retryAfterMs?: number }
  /** Will not succeed: the platform refused it. */
  | { status: "failed"; reason: string };

/** Where the bytes of an attachment are to be fetched; `headers` may hold credentials. */
export type MediaLocation =
  | { status: "found"; url: string; headers?: Record<string, string> }
  | PlatformFailure;

/** Where a message goes. */
export interface Destination {
  peer: Peer;
  /** The message that is answered. */
  replyToId?: string;
  /** That of the message that is answered. */
  context?: Readonly<Record<string, string>>;
}

/** One message to a peer. Of an answer in several parts, only the first has `replyToId`. */
export interface OutboundMessage extends Destination {
  text: string;
  /** Names it: a repeat after a crash has the same. */
  id?: string;
}

/** A file to be sent. `filename` without a path. */
export interface OutboundFile {
  filename: string;
  mimeType: string;
  body: Uint8Array;
}

/** One file to a peer. */
export interface FileMessage extends Destination {
  file: OutboundFile;
  /** As a text's. */
  id?: string;
}

/** The longest that one call to a platform takes, in milliseconds. */
export const sendTimeoutMs = 10_000;

/** The longest that sending a file takes, in milliseconds. */
export const sendFileTimeoutMs = 60_000;

/** A setting or secret of an account without which nothing is read or sent. */
export interface AccountField {
  /** Its name in the configuration. */
  name: string;
  /** Kept in the parameter store, and never shown. */
  secret: boolean;
  /** What it is, and where it is found: what whoever sets the account up is asked. */
  about: string;
  /** Any text will do, so it may be made up. */
  free?: true;
}

/** What a platform says of an account. No reason ever holds a secret. */
export type AccountCheck =
  | {
      ok: true;
      /** Who the agent is there, for people to read. */
      identity: string;
      /**
       * What the platform knows of the webhook, where it tells: its address, empty for none, and its last
       * fault.
       */
      webhook?: { url: string; lastError?: string; lastErrorAt?: number };
    }
  | { ok: false; reason: string };

/** How an account of a platform is set up. Nothing here throws for what the platform does. */
export interface AccountSetup {
  fields: readonly AccountField[];
  /** Asks the platform whether it takes the credentials. */
  check(account: ChannelAccount): Promise<AccountCheck>;
  /** Tells the platform the webhook's address, and what else it has to know. May be repeated. */
  register(account: ChannelAccount, webhookUrl: string): Promise<Registration>;
  /** Takes that back, where the platform has an API for it. Best effort. */
  unregister?(account: ChannelAccount): Promise<void>;
}

/** A messaging platform: one file each behind this interface, one line in the table of channels. */
export interface Channel extends AccountSetup {
  name: string;
  /** Longest text of one message, in UTF-16 units; longer replies are split. */
  maxText: number;
  /** A text as the platform takes it, which is what `maxText` counts; as it is unless given. */
  encode?(text: string): string;
  /**
   * Verifies over the raw bytes, then parses. Does not throw for bad input; throws when the platform has to
   * be asked and cannot be, so that the event comes again.
   */
  receive(request: WebhookRequest, account: ChannelAccount): Promise<Received>;
  /**
   * Sends one message, encoded, of at most `maxText` characters. Ends within `sendTimeoutMs` and does not
   * throw, whatever the platform does. No reason ever holds a secret.
   */
  send(account: ChannelAccount, message: OutboundMessage): Promise<SendOutcome>;
  /**
   * Sends one file, as what it is where the platform shows images or plays sound. As `send`, but within
   * `sendFileTimeoutMs`. Without it, the platform takes no files.
   */
  sendFile?(account: ChannelAccount, message: FileMessage): Promise<SendOutcome>;
  /** What is being answered is shown as such until a message takes that place, so that one has to. */
  awaitsAnswer?: true;
  /** Shows that an answer is being written. Best effort. */
  typing(account: ChannelAccount, destination: Destination): Promise<void>;
  /**
   * Finds the bytes that an attachment's `source` stands for, by asking the platform where it has to be
   * asked. Does not throw. Without it, and for a source that it does not know, the bytes are at the source's
   * `url`.
   */
  locate?(account: ChannelAccount, source: Readonly<Record<string, string>>): Promise<MediaLocation>;
}

/** What of a channel messages are sent by, and media is fetched by. */
export type OutboundChannel = Pick<
  Channel,
  "name" | "maxText" | "encode" | "send" | "sendFile" | "typing" | "locate"
>;

/** The platforms by their names, which are those in the configuration and in webhook URLs. */
export type Channels = Readonly<Record<string, Channel>>;

export type ChannelOrigin = Extract<Origin, { kind: "channel" }>;

/** Delivers to channels, whichever they are. */
export interface ChannelSender {
  /**
   * Sends a text to where a message came from, in as many parts as the platform needs, and then a file. `id`
   * names the delivery, so that a repeat after a crash does not send again what was sent. Returns the
   * failure, if it could not be delivered.
   */
  deliver(
    origin: ChannelOrigin,
    id: string,
    text: string,
    file?: OutboundFile,
  ): Promise<{ ok: true } | { ok: false; reason: string }>;
  /** Shows that an answer is being written, where the origin is a channel. Best effort. */
  typing(origin: Origin): Promise<void>;
  /**
   * Says that no answer will come, where the origin's channel shows one to be awaited until something takes
   * its place.
   */
  conclude(origin: Origin, id: string, text: string): Promise<void>;
}
