import * as v from "valibot";
import { parseJson } from "../../http/platform-call.ts";
import type { Peer } from "../../protocol/channel-accounts.ts";
import { ownValue } from "../account.ts";
import type { InboundMessage, Press, Sender } from "../channel.ts";
import { contentOf } from "../content/content.ts";
import type { Part } from "../content/part.ts";
import { attachment, partsOfMessage, targetMessage, timeOf, toMediaPart } from "./discord-content.ts";

const text = v.optional(v.string());
const name = v.nullish(v.string());

const user = v.object({ id: v.string(), username: text, global_name: name });

const resolved = v.object({
  messages: v.optional(
    v.record(v.string(), v.object({ ...targetMessage.entries, author: v.optional(user) })),
  ),
  attachments: v.optional(v.record(v.string(), attachment)),
});

/** A command: a slash command with its options, or a message command with its target message. */
const command = v.object({
  type: v.number(),
  target_id: text,
  resolved: v.optional(resolved),
  options: v.optional(
    v.array(v.object({ name: v.string(), type: v.number(), value: v.optional(v.unknown()) })),
  ),
});

const ping = 1;
const applicationCommand = 2;
const messageComponent = 3;

/** The fields that are read of every interaction (https://docs.discord.com/developers/interactions/receiving-and-responding). */
const source = {
  id: v.pipe(v.string(), v.regex(/^\d{1,20}$/)),
  application_id: text,
  guild_id: text,
  channel_id: v.string(),
  channel: v.optional(v.object({ type: v.optional(v.number()), name, parent_id: name })),
  context: v.nullish(v.number()),
  member: v.optional(v.object({ nick: name, user })),
  user: v.optional(user),
};

const interaction = v.object({
  ...source,
  type: v.literal(applicationCommand),
  token: v.pipe(v.string(), v.minLength(1), v.maxLength(1024)),
  data: command,
});

/** A pressed button, with its message. */
const component = v.object({
  ...source,
  type: v.literal(messageComponent),
  data: v.object({ custom_id: v.string() }),
  message: v.object({ id: v.string() }),
});

type Component = v.InferOutput<typeof component>;
export type Interaction = v.InferOutput<typeof interaction>;

export type DiscordCall =
  | { kind: "ping" }
  | { kind: "command"; interaction: Interaction }
  | { kind: "component"; interaction: Component }
  /** A kind that this application does not use: forms, completions. */
  | { kind: "other" };

/** Undefined for a body that is not an interaction. */
export function parseInteraction(body: Uint8Array): DiscordCall | undefined {
  const json = parseJson(body);
  const call = v.safeParse(v.object({ type: v.number() }), json);
  if (!call.success) return undefined;
  if (call.output.type === ping) return { kind: "ping" };
  if (call.output.type === messageComponent) {
    const parsed = v.safeParse(component, json);
    return parsed.success ? { kind: "component", interaction: parsed.output } : undefined;
  }
  if (call.output.type !== applicationCommand) return { kind: "other" };
  const parsed = v.safeParse(interaction, json);
  return parsed.success ? { kind: "command", interaction: parsed.output } : undefined;
}

/**
 * The inbound message of a command; undefined for a command without content.
 * @param now time of receipt, epoch ms
 */
export function readInteraction(found: Interaction, now: number): InboundMessage | undefined {
  const sender = senderOf(found);
  const content = sender && contentOf(partsIn(found.data), { channel: "discord", senderId: sender.id });
  if (!sender || !content) return undefined;
  return {
    eventId: found.id,
    peer: peerOf(found, sender),
    sender,
    messageId: found.id,
    ...content,
    timestamp: timeOf(found.id),
    // A command is always addressed to the agent.
    wasMentioned: true,
    context: { interactionToken: found.token, receivedAt: String(now) },
  };
}

/** The pressed button of an interaction. */
export function readDiscordPress(found: Component): Press | undefined {
  const sender = senderOf(found);
  if (!sender) return undefined;
  const { id: eventId, data, message } = found;
  return { eventId, sender, peer: peerOf(found, sender), messageId: message.id, data: data.custom_id };
}

function senderOf({ member, user: direct }: Pick<Interaction, "member" | "user">): Sender | undefined {
  const found = member?.user ?? direct;
  if (!found) return undefined;
  const shown = member?.nick ?? found.global_name ?? found.username;
  return {
    id: found.id,
    ...(shown ? { name: shown } : {}),
    ...(found.username ? { handle: found.username } : {}),
  };
}

/**
 * Interaction contexts. Without a context, a conversation outside of a server is a direct message with the
 * bot.
 */
const botDm = 1;

/** Types of channels (https://docs.discord.com/developers/resources/channel#channel-object-channel-types). */
const groupDm = 3;
const threads = [10, 11, 12];

function peerOf(
  { guild_id, channel_id, channel, context }: Pick<Interaction, keyof typeof source>,
  sender: Sender,
): Peer {
  const named = channel?.name ? { name: channel.name } : {};
  if (guild_id !== undefined) {
    const parent = threads.includes(channel?.type ?? 0) ? channel?.parent_id : undefined;
    if (parent) return { kind: "thread", id: `${parent}/${channel_id}`, ...named };
    return { kind: "channel", id: channel_id, ...named };
  }
  const isDirect = (context ?? botDm) === botDm && channel?.type !== groupDm;
  if (!isDirect) return { kind: "group", id: channel_id, ...named };
  return { kind: "dm", id: channel_id, ...(sender.name ? { name: sender.name } : {}) };
}

const stringOption = 3;
const messageCommand = 3;

function partsIn({ type, target_id = "", resolved: found, options = [] }: Interaction["data"]): Part[] {
  if (type === messageCommand) return partsOfTarget(ownValue(found?.messages ?? {}, target_id));
  const texts = options.filter((option) => option.type === stringOption);
  const option = texts.find((one) => one.name === "message") ?? texts[0];
  const text = typeof option?.value === "string" ? option.value.trim() : "";
  return [{ kind: "text", text }, ...Object.values(found?.attachments ?? {}).map(toMediaPart)];
}

type Target = NonNullable<NonNullable<v.InferOutput<typeof resolved>["messages"]>[string]>;

/** The target message may be from another author, so it must not be parsed as a command of the sender. */
function partsOfTarget(target: Target | undefined): Part[] {
  if (!target) return [];
  const { author, timestamp } = target;
  const from = author?.global_name ?? author?.username;
  const at = Date.parse(timestamp ?? "");
  return [
    {
      kind: "forward",
      ...(from ? { from } : {}),
      ...(author ? { fromId: author.id } : {}),
      ...(at > 0 ? { at } : {}),
      parts: partsOfMessage(target),
    },
  ];
}
