import type { Entity } from "./telegram-entities.ts";

/** Builders of Update objects as the Bot API sends them to a webhook (reference: "Update", "Message"). */

export interface TelegramUser {
  id: number;
  is_bot: boolean;
  first_name: string;
  last_name?: string;
  username?: string;
  language_code?: string;
}

export interface TelegramChat {
  id: number;
  type: "private" | "group" | "supergroup" | "channel";
  title?: string;
  username?: string;
  first_name?: string;
}

export interface TelegramMessage {
  message_id: number;
  from?: TelegramUser;
  chat: TelegramChat;
  /** Epoch seconds. */
  date: number;
  edit_date?: number;
  text?: string;
  entities?: (Entity & { user?: TelegramUser })[];
  caption?: string;
  caption_entities?: Entity[];
  reply_to_message?: TelegramMessage;
  photo?: FileInfo[];
  voice?: FileInfo;
  document?: FileInfo;
  reply_markup?: { inline_keyboard: { text: string; callback_data?: string }[][] };
  [field: string]: unknown;
}

export interface TelegramUpdate {
  update_id: number;
  message?: TelegramMessage;
  edited_message?: TelegramMessage;
  callback_query?: { id: string; [field: string]: unknown };
  [kind: string]: unknown;
}

export interface FileInfo {
  file_id: string;
  file_unique_id: string;
  file_size?: number;
  mime_type?: string;
  file_name?: string;
  width?: number;
  height?: number;
  duration?: number;
}

/** Options of every builder; the rest of the message has defaults. */
export interface MessageOptions {
  from?: Partial<TelegramUser>;
  chat?: Partial<TelegramChat>;
  /** Epoch seconds; by default now. */
  date?: number;
  replyTo?: TelegramMessage;
  messageId?: number;
  updateId?: number;
}

let lastUpdate = 810_000_000;
let lastMessage = 100;

const ANN: TelegramUser = {
  id: 5_001_002_003,
  is_bot: false,
  first_name: "Ann",
  last_name: "Example",
  username: "ann_example",
  language_code: "en",
};

/** A private message; /commands at its start are marked as Telegram marks them. */
export function textUpdate(text: string, options: MessageOptions = {}): TelegramUpdate {
  const entities = textEntities(text);
  return update(options, { text, ...(entities.length > 0 && { entities }) });
}

/** A message in a group; @names and /commands carry their entities. */
export function groupUpdate(text: string, options: MessageOptions = {}): TelegramUpdate {
  const chat: TelegramChat = { id: -1_001_234_567_890, type: "supergroup", title: "Family", ...options.chat };
  return textUpdate(text, { ...options, chat });
}

/** A photo in two sizes, the largest last. */
export function photoUpdate(fileId: string, caption?: string, options: MessageOptions = {}): TelegramUpdate {
  const size = (suffix: string, width: number, file_size: number): FileInfo => ({
    file_id: suffix ? `${fileId}-${suffix}` : fileId,
    file_unique_id: `${fileId}-u${width}`,
    file_size,
    width,
    height: Math.round(width * 0.75),
  });
  const photo = [size("small", 320, 18_000), size("", 1280, 190_000)];
  return update(options, { photo, ...(caption !== undefined && { caption }) });
}

export function voiceUpdate(fileId: string, duration = 3, options: MessageOptions = {}): TelegramUpdate {
  const voice = { ...fileInfo(fileId), duration, mime_type: "audio/ogg", file_size: duration * 4_000 };
  return update(options, { voice });
}

export function documentUpdate(
  fileId: string,
  file: { name: string; mimeType: string; size?: number; caption?: string },
  options: MessageOptions = {},
): TelegramUpdate {
  const document = {
    ...fileInfo(fileId),
    file_name: file.name,
    mime_type: file.mimeType,
    file_size: file.size ?? 1_024,
  };
  return update(options, { document, ...(file.caption !== undefined && { caption: file.caption }) });
}

/** The id of the event that a message is, and all its edits. */
export function eventIdOf({ message, edited_message }: TelegramUpdate): string {
  const found = message ?? edited_message;
  return `${found?.chat.id}:${found?.message_id}`;
}

/** The edit of an earlier message. */
export function editedUpdate(original: TelegramUpdate, text: string): TelegramUpdate {
  if (!original.message) throw new Error("only a message can be edited");
  const date = original.message.date + 30;
  return {
    update_id: ++lastUpdate,
    edited_message: { ...original.message, edit_date: date, text, entities: textEntities(text) },
  };
}

/** A reaction to a message, in place of the person's earlier one ("MessageReactionUpdated"). */
export function reactionUpdate(
  { chat, message_id }: TelegramMessage,
  emoji?: string,
  from: Partial<TelegramUser> = {},
): TelegramUpdate {
  const new_reaction = emoji === undefined ? [] : [{ type: "emoji", emoji }];
  const user = { ...ANN, ...from };
  const date = Math.floor(Date.now() / 1000);
  const message_reaction = { chat, message_id, user, date, old_reaction: [], new_reaction };
  return { update_id: ++lastUpdate, message_reaction };
}

/** A press of the button with this label under a message of the bot ("CallbackQuery"). */
export function pressUpdate(
  message: TelegramMessage,
  label: string,
  { from }: Pick<MessageOptions, "from"> = {},
): TelegramUpdate {
  const button = message.reply_markup?.inline_keyboard.flat().find(({ text }) => text === label);
  if (!button?.callback_data) throw new Error(`the message has no button ${label}`);
  const id = String(4_382_000_000_000_000 + ++lastUpdate);
  const query = { id, from: { ...ANN, ...from }, message, chat_instance: "-3", data: button.callback_data };
  return { update_id: ++lastUpdate, callback_query: query };
}

/** The mentions and commands that Telegram marks automatically. */
function textEntities(text: string): Entity[] {
  const found: Entity[] = [];
  for (const match of text.matchAll(/(?<=^|[^\w@])@[A-Za-z]\w{3,31}\b/g))
    found.push({ type: "mention", offset: match.index, length: match[0].length });
  for (const match of text.matchAll(/(?<=^|\s)\/[A-Za-z0-9_]{1,64}(?:@\w+)?/g))
    found.push({ type: "bot_command", offset: match.index, length: match[0].length });
  return found.sort((a, b) => a.offset - b.offset);
}

function fileInfo(fileId: string): FileInfo {
  return { file_id: fileId, file_unique_id: `${fileId}-u` };
}

function update(options: MessageOptions, content: Partial<TelegramMessage>): TelegramUpdate {
  const from = { ...ANN, ...options.from };
  const { first_name, username } = from;
  const chat: TelegramChat = { id: from.id, type: "private", ...options.chat };
  const message: TelegramMessage = {
    message_id: options.messageId ?? ++lastMessage,
    from,
    chat: chat.type === "private" ? { first_name, username, ...chat } : chat,
    date: options.date ?? Math.floor(Date.now() / 1000),
    ...(options.replyTo && { reply_to_message: withoutReply(options.replyTo) }),
    ...content,
  };
  return { update_id: options.updateId ?? ++lastUpdate, message };
}

/** A replied-to message never carries its own reply. */
function withoutReply(message: TelegramMessage): TelegramMessage {
  const { reply_to_message: _inner, ...rest } = message;
  return rest;
}
