import type { GatewayDispatchPayload } from "discord-api-types/v10";
import * as v from "valibot";
import type { ChannelAccount } from "../../shared/channels/channel.ts";
import type { ForwardedPart } from "../../shared/channels/content/part.ts";
import { partsOfMessage, targetMessage, timeOf } from "../../shared/channels/discord/discord-content.ts";
import { kindOfMedia } from "../../shared/media/media-types.ts";
import type { ParamsInput } from "../../shared/protocol/methods.ts";
import { askDiscord } from "./ask-discord.ts";
import type { MessagePlace } from "./bridge-state.ts";

/** `channel.inbound` without the account. */
export type Inbound = Omit<ParamsInput<"channel.inbound">, "channel" | "accountId">;

/** A message for the agent, and its place in Discord. Absent for an edit and a reaction: the message may be old. */
export interface ReadMessage {
  inbound: Inbound;
  place?: MessagePlace;
}

const name = v.nullish(v.string());
const user = v.object({
  id: v.string(),
  username: v.optional(v.string()),
  global_name: name,
  bot: v.optional(v.boolean()),
});

type User = v.InferOutput<typeof user>;

/** The fields that are read of a message (https://docs.discord.com/developers/resources/message#message-object). */
const message = v.object({
  ...targetMessage.entries,
  id: v.string(),
  type: v.optional(v.number(), 0),
  channel_id: v.string(),
  author: user,
  member: v.optional(v.object({ nick: name })),
  mentions: v.optional(v.array(user), []),
  message_reference: v.optional(
    v.object({ type: v.optional(v.number()), message_id: v.optional(v.string()) }),
  ),
  referenced_message: v.nullish(v.object({ content: v.optional(v.string()), author: v.optional(user) })),
});
type Message = v.InferOutput<typeof message>;

const edit = v.object({ edited_timestamp: v.pipe(v.string(), v.isoTimestamp()) });

/** (https://docs.discord.com/developers/events/gateway-events#message-reaction-add) */
const reaction = v.object({
  user_id: v.string(),
  channel_id: v.string(),
  message_id: v.string(),
  message_author_id: v.optional(v.string()),
  /** A verdict, with or without a skin tone. The agent gets no other reactions. */
  emoji: v.object({ name: v.pipe(v.string(), v.regex(/^[👍👎]/u)) }),
});

const channel = v.object({ type: v.number(), name, parent_id: name });

/** Messages of a channel, in any order. */
const page = v.fallback(v.array(v.looseObject({ id: v.string() })), []);

/** Messages that a person writes; others are notices: https://docs.discord.com/developers/resources/message#message-object-message-types */
const written = [0, 19];

/** https://docs.discord.com/developers/resources/channel#channel-object-channel-types */
const kinds: Readonly<Record<number, Inbound["peer"]["kind"]>> = {
  ...{ 1: "dm", 3: "group", 10: "thread", 11: "thread", 12: "thread" },
};

/** Maximum number of remembered reactions. Most verdicts that are taken back are new. */
const maxReactions = 1000;

/** Messages on one page of a channel. */
const pageSize = 100;

/** Reads the messages that are meant for the agent. */
export class DiscordReader {
  readonly #account: ChannelAccount;
  readonly #botId: string;
  readonly #signal: AbortSignal;
  readonly #channels = new Map<string, v.InferOutput<typeof channel>>();
  /** The newest reactions to the bot's messages. Discord does not say whose message a removed one was for. */
  readonly #reactions = new Set<string>();

  /** @param botId the bot's user */
  constructor(account: ChannelAccount, botId: string, signal: AbortSignal) {
    this.#account = account;
    this.#botId = botId;
    this.#signal = signal;
  }

  /**
   * The message that an event brings. Undefined for events and messages that the agent does not get.
   * @param session the id of the session with the event
   */
  async read({ t, d, s }: GatewayDispatchPayload, session: string): Promise<ReadMessage | undefined> {
    switch (t) {
      case "MESSAGE_CREATE":
        return this.#readMessage(d);
      case "MESSAGE_UPDATE":
        return this.#readEdit(d);
      case "MESSAGE_REACTION_ADD":
      case "MESSAGE_REACTION_REMOVE":
        return this.#readReaction(d, `${session}:${s}`, t === "MESSAGE_REACTION_ADD");
      default:
        return undefined;
    }
  }

  /** @param id of the event: a reaction has none */
  async #readReaction(found: unknown, id: string, isAdded: boolean): Promise<ReadMessage | undefined> {
    const parsed = v.safeParse(reaction, found);
    if (!parsed.success) return undefined;
    const { user_id, channel_id, message_id: of, message_author_id: author, emoji } = parsed.output;
    const key = `${of}/${user_id}/${emoji.name}`;
    if (isAdded ? author !== this.#botId : !this.#reactions.delete(key)) return undefined;
    if (isAdded) this.#noteReaction(key);
    const peer = await this.#peerOf(channel_id, { id: user_id });
    if (!peer) return undefined;
    const removed = isAdded ? {} : { removed: true };
    const parts = [{ kind: "reaction" as const, of, emoji: emoji.name, ...removed }];
    return { inbound: { peer, sender: { id: user_id }, message: { id, parts } } };
  }

  #noteReaction(key: string): void {
    this.#reactions.add(key);
    const [oldest] = this.#reactions;
    if (oldest !== undefined && this.#reactions.size > maxReactions) this.#reactions.delete(oldest);
  }

  /** Discord also reports changes that are no edits: a link's preview, a pin. */
  async #readEdit(found: unknown): Promise<ReadMessage | undefined> {
    const edited = v.safeParse(edit, found);
    const read = edited.success ? await this.#readMessage(found) : undefined;
    if (!edited.success || !read) return undefined;
    const { message: whole, ...others } = read.inbound;
    const at = Date.parse(edited.output.edited_timestamp);
    return {
      inbound: { ...others, message: { ...whole, parts: [...(whole.parts ?? []), { kind: "edit", at }] } },
    };
  }

  /** The messages of a channel after a known one, oldest first. A channel that the bot can no longer read has none. */
  async *readAfter({ channel, id }: MessagePlace): AsyncGenerator<ReadMessage> {
    for (let after = id; ; ) {
      const path = `/channels/${channel}/messages?limit=${pageSize}&after=${after}`;
      const found = v.parse(page, await this.#ask(path, []));
      const inOrder = found.sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
      for (const one of inOrder) {
        const read = await this.#readMessage(one);
        if (read) yield read;
      }
      if (inOrder.length < pageSize) return;
      after = inOrder.at(-1)?.id ?? after;
    }
  }

  async #readMessage(found: unknown): Promise<ReadMessage | undefined> {
    const parsed = v.safeParse(message, found);
    if (!parsed.success) return undefined;
    const { id, type, author, channel_id } = parsed.output;
    // Programs, this bot among them, get no answers: two of them would answer each other endlessly.
    if (author.bot || !written.includes(type)) return undefined;
    const { text, parts, media } = this.#contentOf(parsed.output);
    if (text === "" && parts.length === 0 && media.length === 0) return undefined;
    const peer = await this.#peerOf(channel_id, author);
    if (!peer) return undefined;
    const { referenced_message: answered, message_reference: reference } = parsed.output;
    const isReply = reference?.message_id !== undefined && (reference.type ?? 0) === 0;
    return {
      inbound: {
        peer,
        sender: senderOf(author, parsed.output.member?.nick),
        wasMentioned: this.#isAddressed(parsed.output),
        message: {
          id,
          text,
          timestamp: timeOf(id),
          parts,
          media,
          ...(isReply ? { replyToId: reference.message_id } : {}),
          ...(isReply && answered?.content ? { replyToText: answered.content } : {}),
        },
      },
      place: { channel: channel_id, id },
    };
  }

  /** Whether a message is for the agent: it mentions the bot, or answers it. */
  #isAddressed({ mentions, referenced_message }: Message): boolean {
    return mentions.some(({ id }) => id === this.#botId) || referenced_message?.author?.id === this.#botId;
  }

  #contentOf(found: Message) {
    const own = partsOfMessage({ ...found, message_snapshots: [], referenced_message: null });
    const [first, ...others] = own;
    const isText = first?.kind === "text";
    const rest = isText ? others : own;
    const forwarded = found.message_snapshots.map(({ message: snapshot }) => ({
      kind: "forward" as const,
      parts: leavesOf(partsOfMessage(v.parse(targetMessage, snapshot))),
    }));
    return {
      text: isText ? this.#named(first.text, found.mentions) : "",
      parts: [...leavesOf(rest), ...forwarded],
      // Discord has at most ten files in a message. The pictures of stickers come after them.
      media: rest.flatMap(mediaOf).slice(0, 10),
    };
  }

  /** A text with names in place of ids, and without the bot's own. */
  #named(text: string, mentions: Message["mentions"]): string {
    const names = new Map(mentions.map((one) => [one.id, one.global_name ?? one.username ?? one.id]));
    return text
      .replace(/<@!?(\d+)>/g, (whole, id: string) => {
        if (id === this.#botId) return "";
        const found = names.get(id);
        return found === undefined ? whole : `@${found}`;
      })
      .trim();
  }

  /** An answer of Discord's API, or `otherwise` when it refuses one: the bot may have lost a right. */
  async #ask(path: string, otherwise: unknown): Promise<unknown> {
    const answer = await askDiscord(this.#account, path, this.#signal).catch(() => otherwise);
    this.#signal.throwIfAborted();
    return answer;
  }

  async #channelOf(id: string): Promise<v.InferOutput<typeof channel> | undefined> {
    const known = this.#channels.get(id);
    if (known) return known;
    const found = v.safeParse(channel, await this.#ask(`/channels/${id}`, undefined));
    if (!found.success) return undefined;
    this.#channels.set(id, found.output);
    return found.output;
  }

  /** The conversation of a channel. Undefined when Discord does not tell the bot what it is: it may be a public room. */
  async #peerOf(id: string, sender: User): Promise<Inbound["peer"] | undefined> {
    const found = await this.#channelOf(id);
    if (!found) return undefined;
    const { type, name: title, parent_id: parent } = found;
    const kind = kinds[type] ?? "channel";
    const shown = kind === "dm" ? senderOf(sender, undefined).name : title;
    return {
      kind,
      id: kind === "thread" && parent ? `${parent}/${id}` : id,
      ...(shown ? { name: shown } : {}),
    };
  }
}

function senderOf(
  { id, username, global_name }: User,
  nick: string | null | undefined,
): Inbound["sender"] & object {
  const shown = nick ?? global_name ?? username;
  return { id, ...(shown ? { name: shown } : {}), ...(username ? { handle: username } : {}) };
}

function leavesOf(parts: readonly ForwardedPart[]) {
  return parts.flatMap((part) => (part.kind === "media" ? [] : [part]));
}

type Media = NonNullable<Inbound["message"]["media"]>[number];

function mediaOf(part: ForwardedPart): Media[] {
  if (part.kind !== "media") return [];
  const { mimeType = "application/octet-stream", filename, duration, source } = part.media;
  const url = "url" in source ? source.url : undefined;
  if (url === undefined) return [];
  return [
    {
      type: kindOfMedia(mimeType),
      mimeType,
      url,
      ...(filename ? { filename } : {}),
      ...(duration ? { duration } : {}),
    },
  ];
}
