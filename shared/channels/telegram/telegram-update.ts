import * as v from "valibot";
import { parseJson } from "../../http/platform-call.ts";
import type { Peer } from "../../protocol/channel-accounts.ts";
import type { InboundMessage, Press, Reaction, Sender } from "../channel.ts";
import { contentOf, summaryOf } from "../content/content.ts";
import type { ForwardedPart, Part } from "../content/part.ts";
import { partsOfContent, partsOfText, telegramContent, unknownParts } from "./telegram-content.ts";

const user = v.object({
  id: v.number(),
  is_bot: v.optional(v.boolean()),
  first_name: v.optional(v.string()),
  last_name: v.optional(v.string()),
  username: v.optional(v.string()),
});

const chat = v.object({
  id: v.number(),
  type: v.string(),
  title: v.optional(v.string()),
  first_name: v.optional(v.string()),
  last_name: v.optional(v.string()),
  username: v.optional(v.string()),
});

/** Offsets and lengths are in UTF-16 units. */
const entity = v.object({
  type: v.string(),
  offset: v.number(),
  length: v.number(),
  user: v.optional(user),
  url: v.optional(v.string()),
});

/** Who wrote a forwarded message (https://core.telegram.org/bots/api#messageorigin). */
const messageOrigin = v.object({
  /** Epoch seconds. */
  date: v.optional(v.number()),
  sender_user: v.optional(user),
  /** Of a user who hides their account. */
  sender_user_name: v.optional(v.string()),
  sender_chat: v.optional(chat),
  chat: v.optional(chat),
  author_signature: v.optional(v.string()),
});

/** All fields are kept: one that is not known may be content. */
const message = v.looseObject({
  message_id: v.number(),
  /** Epoch seconds. */
  date: v.number(),
  /** Of an edit, epoch seconds. */
  edit_date: v.optional(v.number()),
  chat,
  from: v.optional(user),
  sender_chat: v.optional(chat),
  message_thread_id: v.optional(v.number()),
  /** The same in all messages of an album. */
  media_group_id: v.optional(v.string()),
  is_topic_message: v.optional(v.boolean()),
  text: v.optional(v.string()),
  entities: v.optional(v.array(entity)),
  caption: v.optional(v.string()),
  caption_entities: v.optional(v.array(entity)),
  reply_to_message: v.optional(
    v.object({
      message_id: v.number(),
      from: v.optional(user),
      text: v.optional(v.string()),
      caption: v.optional(v.string()),
      forum_topic_created: v.optional(v.unknown()),
      ...telegramContent,
    }),
  ),
  /** The quoted part of the replied message, if the sender selected one. */
  quote: v.optional(v.object({ text: v.string() })),
  /** The replied message, if it is in another chat or topic. */
  external_reply: v.optional(v.object({ origin: messageOrigin, chat: v.optional(chat), ...telegramContent })),
  reply_to_story: v.optional(v.object({ chat, id: v.number() })),
  forward_origin: v.optional(messageOrigin),
  /** The bot whose inline result the sender has chosen: it wrote the message. */
  via_bot: v.optional(user),
  /** Present in the last message of a group that was upgraded: the supergroup's id. */
  migrate_to_chat_id: v.optional(v.number()),
  ...telegramContent,
});

/** A press of a button under a message of the bot (https://core.telegram.org/bots/api#callbackquery). */
const callbackQuery = v.object({
  id: v.string(),
  from: user,
  message: v.object({ message_id: v.number(), chat }),
  data: v.string(),
});

/** A change of somebody's reactions to a message (https://core.telegram.org/bots/api#messagereactionupdated). */
const messageReaction = v.object({
  chat,
  message_id: v.number(),
  user,
  new_reaction: v.array(v.object({ type: v.string(), emoji: v.optional(v.string()) })),
});

/** The fields that are read of an Update (https://core.telegram.org/bots/api#update). */
const update = v.object({
  update_id: v.pipe(v.number(), v.integer()),
  message: v.optional(message),
  channel_post: v.optional(message),
  edited_message: v.optional(message),
  edited_channel_post: v.optional(message),
  callback_query: v.optional(v.unknown()),
  message_reaction: v.optional(v.unknown()),
});

export type TelegramUpdate = v.InferOutput<typeof update>;
type Message = v.InferOutput<typeof message>;

/** The bot that received an update. */
export interface TelegramBot {
  id: number;
  /** Requested only when an update cannot be interpreted without it. */
  username(): Promise<string>;
}

/** Undefined for bytes that are not an Update in JSON. */
export function parseUpdate(body: Uint8Array): TelegramUpdate | undefined {
  const parsed = v.safeParse(update, parseJson(body));
  return parsed.success ? parsed.output : undefined;
}

/** The old and new id of a group that was upgraded to a supergroup; undefined for other updates. */
export function readMove({ message: found }: TelegramUpdate): { from: string; to: string } | undefined {
  if (found?.migrate_to_chat_id === undefined) return undefined;
  return { from: String(found.chat.id), to: String(found.migrate_to_chat_id) };
}

/** The pressed button of an update, if it is one under a message of the bot. */
export function readPress({ callback_query }: TelegramUpdate): Press | undefined {
  const parsed = v.safeParse(callbackQuery, callback_query);
  if (!parsed.success) return undefined;
  const { id: eventId, from, message: found, data } = parsed.output;
  const peer = { kind: found.chat.type === "private" ? "dm" : "group", id: String(found.chat.id) };
  return { eventId, sender: person(from), peer, messageId: String(found.message_id), data };
}

/** The reaction in an update. The last one counts if there are several. */
export function readReaction({ update_id, message_reaction }: TelegramUpdate): Reaction | undefined {
  const parsed = v.safeParse(messageReaction, message_reaction);
  if (!parsed.success) return undefined;
  const { chat: room, message_id, user: from, new_reaction } = parsed.output;
  const emoji = new_reaction.findLast((one) => one.type === "emoji")?.emoji;
  const peer = { kind: room.type === "private" ? "dm" : "group", id: String(room.id) };
  const base = { eventId: String(update_id), sender: person(from), peer, messageId: String(message_id) };
  return { ...base, ...(emoji === undefined ? {} : { emoji }) };
}

/** The inbound message of an update, or its edit. Undefined for messages of other bots, service messages and other updates. */
export async function readMessage(
  { update_id, message: direct, channel_post, ...edits }: TelegramUpdate,
  bot: TelegramBot,
): Promise<InboundMessage | undefined> {
  const edited = edits.edited_message ?? edits.edited_channel_post;
  const found = direct ?? channel_post ?? edited;
  const sender = found && senderOf(found);
  if (!found || !sender) return undefined;
  const marks = marksOf(found);
  const isBot = await botTest(found, marks, bot);
  const replied = repliedTo(found);
  const by = { channel: "telegram", senderId: sender.id };
  const parts = [...partsOf(found, isBot), ...answeredParts(found, replied, bot)];
  if (found.media_group_id) parts.push({ kind: "album", id: found.media_group_id });
  // Several edits in one second have ascending update ids.
  if (edited) parts.push({ kind: "edit", at: (edited.edit_date ?? edited.date) * 1000 + (update_id % 1000) });
  const content = contentOf(parts, by);
  if (!content) return undefined;
  return {
    eventId: `${found.chat.id}:${found.message_id}`,
    peer: peerOf(found),
    sender,
    messageId: String(found.message_id),
    ...content,
    timestamp: found.date * 1000,
    ...topicOf(found),
    wasMentioned: replied?.from?.id === bot.id || marks.some((mark) => isMention(mark, bot.id, isBot)),
  };
}

/** The parts of a message itself. What the sender did not write is a forwarded message. */
function partsOf(found: Message, isBot: IsBot): Part[] {
  const { text, caption, entities, caption_entities, forward_origin, via_bot } = found;
  const words = partsOfText(text ?? caption ?? "", entities ?? caption_entities ?? []);
  const parts = [...words, ...partsOfContent(found), ...unknownParts(found)];
  if (forward_origin)
    return [
      { kind: "forward", ...writerOf(forward_origin), at: (forward_origin.date ?? found.date) * 1000, parts },
    ];
  if (via_bot) return [{ kind: "forward", from: via_bot.username, fromId: String(via_bot.id), parts }];
  return parts.map((part) =>
    part.kind === "text" ? { ...part, text: withoutBotName(part.text, isBot) } : part,
  );
}

/** The writer of a message of which only the origin is known. */
function writerOf({ sender_user, sender_user_name, ...origin }: v.InferOutput<typeof messageOrigin>): {
  from?: string;
  fromId?: string;
} {
  const place = origin.sender_chat ?? origin.chat;
  const found = sender_user ? person(sender_user) : place && person(place, place.title);
  const name = [sender_user_name ?? found?.name ?? found?.handle, origin.author_signature]
    .filter(Boolean)
    .join(", ");
  return { ...(name ? { from: name } : {}), ...(found ? { fromId: found.id } : {}) };
}

/** The message that a message answers. */
function answeredParts(found: Message, replied: Message["reply_to_message"], bot: TelegramBot): Part[] {
  const { quote, external_reply: external, reply_to_story: story } = found;
  const parts: Part[] = [];
  if (replied) {
    const { text, caption } = replied;
    const content = partsOfContent(replied);
    const said = summaryOf([
      { kind: "text", text: text ?? caption ?? "" },
      ...((text ?? caption) ? [] : content),
    ]);
    parts.push({ kind: "quote", of: String(replied.message_id), text: quote?.text ?? said });
    parts.push(...othersMedia(found, replied, content, bot));
  }
  if (external) {
    const content = partsOfContent(external);
    const { from: by } = writerOf(external.origin);
    parts.push({ kind: "quote", text: quote?.text ?? summaryOf(content), by, in: external.chat?.title });
    parts.push(...content.filter(({ kind }) => kind === "media"));
  }
  if (story)
    parts.push({
      kind: "other",
      name: "reply to a story",
      detail: `${person(story.chat, story.chat.title).name} ${story.id}`,
    });
  return parts;
}

/**
 * The sender of a message. For an anonymous administrator or a channel it is the chat, because `from` is then
 * a placeholder.
 */
function senderOf({ from, sender_chat, chat: room }: Message): Sender | undefined {
  const speaker = sender_chat ?? (from ? undefined : room);
  if (speaker) return person(speaker, speaker.title);
  if (!from || from.is_bot) return undefined;
  return person(from);
}

function peerOf({ chat: room, message_thread_id, is_topic_message }: Message): Peer {
  const { id, name } = person(room, room.title);
  const named = name === undefined ? {} : { name };
  if (room.type === "private") return { kind: "dm", id, ...named };
  if (is_topic_message && message_thread_id !== undefined)
    return { kind: "thread", id: `${id}/${message_thread_id}`, ...named };
  return { kind: room.type === "channel" ? "channel" : "group", id, ...named };
}

function person(
  one: { id: number; first_name?: string; last_name?: string; username?: string },
  title?: string,
): Sender {
  const name = title ?? [one.first_name, one.last_name].filter(Boolean).join(" ");
  return {
    id: String(one.id),
    ...(name ? { name } : {}),
    ...(one.username ? { handle: one.username } : {}),
  };
}

/** In a forum, every message is formally a reply to the message that opened its topic. */
function repliedTo({ reply_to_message: replied }: Message): Message["reply_to_message"] {
  return replied?.forum_topic_created === undefined ? replied : undefined;
}

/** Topics in a direct message belong to the same conversation; only the answer goes into the topic. */
function topicOf({
  chat: room,
  message_thread_id,
  is_topic_message,
}: Message): Pick<InboundMessage, "context"> {
  const isTopic = room.type === "private" && is_topic_message && message_thread_id !== undefined;
  return isTopic ? { context: { threadId: String(message_thread_id) } } : {};
}

/** In rooms the agent has not seen other messages, so the file of a replied message is included. */
function othersMedia(
  { chat: room }: Message,
  replied: NonNullable<Message["reply_to_message"]>,
  content: readonly ForwardedPart[],
  bot: TelegramBot,
): Part[] {
  if (room.type === "private" || replied.from?.id === bot.id) return [];
  return content.filter(({ kind }) => kind === "media");
}

/** A text entity. `name` is the username after the @ of a mention or a command. */
interface Mark {
  type: string;
  name?: string;
  userId?: number;
}

function marksOf({ text, entities, caption, caption_entities }: Message): Mark[] {
  const written = text ?? caption ?? "";
  return (entities ?? caption_entities ?? []).map(({ type, offset, length, user: marked }) => {
    const bearsName = type === "mention" || type === "bot_command";
    const name = bearsName ? written.slice(offset, offset + length).split("@")[1] : undefined;
    return { type, name, userId: marked?.id };
  });
}

function isMention({ type, name, userId }: Mark, botId: number, isBot: IsBot): boolean {
  return type === "text_mention" ? userId === botId : name !== undefined && isBot(name);
}

type IsBot = (username: string) => boolean;

/** Whether a username is the bot's. Always true in a direct message. */
async function botTest({ chat: room }: Message, marks: readonly Mark[], bot: TelegramBot): Promise<IsBot> {
  if (room.type === "private") return () => true;
  if (marks.every(({ name }) => name === undefined)) return () => false;
  const username = (await bot.username()).toLowerCase();
  return (name) => name.toLowerCase() === username;
}

/** `/command@bot` and `@bot /command`, as commands are given in rooms. */
const addressedCommand = /^(?:@(\w+)\s+)?(\/(?:\w+|\?))(?:@(\w+))?(?!\S)/;

function withoutBotName(text: string, isBot: IsBot): string {
  return text.replace(addressedCommand, (whole, mention?: string, command = "", suffix?: string) => {
    const isForOther = [mention, suffix].some((name) => name !== undefined && !isBot(name));
    return isForOther ? whole : command;
  });
}
