import { checkEntities, type Entity, EntityFault, parseEntities } from "./telegram-entities.ts";
import type { TelegramMessage, TelegramUser } from "./telegram-updates.ts";

/** The state of the Bot API server. */
export interface TelegramState {
  bot: TelegramUser;
  local: boolean;
  sent: TelegramMessage[];
  /** The sent files, and the field in which each was sent. */
  uploads: { field: string; file: File }[];
  /** `{chat id}/{message id}` of every message that was delivered or sent. */
  seen: Set<string>;
  files: Map<string, StoredFile>;
  webhook: {
    url?: string;
    secret_token?: string;
    max_connections?: number;
    allowed_updates?: string[];
    last_error_date?: number;
    last_error_message?: string;
  };
  lastMessage: number;
  /** Messages with buttons, as they were sent. */
  asked: TelegramMessage[];
  /** Ids of the pressed buttons, and what the presser was shown. */
  pressed: Map<string, string | undefined>;
  /** Groups that became supergroups: the new id of each. */
  moved: Map<number, number>;
  /** The bot's reaction to each message, by `{chat id}/{message id}`. */
  reactions: Map<string, string>;
}

export interface StoredFile {
  /** `photos/file_1.jpg` and so on. */
  path: string;
  bytes: Buffer;
  /** The reported size; by default the length of the bytes. */
  size?: number;
}

export type Params = Record<string, unknown>;

/** A refused call: the HTTP status, and the description as the message. */
export class BotApiFault extends Error {
  readonly status: number;
  readonly parameters?: object;
  constructor(description: string, status = 400, parameters?: object) {
    super(description);
    this.status = status;
    this.parameters = parameters;
  }
}

interface Outcome {
  result: unknown;
  description?: string;
}

/** Every method, by its name in the reference. */
export const METHODS: Record<string, (params: Params, state: TelegramState) => Outcome> = {
  getMe: (_params, state) => ({
    result: {
      ...state.bot,
      can_join_groups: true,
      can_read_all_group_messages: false,
      supports_inline_queries: false,
    },
  }),
  sendMessage: (params, state) => ({ result: sendMessage(params, state) }),
  editMessageText: (params, state) => ({ result: editMessageText(params, state) }),
  answerCallbackQuery: (params, state) => ({ result: answerCallbackQuery(params, state) }),
  sendPhoto: (params, state) => sendFile(params, state, "photo", isPhoto),
  sendDocument: (params, state) => sendFile(params, state, "document"),
  sendVoice: (params, state) => sendFile(params, state, "voice"),
  sendAudio: (params, state) => sendFile(params, state, "audio"),
  sendVideo: (params, state) => sendFile(params, state, "video"),
  sendChatAction,
  setMessageReaction,
  setWebhook,
  deleteWebhook: (_params, state) => ({ result: true, description: clearWebhook(state) }),
  getWebhookInfo: (_params, { webhook }) => {
    const { secret_token: _secret, url = "", ...rest } = webhook;
    return { result: { url, has_custom_certificate: false, pending_update_count: 0, ...rest } };
  },
  getFile,
};

/** Code points without formatting marks. */
const MAX_TEXT = 4096;

function sendMessage(params: Params, state: TelegramState): TelegramMessage {
  const chatId = readChatId(params, state);
  const source = typeof params.text === "string" ? params.text : "";
  if (source === "") throw new BotApiFault("Bad Request: message text is empty");
  const { text, entities } = format(source, params);
  if (text.trim() === "") throw new BotApiFault("Bad Request: text must be non-empty");
  if ([...text.trim()].length > MAX_TEXT) throw new BotApiFault("Bad Request: message is too long");
  const message: TelegramMessage = {
    message_id: ++state.lastMessage,
    from: state.bot,
    chat: { id: chatId, type: chatId < 0 ? "supergroup" : "private" },
    date: Math.floor(Date.now() / 1000),
    ...repliedTo(params, chatId, state),
    // Code keeps the white space at its start.
    text: entities[0]?.type === "pre" && entities[0].offset === 0 ? text.trimEnd() : text.trim(),
    ...(entities.length > 0 && { entities }),
    ...keyboardOf(params),
  };
  state.seen.add(`${chatId}/${message.message_id}`);
  state.sent.push(message);
  if (message.reply_markup) state.asked.push(structuredClone(message));
  return message;
}

/** "InlineKeyboardButton": the data of a button has 1 to 64 bytes. */
function keyboardOf({ reply_markup }: Params): Pick<TelegramMessage, "reply_markup"> {
  const { inline_keyboard: rows } = (reply_markup ?? {}) as TelegramMessage["reply_markup"] & object;
  if (!rows) return {};
  for (const { text, callback_data = "" } of rows.flat()) {
    const bytes = Buffer.byteLength(callback_data);
    if (!text) throw new BotApiFault("Bad Request: inline keyboard button text must be non-empty");
    if (bytes < 1 || bytes > 64) throw new BotApiFault("Bad Request: BUTTON_DATA_INVALID");
  }
  return { reply_markup: { inline_keyboard: rows } };
}

/** Without `reply_markup` the buttons are removed. */
function editMessageText(params: Params, state: TelegramState): TelegramMessage {
  const chatId = readChatId(params, state);
  const message = state.sent.find(
    ({ chat, message_id }) => chat.id === chatId && message_id === params.message_id,
  );
  if (!message) throw new BotApiFault("Bad Request: message to edit not found");
  const text = String(params.text ?? "").trim();
  if (text === "") throw new BotApiFault("Bad Request: message text is empty");
  if ([...text].length > MAX_TEXT) throw new BotApiFault("Bad Request: MESSAGE_TOO_LONG");
  const { reply_markup } = keyboardOf(params);
  if (message.text === text && JSON.stringify(message.reply_markup) === JSON.stringify(reply_markup))
    throw new BotApiFault(
      "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message",
    );
  Object.assign(message, { text, reply_markup, edit_date: Math.floor(Date.now() / 1000) });
  return message;
}

function answerCallbackQuery({ callback_query_id: id, text }: Params, { pressed }: TelegramState): true {
  if (!pressed.has(String(id)))
    throw new BotApiFault(
      "Bad Request: query is too old and response timeout expired or query ID is invalid",
    );
  if (text !== undefined && String(text).length > 200) throw new BotApiFault("Bad Request: MESSAGE_TOO_LONG");
  pressed.set(String(id), text === undefined ? undefined : String(text));
  return true;
}

/** Bots may upload files of up to 50 MB, photos of up to 10 MB. */
const MAX_UPLOAD = 50 * 1024 * 1024;
const MAX_PHOTO = 10 * 1024 * 1024;

/** Telegram accepts a photo if it can read its size. */
function isPhoto({ size, type }: File): boolean {
  return size <= MAX_PHOTO && type.startsWith("image/");
}

function sendFile(
  params: Params,
  state: TelegramState,
  field: "photo" | "document" | "voice" | "audio" | "video",
  isRight: (file: File) => boolean = () => true,
): Outcome {
  const chatId = readChatId(params, state);
  const file = params[field];
  if (!(file instanceof File)) throw new BotApiFault(`Bad Request: there is no ${field} in the request`);
  if (file.size === 0) throw new BotApiFault("Bad Request: file must be non-empty");
  if (file.size > MAX_UPLOAD) throw new BotApiFault("Request Entity Too Large", 413);
  if (!isRight(file)) throw new BotApiFault("Bad Request: PHOTO_INVALID_DIMENSIONS");
  const known = { file_id: `sent-${++state.lastMessage}`, file_unique_id: "u", file_size: file.size };
  const described = { ...known, file_name: file.name, mime_type: file.type };
  const message: TelegramMessage = {
    message_id: state.lastMessage,
    from: state.bot,
    chat: { id: chatId, type: chatId < 0 ? "supergroup" : "private" },
    date: Math.floor(Date.now() / 1000),
    ...repliedTo(params, chatId, state),
    ...(field === "photo" ? { photo: [known] } : { [field]: described }),
  };
  state.seen.add(`${chatId}/${message.message_id}`);
  state.sent.push(message);
  state.uploads.push({ field, file });
  return { result: message };
}

function format(source: string, { parse_mode: mode, entities = [] }: Params) {
  try {
    const formatted = parseEntities(source, mode === undefined ? undefined : String(mode));
    if (!formatted) throw new BotApiFault("Bad Request: unsupported parse_mode");
    const given = checkEntities(source, entities as Entity[]);
    return given.length > 0 ? { text: source, entities: given } : formatted;
  } catch (error) {
    if (!(error instanceof EntityFault)) throw error;
    throw new BotApiFault(`Bad Request: can't parse entities: ${error.message}`);
  }
}

/** The message replied to must exist in the chat. */
function repliedTo(params: Params, chatId: number, state: TelegramState): Partial<TelegramMessage> {
  const given = params.reply_parameters as
    | { message_id?: unknown; allow_sending_without_reply?: unknown }
    | undefined;
  const id = Number(given?.message_id ?? params.reply_to_message_id ?? 0);
  if (id === 0) return {};
  const chat = { id: chatId, type: chatId < 0 ? ("supergroup" as const) : ("private" as const) };
  if (state.seen.has(`${chatId}/${id}`)) return { reply_to_message: { message_id: id, chat, date: 0 } };
  if (given?.allow_sending_without_reply ?? params.allow_sending_without_reply) return {};
  throw new BotApiFault("Bad Request: message to be replied not found");
}

function readChatId(params: Params, { moved }: TelegramState): number {
  const id = params.chat_id;
  if (id === undefined || id === null || id === "") throw new BotApiFault("Bad Request: chat_id is empty");
  const number = Number(id);
  if (!Number.isSafeInteger(number) || number === 0) throw new BotApiFault("Bad Request: chat not found");
  const to = moved.get(number);
  if (to !== undefined)
    throw new BotApiFault("Bad Request: group chat was upgraded to a supergroup chat", 400, {
      migrate_to_chat_id: to,
    });
  return number;
}

const ACTIONS = [
  ...["typing", "upload_photo", "record_video", "upload_video", "record_voice", "upload_voice"],
  ...["upload_document", "choose_sticker", "find_location", "record_video_note", "upload_video_note"],
];

function sendChatAction(params: Params, state: TelegramState): Outcome {
  readChatId(params, state);
  if (!ACTIONS.includes(String(params.action)))
    throw new BotApiFault("Bad Request: wrong parameter action in request");
  return { result: true };
}

/** Some of the emoji of "ReactionTypeEmoji"; no others are accepted. */
const REACTIONS = ["👍", "👎", "❤", "🔥", "🤔", "😢", "🎉", "🙏", "👌", "💯", "💔", "👀", "🤝", "✍", "🤷"];

/** Bots set at most one reaction per message; another one replaces it. */
function setMessageReaction(params: Params, state: TelegramState): Outcome {
  const message = `${readChatId(params, state)}/${params.message_id}`;
  if (!state.seen.has(message)) throw new BotApiFault("Bad Request: message to react not found");
  const reaction = (params.reaction ?? []) as { type: string; emoji: string }[];
  const [one, ...others] = reaction;
  if (others.length > 0) throw new BotApiFault("Bad Request: REACTIONS_TOO_MANY");
  if (one && (one.type !== "emoji" || !REACTIONS.includes(one.emoji)))
    throw new BotApiFault("Bad Request: REACTION_INVALID");
  if (one) state.reactions.set(message, one.emoji);
  else state.reactions.delete(message);
  return { result: true };
}

function setWebhook(params: Params, state: TelegramState): Outcome {
  const given = typeof params.url === "string" ? params.url : "";
  if (given === "") return { result: true, description: clearWebhook(state) };
  if (!URL.canParse(given)) throw new BotApiFault("Bad Request: bad webhook: Invalid URL");
  const { protocol, port } = new URL(given);
  if (!state.local && protocol !== "https:")
    throw new BotApiFault("Bad Request: bad webhook: An HTTPS URL must be provided for webhook");
  if (!state.local && !["", "80", "88", "443", "8443"].includes(port))
    throw new BotApiFault(
      "Bad Request: bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443",
    );
  const secret = params.secret_token === undefined ? undefined : String(params.secret_token);
  if (secret && secret.length > 256) throw new BotApiFault("Bad Request: secret token is too long");
  if (secret && !/^[A-Za-z0-9_-]+$/.test(secret))
    throw new BotApiFault("Bad Request: secret token contains unallowed characters");
  const same = state.webhook.url === given && state.webhook.secret_token === secret;
  state.webhook = {
    url: given,
    secret_token: secret,
    max_connections: Number(params.max_connections ?? 40),
    allowed_updates: (params.allowed_updates as string[] | undefined) ?? state.webhook.allowed_updates,
  };
  return { result: true, description: same ? "Webhook is already set" : "Webhook was set" };
}

function clearWebhook(state: TelegramState): string {
  const was = state.webhook.url;
  state.webhook = {};
  return was ? "Webhook was deleted" : "Webhook is already deleted";
}

/** Bots may download up to 20 MB. */
const MAX_DOWNLOAD = 20 * 1024 * 1024;

function getFile(params: Params, state: TelegramState): Outcome {
  const id = params.file_id;
  if (typeof id !== "string" || id === "") throw new BotApiFault("Bad Request: file_id not specified");
  const file = state.files.get(id);
  if (!file) throw new BotApiFault("Bad Request: invalid file_id");
  const size = file.size ?? file.bytes.length;
  if (size > MAX_DOWNLOAD) throw new BotApiFault("Bad Request: file is too big");
  return { result: { file_id: id, file_unique_id: `${id}-u`, file_size: size, file_path: file.path } };
}
