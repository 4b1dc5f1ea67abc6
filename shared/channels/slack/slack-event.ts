import * as v from "valibot";
import { parseJson } from "../../http/platform-call.ts";
import type { Peer } from "../../protocol/channel-accounts.ts";
import type { RemoteMedia } from "../../session/inbox-entry.ts";
import type { InboundMessage } from "../channel.ts";
import { type Content, contentFields, contentNote, contentOf, remoteMedia } from "../content-note.ts";
import { decodeSlackText } from "./slack-text.ts";

const anyCall = v.object({ type: v.string() });

const verification = v.object({ challenge: v.string() });

/** The fields that are read of an event's envelope (https://docs.slack.dev/apis/events-api). */
const eventCallback = v.object({
  event_id: v.pipe(v.string(), v.minLength(1)),
  event: v.looseObject({ type: v.string() }),
  /** The installation of the app that received the event. `user_id` is the bot's user if `is_bot`. */
  authorizations: v.optional(
    v.array(v.object({ user_id: v.nullish(v.string()), is_bot: v.optional(v.boolean()) })),
  ),
});

/** Also the id of a message within its channel: epoch seconds with a fraction. */
const timestamp = v.pipe(v.string(), v.regex(/^\d+\.\d+$/));

const name = v.nullish(v.string());

/** The fields that are read of a file (https://docs.slack.dev/reference/objects/file-object). */
const file = v.object({
  id: name,
  name,
  mimetype: name,
  size: v.nullish(v.number()),
  /** `hosted`: stored by Slack. Otherwise it is external, deleted, or hidden by the plan. */
  mode: name,
  subtype: name,
  duration_ms: v.nullish(v.number()),
  url_private: name,
});

/** The fields that are read of a message (https://docs.slack.dev/reference/events/message). */
const message = v.object({
  type: v.picklist(["message", "app_mention"]),
  /** Other subtypes are notices: an edit, a deletion, a new member, another bot's message. */
  subtype: v.optional(v.picklist(["file_share", "thread_broadcast", "me_message"])),
  channel: v.string(),
  channel_type: v.optional(v.string()),
  user: v.string(),
  text: v.optional(v.string()),
  ts: timestamp,
  thread_ts: v.optional(timestamp),
  parent_user_id: v.optional(v.string()),
  bot_id: v.nullish(v.string()),
  edited: v.optional(v.unknown()),
  files: v.optional(v.array(file)),
});

export type SlackEvent = v.InferOutput<typeof eventCallback>;
type Message = v.InferOutput<typeof message>;

export type SlackCall =
  | { kind: "verification"; challenge: string }
  | { kind: "event"; event: SlackEvent }
  /** Ignored, for example a notice of a rate limit. */
  | { kind: "other" };

/** Undefined for a body that is not a request of the Events API. */
export function parseSlackCall(body: Uint8Array): SlackCall | undefined {
  const json = parseJson(body);
  const call = v.safeParse(anyCall, json);
  if (!call.success) return undefined;
  if (call.output.type === "url_verification") {
    const parsed = v.safeParse(verification, json);
    return parsed.success ? { kind: "verification", challenge: parsed.output.challenge } : undefined;
  }
  if (call.output.type === "event_callback") {
    const parsed = v.safeParse(eventCallback, json);
    return parsed.success ? { kind: "event", event: parsed.output } : undefined;
  }
  return { kind: "other" };
}

/**
 * The inbound message of an event. Undefined for messages of bots (this one included), edits, and other
 * events.
 */
export function readSlackMessage({
  event_id,
  event,
  authorizations = [],
}: SlackEvent): InboundMessage | undefined {
  const parsed = v.safeParse(message, event);
  if (!parsed.success) return undefined;
  const found = parsed.output;
  const botUser = authorizations.find(({ is_bot }) => is_bot)?.user_id ?? undefined;
  if (found.bot_id || found.user === botUser || found.edited !== undefined) return undefined;
  const isDirect = found.channel_type === "im";
  if (!isDirect && comesAsMention(found, botUser)) return undefined;
  const content = contentIn(found, botUser);
  if (!content) return undefined;
  return {
    eventId: event_id,
    peer: peerOf(found, isDirect),
    sender: { id: found.user },
    messageId: found.ts,
    ...contentFields(content),
    timestamp: Math.floor(Number(found.ts) * 1000),
    ...(isDirect && found.thread_ts !== undefined ? { context: { threadTs: found.thread_ts } } : {}),
    wasMentioned: isMention(found, botUser),
  };
}

/** A thread in a direct message belongs to the same conversation; only the answer goes into the thread. */
function peerOf({ channel, thread_ts }: Message, isDirect: boolean): Peer {
  if (isDirect) return { kind: "dm", id: channel };
  if (thread_ts !== undefined) return { kind: "thread", id: `${channel}/${thread_ts}` };
  return { kind: "channel", id: channel };
}

/**
 * A channel message that mentions the bot is also sent as an `app_mention` event. Only that event is handled.
 */
function comesAsMention({ type, text = "" }: Message, botUser: string | undefined): boolean {
  return type === "message" && botUser !== undefined && text.includes(`<@${botUser}`);
}

function isMention({ type, parent_user_id }: Message, botUser: string | undefined): boolean {
  return type === "app_mention" || (botUser !== undefined && parent_user_id === botUser);
}

function contentIn({ text = "", files = [] }: Message, botUser: string | undefined): Content | undefined {
  const written = decodeSlackText(withoutBotName(text.trim(), botUser)) || decodeSlackText(text.trim());
  const elsewhere = files.filter((one) => !isHosted(one));
  const notes = elsewhere.map((one) => contentNote("file", one.name ?? undefined));
  return contentOf([written, ...notes], files.filter(isHosted).map(toMedia));
}

type File = v.InferOutput<typeof file>;

function isHosted({ id, mode }: File): boolean {
  return Boolean(id) && (mode === "hosted" || mode === "snippet" || !mode);
}

function toMedia({ id, mimetype, duration_ms, url_private, ...found }: File): RemoteMedia {
  const source = { ...(id ? { fileId: id } : {}), ...(url_private ? { url: url_private } : {}) };
  return remoteMedia(source, {
    mimeType: mimetype,
    filename: found.name,
    size: found.size,
    duration: duration_ms ? duration_ms / 1000 : null,
    voice: found.subtype === "slack_audio" || null,
  });
}

/** `<@U0BOT> hello`, the usual form of a message to the bot in a channel. */
function withoutBotName(text: string, botUser: string | undefined): string {
  if (botUser === undefined || !text.startsWith(`<@${botUser}`)) return text;
  return text.replace(/^<@[^>]*>[,:]?\s*/, "");
}
