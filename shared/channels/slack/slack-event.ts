import * as v from "valibot";
import { parseJson } from "../../http/platform-call.ts";
import type { Peer } from "../../protocol/channel-accounts.ts";
import type { InboundMessage, Reaction } from "../channel.ts";
import { contentOf } from "../content/content.ts";
import { partsOfContent, slackContent } from "./slack-content.ts";

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

/** The fields that are read of a message (https://docs.slack.dev/reference/events/message). */
const message = v.object({
  type: v.picklist(["message", "app_mention"]),
  /** Other subtypes are notices: a deletion, a new member, another bot's message. */
  subtype: v.optional(v.picklist(["file_share", "thread_broadcast", "me_message"])),
  channel: v.string(),
  channel_type: v.optional(v.string()),
  user: v.string(),
  ts: timestamp,
  thread_ts: v.optional(timestamp),
  parent_user_id: v.optional(v.string()),
  bot_id: v.nullish(v.string()),
  edited: v.nullish(v.object({ ts: timestamp })),
  ...slackContent,
});

/**
 * A message that was edited, or got a preview or an answer in its thread
 * (https://docs.slack.dev/reference/events/message/message_changed). Only an edit has `edited`.
 */
const changed = v.object({
  type: v.literal("message"),
  subtype: v.literal("message_changed"),
  channel: v.string(),
  channel_type: v.optional(v.string()),
  message: v.looseObject({ edited: v.object({ ts: timestamp }) }),
});

/** (https://docs.slack.dev/reference/events/reaction_added) */
const reaction = v.object({
  type: v.picklist(["reaction_added", "reaction_removed"]),
  user: v.string(),
  reaction: v.string(),
  item: v.object({ type: v.literal("message"), channel: v.string(), ts: timestamp }),
});

/** Names of emoji that Slack sends in place of the emoji. */
const named: Record<string, string> = { "+1": "👍", thumbsup: "👍", "-1": "👎", thumbsdown: "👎" };

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

/** The inbound message of an event, or its edit. Undefined for messages of bots (this one included) and other events. */
export function readSlackMessage({ event, authorizations = [] }: SlackEvent): InboundMessage | undefined {
  const edit = v.safeParse(changed, event);
  const { channel, channel_type } = event;
  const parsed = v.safeParse(
    message,
    edit.success ? { ...edit.output.message, channel, channel_type } : event,
  );
  if (!parsed.success) return undefined;
  const found = parsed.output;
  const botUser = authorizations.find(({ is_bot }) => is_bot)?.user_id ?? undefined;
  if (found.bot_id || found.user === botUser) return undefined;
  const isDirect = found.channel_type === "im";
  if (!isDirect && !edit.success && comesAsMention(found, botUser)) return undefined;
  const content = contentIn(found, botUser);
  if (!content) return undefined;
  return {
    eventId: `${found.channel}:${found.ts}`,
    peer: peerOf(found, isDirect),
    sender: { id: found.user },
    messageId: found.ts,
    ...content,
    timestamp: Math.floor(Number(found.ts) * 1000),
    ...(isDirect && found.thread_ts !== undefined ? { context: { threadTs: found.thread_ts } } : {}),
    wasMentioned: isMention(found, botUser),
  };
}

/** The reaction of an event. Its name may end with a skin tone. */
export function readSlackReaction({ event_id, event }: SlackEvent): Reaction | undefined {
  const parsed = v.safeParse(reaction, event);
  if (!parsed.success) return undefined;
  const { type, user, reaction: name, item } = parsed.output;
  const emoji = named[name.split("::")[0] ?? ""];
  if (emoji === undefined) return undefined;
  const peer = { kind: item.channel.startsWith("D") ? "dm" : "channel", id: item.channel };
  const base = { eventId: event_id, sender: { id: user }, peer, messageId: item.ts };
  return { ...base, emoji, ...(type === "reaction_removed" ? { isRemoved: true } : {}) };
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

/** An edit has no event `app_mention`. */
function isMention(found: Message, botUser: string | undefined): boolean {
  const { type, parent_user_id, edited } = found;
  if (type === "app_mention" || (edited && comesAsMention(found, botUser))) return true;
  return botUser !== undefined && parent_user_id === botUser;
}

function contentIn(found: Message, botUser: string | undefined) {
  const text = found.text?.trim() ?? "";
  const parts = partsOfContent(withoutBotName(text, botUser) || text, found);
  if (found.edited) parts.push({ kind: "edit", at: Math.floor(Number(found.edited.ts) * 1000) });
  return contentOf(parts, { channel: "slack", senderId: found.user });
}

/** `<@U0BOT> hello`, the usual form of a message to the bot in a channel. */
function withoutBotName(text: string, botUser: string | undefined): string {
  if (botUser === undefined || !text.startsWith(`<@${botUser}`)) return text;
  return text.replace(/^<@[^>]*>[,:]?\s*/, "");
}
