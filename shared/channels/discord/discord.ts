import { createHash } from "node:crypto";
import { failedSend, fileOf } from "../../http/platform-call.ts";
import {
  type Buttons,
  type Channel,
  type ChannelAccount,
  type Destination,
  type FileMessage,
  type OutboundFile,
  type OutboundMessage,
  type PressOutcome,
  type Received,
  refused,
  type SendOutcome,
  type ShownAnswer,
  sendFileTimeoutMs,
  sendTimeoutMs,
  type WebhookRequest,
} from "../channel.ts";
import { splitText } from "../outbound/split.ts";
import { isEd25519Signed, isRecent } from "../signature.ts";
import { discordAccount } from "./discord-account.ts";
import { callDiscord, type DiscordAnswer, type DiscordRequest } from "./discord-api.ts";
import {
  type Interaction,
  parseInteraction,
  readDiscordPress,
  readInteraction,
} from "./discord-interaction.ts";

/** Maximum text of one message, in characters. */
const maxText = 2000;

/** Time in milliseconds for which an interaction's token is used. Discord accepts it for 15 minutes. */
const tokenLifeMs = 14.5 * 60_000;

/**
 * Age in milliseconds up to which Discord may not know an interaction yet, because it has not received our HTTP response,
 * for which it waits 3 s. After one wait the interaction is older than this, and the answer goes to the channel.
 */
const settlingMs = 6000;

/** Wait before a retry in that case, in milliseconds. */
const settlingWaitMs = 4000;

/** Types of answers to an interaction. */
const pong = 1;
const channelMessage = 4;
const deferredChannelMessage = 5;
const deferredUpdate = 6;

/** Only the sender of the command sees the message. */
const ephemeral = 64;

/**
 * No embeds: Discord would fetch URLs in the text, which could leak data that the agent was tricked into
 * writing there.
 */
const suppressEmbeds = 4;

/** Mentions in an answer notify nobody. */
const allowed_mentions = { parse: [] };

/**
 * HTTP responses to an interaction. The first is a deferred response ("thinking"), which the answer replaces
 * later.
 */
const shown: ShownAnswer = {
  pending: JSON.stringify({ type: deferredChannelMessage }),
  refused: onlyForSender("Not available."),
  text: (text) => JSON.stringify({ type: channelMessage, data: messageOf(shortened(text)) }),
};

/**
 * Discord, by an application's interactions (https://docs.discord.com/developers/interactions/overview):
 * `/gsv` and commands on messages. The first part of an answer replaces the deferred response, and further
 * parts follow it. After the interaction's token has expired, the answer is a message of the bot in the
 * channel.
 */
export function createDiscord({ now = Date.now }: { now?: () => number } = {}): Channel {
  return {
    name: "discord",
    maxText,
    format: async () => (await import("./discord-format.ts")).discordFormat,
    awaitsAnswer: true,
    ...discordAccount,
    async receive(request, account) {
      if (request.method !== "POST") return refused(405, "only POST");
      if (!isDiscordSigned(request, account.settings.publicKey, now()))
        return refused(401, "wrong signature or timestamp");
      const call = parseInteraction(request.body);
      if (!call) return refused(400, "not an interaction of Discord");
      if (call.kind === "ping") return answered({ type: pong });
      if (call.kind === "other") return refused(400, "unsupported kind of interaction");
      const { application_id = account.settings.applicationId } = call.interaction;
      if (application_id !== account.settings.applicationId)
        return refused(400, "an interaction of another application");
      if (call.kind === "command") return receiveCommand(call.interaction, now());
      const press = readDiscordPress(call.interaction);
      return { status: "messages", messages: [], presses: press ? [press] : [], shown, pressed };
    },
    buttons: discordButtons(now),
    send: (account, message) => sendText(account, message, now()),
    sendFile: (account, message) => sendFile(account, message, now()),
    async typing(account, { peer, context }) {
      // The deferred response already shows it.
      if (liveInteraction(context, now())) return;
      await callDiscord(account, { path: `/channels/${channelOf(peer)}/typing`, asBot: true });
    },
  };
}

/**
 * Whether Discord signed a request within the last minutes
 * (https://docs.discord.com/developers/interactions/overview#setting-up-an-endpoint).
 * @param now epoch ms
 */
export function isDiscordSigned(
  { headers, body }: Pick<WebhookRequest, "headers" | "body">,
  publicKey: unknown,
  now: number,
): boolean {
  const signature = headers["x-signature-ed25519"];
  const timestamp = headers["x-signature-timestamp"];
  if (typeof publicKey !== "string" || !signature || !timestamp) return false;
  if (!isRecent(timestamp, now)) return false;
  return isEd25519Signed(publicKey, signature, Buffer.concat([Buffer.from(timestamp), body]));
}

function receiveCommand(interaction: Interaction, now: number): Received {
  const message = readInteraction(interaction, now);
  if (message) return { status: "messages", messages: [message], shown };
  return {
    status: "answered",
    httpStatus: 200,
    body: onlyForSender("The command has no message; write one."),
  };
}

function answered(body: object): Received {
  return { status: "answered", httpStatus: 200, body: JSON.stringify(body) };
}

function messageOf(content: string) {
  return { content, flags: suppressEmbeds, allowed_mentions };
}

function onlyForSender(content: string): string {
  return JSON.stringify({ type: channelMessage, data: { content, flags: ephemeral, allowed_mentions } });
}

function shortened(text: string): string {
  const [first = "", ...rest] = splitText(text, maxText);
  return rest.length === 0 ? first : `${splitText(text, maxText - 2)[0]} …`;
}

/** An interaction that can still be answered by its token. */
interface LiveInteraction {
  token: string;
  /** Milliseconds since its receipt. */
  age: number;
}

function liveInteraction(context: Destination["context"], now: number): LiveInteraction | undefined {
  const token = context?.interactionToken;
  const age = now - Number(context?.receivedAt);
  return token !== undefined && age < tokenLifeMs ? { token, age } : undefined;
}

function sendText(
  account: ChannelAccount,
  { text, ...to }: OutboundMessage,
  now: number,
): Promise<SendOutcome> {
  const signal = AbortSignal.timeout(sendTimeoutMs);
  return sendTo(account, to, { body: messageOf(text), signal, text }, now);
}

/** The response to a press: nothing, or a message for the presser alone. */
function pressed({ text, isClosed }: PressOutcome): string {
  return isClosed ? JSON.stringify({ type: deferredUpdate }) : onlyForSender(text);
}

/** Buttons under a message (https://docs.discord.com/developers/components/reference#button). */
function discordButtons(now: () => number): Buttons {
  const row = 1;
  const button = 2;
  const secondary = 2;
  return {
    maxText,
    maxChoices: 4,
    fence: "```",
    ask(account, { text, choices, ...to }) {
      const keys = choices.map(({ label, data }) => ({
        ...{ type: button, style: secondary, label, custom_id: data },
      }));
      const body = { ...messageOf(text), components: [{ type: row, components: keys }] };
      return sendTo(account, to, { body, signal: AbortSignal.timeout(sendTimeoutMs), text }, now());
    },
    async close(account, { peer, messageId }, text) {
      const path = `/channels/${channelOf(peer)}/messages/${encodeURIComponent(messageId)}`;
      const body = { ...messageOf(text), components: [] };
      return outcomeOf(await callDiscord(account, { method: "PATCH", path, asBot: true, body }));
    },
  };
}

/** Up to 10 MB (https://docs.discord.com/developers/reference#uploading-files). */
function sendFile(account: ChannelAccount, { file, ...to }: FileMessage, now: number): Promise<SendOutcome> {
  const content = { body: { allowed_mentions }, file, signal: AbortSignal.timeout(sendFileTimeoutMs) };
  return sendTo(account, to, content, now);
}

/** A message: its fields, and the file that goes with it. `text` when the message is text only. */
interface Content {
  body: Record<string, unknown>;
  file?: OutboundFile;
  signal: AbortSignal;
  text?: string;
}

/** The call's body: JSON, or a form when there is a file. */
function written({ body, file, signal }: Content): Pick<DiscordRequest, "body" | "form" | "signal"> {
  if (!file) return { body, signal };
  const form = new FormData();
  form.append("payload_json", JSON.stringify(body));
  form.append("files[0]", fileOf(file));
  return { form, signal };
}

/**
 * Fields of a message to a channel. Discord creates no second message with the nonce of one of the last minutes. The context
 * of an interaction has no message to reply to.
 */
function channelFields({ id, replyToId, context }: Addressed): Record<string, unknown> {
  const reply = replyToId !== undefined && context === undefined;
  return {
    ...(id === undefined ? {} : { nonce: nonceOf(id), enforce_nonce: true }),
    ...(reply ? { message_reference: { message_id: replyToId, fail_if_not_exists: false } } : {}),
  };
}

/** A nonce has at most 25 characters (https://docs.discord.com/developers/resources/message#create-message). */
function nonceOf(id: string): string {
  return createHash("sha256").update(id).digest("base64url").slice(0, 25);
}

type Addressed = Destination & Pick<OutboundMessage, "id">;

async function sendTo(
  account: ChannelAccount,
  to: Addressed,
  content: Content,
  now: number,
): Promise<SendOutcome> {
  const interaction = liveInteraction(to.context, now);
  if (interaction) {
    const answer = await sendByInteraction(account, interaction, to, content);
    if (answer.ok || !answer.gone) return outcomeOf(answer);
    if (interaction.age < settlingMs) return failedSend(true, reasonOf(answer), settlingWaitMs);
  }
  const path = `/channels/${channelOf(to.peer)}/messages`;
  const body = { ...content.body, ...channelFields(to) };
  return outcomeOf(await callDiscord(account, { path, asBot: true, ...written({ ...content, body }) }));
}

/**
 * Sends the first part of an answer in place of the deferred response, and other parts as follow-ups. If the
 * response was already replaced, it is either this text, sent before a crash, or another answer, which is
 * kept. Without knowing which, nothing is sent.
 */
async function sendByInteraction(
  account: ChannelAccount,
  { token }: LiveInteraction,
  { replyToId }: Destination,
  { text, ...content }: Content,
): Promise<DiscordAnswer> {
  const call = written(content);
  const webhook = `/webhooks/${encodeURIComponent(String(account.settings.applicationId))}/${encodeURIComponent(token)}`;
  const request = { asBot: false, secret: token, signal: content.signal };
  const original = { ...request, path: `${webhook}/messages/@original` };
  const current =
    replyToId === undefined ? undefined : await callDiscord(account, { ...original, method: "GET" });
  if (current && !current.ok) return current;
  const shown = current?.message;
  if (current && text !== undefined && shown?.content === text) return current;
  const isReplaced = !current || Boolean(shown?.content) || (shown?.attachments ?? []).length > 0;
  if (isReplaced) return callDiscord(account, { ...request, ...call, path: webhook });
  return callDiscord(account, { ...original, ...call, method: "PATCH" });
}

function outcomeOf(answer: DiscordAnswer): SendOutcome {
  return answer.ok ? { status: "sent", messageId: answer.message?.id } : answer.outcome;
}

function reasonOf(answer: DiscordAnswer): string {
  return !answer.ok && "reason" in answer.outcome ? answer.outcome.reason : "";
}

/** In Discord's API a thread is a channel. */
export function channelOf({ id }: Destination["peer"]): string {
  return encodeURIComponent(id.slice(id.lastIndexOf("/") + 1));
}
