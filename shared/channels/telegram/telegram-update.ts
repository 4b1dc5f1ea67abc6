import * as v from "valibot";
import { parseJson } from "../../http/platform-call.ts";
import type { Peer } from "../../protocol/channel-accounts.ts";
import type { RemoteMedia } from "../../session/inbox-entry.ts";
import type { InboundMessage, Sender } from "../channel.ts";
import { contentFields } from "../content-note.ts";
import { attachmentsOf, telegramContent, telegramContentOf } from "./telegram-content.ts";

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

/** Offsets and lengths are in UTF-16 units, as JavaScript counts. */
const entity = v.object({ type: v.string(), offset: v.number(), length: v.number(), user: v.optional(user) });

const message = v.object({
  message_id: v.number(),
  /** Epoch seconds. */
  date: v.number(),
  chat,
  from: v.optional(user),
  sender_chat: v.optional(chat),
  message_thread_id: v.optional(v.number()),
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
  /** The part of that message that is answered, where somebody chose one. */
  quote: v.optional(v.object({ text: v.string() })),
  /** The last message of a group that became a supergroup: its new id. */
  migrate_to_chat_id: v.optional(v.number()),
  ...telegramContent,
});

/** An Update (https://core.telegram.org/bots/api#update), as far as it is read. */
const update = v.object({
  update_id: v.pipe(v.number(), v.integer()),
  message: v.optional(message),
  channel_post: v.optional(message),
});

export type TelegramUpdate = v.InferOutput<typeof update>;
type Message = v.InferOutput<typeof message>;

/** The bot that an update came to. */
export interface TelegramBot {
  id: number;
  /** Asked for only where an update cannot be understood without. */
  username(): Promise<string>;
}

/** Undefined for bytes that are not an Update in JSON. */
export function parseUpdate(body: Uint8Array): TelegramUpdate | undefined {
  const parsed = v.safeParse(update, parseJson(body));
  return parsed.success ? parsed.output : undefined;
}

/** The ids of a group that has become a supergroup, where an update says so. */
export function readMove({ message: found }: TelegramUpdate): { from: string; to: string } | undefined {
  if (found?.migrate_to_chat_id === undefined) return undefined;
  return { from: String(found.chat.id), to: String(found.migrate_to_chat_id) };
}

/**
 * The message that an update brings. Undefined for what is nothing to the agent: edits, what other bots say,
 * service messages, and kinds of updates that are no messages.
 */
export async function readMessage(
  { update_id, message: direct, channel_post }: TelegramUpdate,
  bot: TelegramBot,
): Promise<InboundMessage | undefined> {
  const found = direct ?? channel_post;
  const sender = found && senderOf(found);
  const content = found && telegramContentOf(found.text ?? found.caption, found);
  if (!found || !sender || !content) return undefined;
  const marks = marksOf(found);
  const isBot = await botTest(found, marks, bot);
  const replied = repliedTo(found);
  const answered = othersMedia(found, replied, bot);
  const attachments = [...content.attachments, ...answered];
  return {
    eventId: String(update_id),
    peer: peerOf(found),
    sender,
    messageId: String(found.message_id),
    ...contentFields({ text: withoutBotName(content.text, isBot), attachments }),
    timestamp: found.date * 1000,
    ...replyOf(replied, found.quote?.text, answered[0]?.type),
    ...topicOf(found),
    wasMentioned: replied?.from?.id === bot.id || marks.some((mark) => isMention(mark, bot.id, isBot)),
  };
}

/**
 * Who speaks for a chat (an anonymous administrator, a channel) is that chat: `from` is a placeholder then.
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

/** In a forum, every message "replies" to the one that opened its topic. */
function repliedTo({ reply_to_message: replied }: Message): Message["reply_to_message"] {
  return replied?.forum_topic_created === undefined ? replied : undefined;
}

/**
 * A direct message with a bot may have topics: they belong to it, only the answer is put where the question
 * stands.
 */
function topicOf({
  chat: room,
  message_thread_id,
  is_topic_message,
}: Message): Pick<InboundMessage, "context"> {
  const isTopic = room.type === "private" && is_topic_message && message_thread_id !== undefined;
  return isTopic ? { context: { threadId: String(message_thread_id) } } : {};
}

/** In rooms the agent has not seen what others sent, and is asked about it by a reply to it. */
function othersMedia(
  { chat: room }: Message,
  replied: Message["reply_to_message"],
  bot: TelegramBot,
): RemoteMedia[] {
  if (!replied || room.type === "private" || replied.from?.id === bot.id) return [];
  return attachmentsOf(replied);
}

function replyOf(
  replied: Message["reply_to_message"],
  quoted: string | undefined,
  kind: string | undefined,
): Pick<InboundMessage, "replyToId" | "replyToText"> {
  if (!replied) return {};
  const text = quoted ?? replied.text ?? replied.caption ?? kind;
  return { replyToId: String(replied.message_id), ...(text === undefined ? {} : { replyToText: text }) };
}

/** A stretch of text that Telegram marked. `name` is the username behind the @ of a mention or a command. */
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

/** Whether a username is the bot's. In a direct message there is nobody else to be meant. */
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
