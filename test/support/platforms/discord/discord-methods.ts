import {
  download,
  type PlatformCall,
  type PlatformReply,
  type SharedFile,
  type WebhookReply,
} from "../platform-server.ts";

/** A message that the application sent to a channel or an interaction. */
export interface DiscordMessage {
  id: string;
  channel_id: string;
  content: string;
  attachments: { id: string; filename: string; content_type: string; size: number }[];
  flags: number;
  components?: DiscordRow[];
}

/** A row of buttons. */
interface DiscordRow {
  type: number;
  components: { type: number; style: number; label: string; custom_id: string }[];
}

/** The labels of a message's buttons. */
export function discordLabels({ components = [] }: DiscordMessage): string[] {
  return components.flatMap((row) => row.components.map(({ label }) => label));
}

/** An answered interaction, by its token. */
export interface AnsweredInteraction {
  /** The message `@original`; a deferred one has no content yet. */
  original: DiscordMessage;
  followups: DiscordMessage[];
  /** Whether its 15 minutes are over. */
  isExpired: boolean;
}

/** What the REST API shows of the gateway and of users' messages. */
export interface GatewayState {
  /** The gateway's address; empty while there is none. */
  url: string;
  /** Users' messages, oldest first. */
  written: { id: string; channel_id: string; guild_id?: string }[];
  /** Channels that are no direct messages. */
  channels: Map<string, { type: number; name?: string; parent_id?: string }>;
  /** The id of the next message. */
  nextId(): string;
}

/** The state of the Discord server. */
export interface DiscordState {
  gateway: GatewayState;
  botToken: string;
  applicationId: string;
  interactions: Map<string, AnsweredInteraction>;
  /** Messages that the bot sent to channels. */
  messages: DiscordMessage[];
  /** The messages of the last minutes, by nonce. */
  nonces: Map<string, DiscordMessage>;
  /** Messages with buttons, as they were sent. */
  asked: DiscordMessage[];
  /** Texts that only those who pressed a button saw. */
  told: string[];
  /** Channels in which the bot showed "typing". */
  typing: string[];
  /** The bot's reactions, as `{channel}/{message}/{emoji}`. */
  reactions: Set<string>;
  /** Channels that the bot cannot see. */
  closed: Set<string>;
  /** Files on the content delivery network, by path. */
  files: Map<string, SharedFile>;
  /** Files that the application uploaded. */
  uploads: File[];
}

/** "The application is thinking". */
const loading = 128;

const ephemeral = 64;

/** The only other flag that a message of the application may have. */
const suppressEmbeds = 4;

let lastMessage = 0;

/** Handles the webhook's answer to an interaction. Throws if Discord would report no response. */
export function endCall(
  state: DiscordState,
  interaction: object,
  { status, text, contentType }: WebhookReply,
) {
  const { type, token, channel_id } = interaction as { type: number; token: string; channel_id: string };
  // Discord accepts one answer.
  if (status !== 200 || state.interactions.has(token)) return;
  if (!contentType.startsWith("application/json")) throw new Error(`an answer of the type ${contentType}`);
  const answer = JSON.parse(text) as { type?: number; data?: { content?: string; flags?: number } };
  if (type === 1) {
    if (answer.type !== 1) throw new Error("a ping without a pong");
    return;
  }
  const { content = "", flags = 0 } = answer.data ?? {};
  if (type === 3) {
    // A button: the message is not changed, or is changed later.
    if (answer.type === 4 && flags === ephemeral) state.told.push(content);
    else if (answer.type !== 6) throw new Error(`an answer to a button that is none: ${text}`);
    return;
  }
  if (answer.type !== 4 && answer.type !== 5) throw new Error(`an answer that is none: ${text}`);
  if (answer.type === 4 && (content === "" || [...content].length > maxContent))
    throw new Error("an answer with no content, or too much");
  if ((flags & ~(ephemeral | suppressEmbeds)) !== 0)
    throw new Error("an answer with flags that it cannot have");
  const original = newMessage(channel_id, { content }, flags | (answer.type === 5 ? loading : 0));
  state.interactions.set(token, { original, followups: [], isExpired: false });
}

const routes: [RegExp, (call: PlatformCall, state: DiscordState, ...ids: string[]) => PlatformReply][] = [
  [/^GET \/webhooks\/(\d+)\/([^/]+)\/messages\/@original$/, getOriginal],
  [/^PATCH \/webhooks\/(\d+)\/([^/]+)\/messages\/@original$/, editOriginal],
  [/^POST \/webhooks\/(\d+)\/([^/]+)$/, createFollowup],
  [/^POST \/channels\/(\d+)\/messages$/, createMessage],
  [/^PATCH \/channels\/(\d+)\/messages\/(\d+)$/, editMessage],
  [/^POST \/channels\/(\d+)\/typing$/, showTyping],
  [/^PUT \/channels\/(\d+)\/messages\/(\d+)\/reactions\/([^/]+)\/@me$/, react],
  [/^DELETE \/channels\/(\d+)\/messages\/(\d+)\/reactions\/([^/]+)\/@me$/, react],
  [/^GET \/gateway\/bot$/, getGateway],
  [/^GET \/channels\/(\d+)$/, getChannel],
  [/^GET \/channels\/(\d+)\/messages$/, listMessages],
];

export function answerDiscord(call: PlatformCall, state: DiscordState): PlatformReply {
  const reply = answerCall(call, state);
  const message = reply.body as DiscordMessage | undefined;
  if (reply.status === 200 && message?.components?.length && !state.asked.some(({ id }) => id === message.id))
    state.asked.push(structuredClone(message));
  return reply;
}

function answerCall(call: PlatformCall, state: DiscordState): PlatformReply {
  if (call.method === "GET" && !call.path.startsWith("/api/")) {
    const file = state.files.get(call.path);
    return file ? download(file) : { status: 404, body: Buffer.from("This content is no longer available.") };
  }
  if (!/^DiscordBot \(.+, .+\)/.test(call.headers["user-agent"] ?? ""))
    return { status: 403, body: { message: "Forbidden: no valid User-Agent" } };
  const [, path] = /^\/api\/v10(\/.*)$/.exec(call.path) ?? [];
  for (const [pattern, answer] of routes) {
    const match = pattern.exec(`${call.method} ${path}`);
    if (match) return answer(call, state, ...match.slice(1));
  }
  return fault(404, 0, "404: Not Found");
}

function getOriginal(_call: PlatformCall, state: DiscordState, application = "", token = ""): PlatformReply {
  const found = findInteraction(state, application, token);
  return found ? { status: 200, body: found.original } : fault(404, 10015, "Unknown Webhook");
}

function editOriginal(call: PlatformCall, state: DiscordState, application = "", token = ""): PlatformReply {
  const found = findInteraction(state, application, token);
  if (!found) return fault(404, 10015, "Unknown Webhook");
  const written = writtenIn(call, state);
  if ("status" in written) return written;
  Object.assign(found.original, { ...written, flags: found.original.flags & ~loading });
  return { status: 200, body: found.original };
}

function createFollowup(
  call: PlatformCall,
  state: DiscordState,
  application = "",
  token = "",
): PlatformReply {
  const found = findInteraction(state, application, token);
  if (!found) return fault(404, 10015, "Unknown Webhook");
  // As documented, for backwards compatibility.
  if ((found.original.flags & loading) !== 0) return editOriginal(call, state, application, token);
  const written = writtenIn(call, state);
  if ("status" in written) return written;
  const message = newMessage(found.original.channel_id, written, 0);
  found.followups.push(message);
  return { status: 200, body: message };
}

function createMessage(call: PlatformCall, state: DiscordState, channel = ""): PlatformReply {
  const refusal = refuseBot(call, state, channel);
  if (refusal) return refusal;
  const { nonce, enforce_nonce } = payloadOf(call);
  if (nonce !== undefined && (typeof nonce !== "string" || nonce.length > 25))
    return fault(400, 50035, "Invalid Form Body");
  const sent = enforce_nonce === true ? state.nonces.get(String(nonce)) : undefined;
  if (sent) return { status: 200, body: sent };
  const written = writtenIn(call, state);
  if ("status" in written) return written;
  const message = newMessage(channel, written, 0);
  state.messages.push(message);
  if (nonce !== undefined) state.nonces.set(nonce, message);
  return { status: 200, body: message };
}

/** The fields of a message that is to be created. */
function payloadOf({ body, form }: PlatformCall): Record<string, unknown> {
  return form ? JSON.parse(String(form.get("payload_json") ?? "{}")) : (body ?? {});
}

/** The bot may change its messages, also those that answered an interaction. */
function editMessage(call: PlatformCall, state: DiscordState, channel = "", id = ""): PlatformReply {
  const refusal = refuseBot(call, state, channel);
  if (refusal) return refusal;
  const message = findMessage(state, id);
  if (message?.channel_id !== channel) return fault(404, 10008, "Unknown Message");
  const written = writtenIn(call, state);
  if ("status" in written) return written;
  Object.assign(message, written);
  return { status: 200, body: message };
}

/** A message of the application, as users see it now. */
export function findMessage(
  { interactions, messages }: DiscordState,
  id: string,
): DiscordMessage | undefined {
  const answers = [...interactions.values()].flatMap(({ original, followups }) => [original, ...followups]);
  return [...answers, ...messages].find((one) => one.id === id);
}

function showTyping(call: PlatformCall, state: DiscordState, channel = ""): PlatformReply {
  const refusal = refuseBot(call, state, channel);
  if (refusal) return refusal;
  state.typing.push(channel);
  return { status: 204 };
}

/** The bot's reaction is added, or taken back. */
function react(call: PlatformCall, state: DiscordState, channel = "", id = "", written = ""): PlatformReply {
  const refusal = refuseBot(call, state, channel);
  if (refusal) return refusal;
  const emoji = decodeURIComponent(written);
  if (!/^\p{Emoji_Presentation}$/u.test(emoji)) return fault(400, 10014, "Unknown Emoji");
  const isKnown = [...state.gateway.written, ...state.messages].some(
    (one) => one.id === id && one.channel_id === channel,
  );
  if (!isKnown) return fault(404, 10008, "Unknown Message");
  const key = `${channel}/${id}/${emoji}`;
  if (call.method === "PUT") state.reactions.add(key);
  else state.reactions.delete(key);
  return { status: 204 };
}

function getGateway(call: PlatformCall, state: DiscordState): PlatformReply {
  const limit = { total: 1000, remaining: 999, reset_after: 1000, max_concurrency: 1 };
  const body = { url: state.gateway.url, shards: 1, session_start_limit: limit };
  return refuseBot(call, state, "") ?? { status: 200, body };
}

function getChannel(call: PlatformCall, state: DiscordState, channel = ""): PlatformReply {
  const found = state.gateway.channels.get(channel) ?? { type: 1 };
  return refuseBot(call, state, channel) ?? { status: 200, body: { id: channel, ...found } };
}

/** Up to `limit` messages after a known one, the newest first. Only events name the server. */
function listMessages(call: PlatformCall, state: DiscordState, channel = ""): PlatformReply {
  const { after = "0", limit = "50" } = call.query;
  const later = state.gateway.written.filter(
    (one) => one.channel_id === channel && BigInt(one.id) > BigInt(after),
  );
  const body = later.slice(0, Number(limit)).map(({ guild_id: _guild, ...message }) => message);
  return refuseBot(call, state, channel) ?? { status: 200, body: body.reverse() };
}

function refuseBot(
  { headers }: PlatformCall,
  state: DiscordState,
  channel: string,
): PlatformReply | undefined {
  if (headers.authorization !== `Bot ${state.botToken}`) return fault(401, 0, "401: Unauthorized");
  return state.closed.has(channel) ? fault(403, 50001, "Missing Access") : undefined;
}

/** Finds a webhook by application and token. It exists from the answer to the call until it expires. */
function findInteraction(state: DiscordState, application: string, token: string) {
  const found = state.interactions.get(decodeURIComponent(token));
  return found && !found.isExpired && application === state.applicationId ? found : undefined;
}

const maxContent = 2000;

/** Maximum size of an application's upload. */
const maxUpload = 10 * 1024 * 1024;

type Written = Pick<DiscordMessage, "content" | "attachments" | "components">;

/** The content of a call and its files (https://docs.discord.com/developers/reference#uploading-files). */
function writtenIn(call: PlatformCall, state: DiscordState): Written | PlatformReply {
  const { form } = call;
  const files = [...(form?.entries() ?? [])].flatMap(([name, value]) =>
    /^files\[\d\]$/.test(name) && value instanceof File ? [value] : [],
  );
  const payload = payloadOf(call);
  const content = payload.content ?? "";
  if (typeof content !== "string" || (content.trim() === "" && files.length === 0))
    return fault(400, 50006, "Cannot send an empty message");
  if ([...content].length > maxContent) return fault(400, 50035, "Invalid Form Body");
  const mentions = payload.allowed_mentions as { parse?: unknown } | undefined;
  if (mentions !== undefined && !Array.isArray(mentions.parse)) return fault(400, 50035, "Invalid Form Body");
  if (files.some(({ size }) => size > maxUpload)) return fault(413, 40005, "Request entity too large");
  state.uploads.push(...files);
  const attachments = files.map(({ name, type, size }, index) => ({
    ...{ id: String(index), filename: name, content_type: type, size },
  }));
  const components = payload.components as DiscordRow[] | undefined;
  if (components && !areRight(components)) return fault(400, 50035, "Invalid Form Body");
  return { content, attachments, ...(components ? { components } : {}) };
}

/** A row has at most five buttons; a label has 1 to 80 characters, an id 1 to 100. */
function areRight(rows: DiscordRow[]): boolean {
  return rows.every(
    ({ type, components }) =>
      type === 1 &&
      components.length <= 5 &&
      components.every(
        ({ type: kind, style, label, custom_id: id }) =>
          kind === 2 &&
          style >= 1 &&
          style <= 4 &&
          label !== "" &&
          label.length <= 80 &&
          id !== "" &&
          id.length <= 100,
      ),
  );
}

/** A new message's id; later messages have higher ones. */
export function nextMessageId(): string {
  return String(1_300_000_000_000_000_000n + BigInt(++lastMessage));
}

function newMessage(channel_id: string, written: Partial<Written>, flags: number): DiscordMessage {
  return { id: nextMessageId(), channel_id, content: "", attachments: [], ...written, flags };
}

function fault(status: number, code: number, message: string): PlatformReply {
  return { status, body: { message, code } };
}

/** 429 in Discord's form. @param seconds with a fraction */
export function tooManyRequests(seconds: number): PlatformReply {
  const body = { message: "You are being rate limited.", retry_after: seconds, global: false };
  return { status: 429, body, headers: { "retry-after": String(Math.ceil(seconds)) } };
}
