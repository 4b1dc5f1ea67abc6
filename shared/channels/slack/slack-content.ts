import * as v from "valibot";
import type { RemoteMedia } from "../../session/inbox-entry.ts";
import { remoteMedia } from "../content/content.ts";
import type { ForwardedPart, Part } from "../content/part.ts";
import { decodeSlackText } from "./slack-text.ts";

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
type File = v.InferOutput<typeof file>;

/** A block or an element of one (https://docs.slack.dev/reference/block-kit/blocks). */
const block = v.record(v.string(), v.unknown());
type Block = v.InferOutput<typeof block>;

/**
 * What Slack or an app attaches to a message (https://docs.slack.dev/messaging/attachments): a shared message, the preview of a
 * page, or a card.
 */
const attachment = v.object({
  is_share: v.optional(v.boolean()),
  is_msg_unfurl: v.optional(v.boolean()),
  author_name: name,
  author_id: name,
  channel_name: name,
  ts: v.nullish(v.union([v.string(), v.number()])),
  service_name: name,
  title: name,
  title_link: name,
  from_url: name,
  original_url: name,
  image_url: name,
  pretext: name,
  text: name,
  fallback: name,
  footer: name,
  fields: v.optional(v.array(v.object({ title: name, value: name })), []),
  files: v.optional(v.array(file), []),
  blocks: v.optional(v.array(block), []),
});
type Attachment = v.InferOutput<typeof attachment>;

/** The content fields that are read of a message (https://docs.slack.dev/reference/events/message). */
export const slackContent = {
  text: v.optional(v.string()),
  files: v.optional(v.array(file)),
  blocks: v.optional(v.array(block)),
  attachments: v.optional(v.array(attachment)),
};
const contentSchema = v.object(slackContent);

/**
 * The parts of a message.
 * @param text the message's, without the agent's name
 */
export function partsOfContent(
  text: string,
  { files = [], blocks = [], attachments = [] }: v.InferOutput<typeof contentSchema>,
): Part[] {
  return [
    ...partsOfText(text, blocks),
    ...files.map(filePart),
    ...attachments.flatMap((one) => (one.is_share || one.is_msg_unfurl ? [sharedPart(one)] : cardParts(one))),
  ];
}

/** The words. A message may have no text but blocks; only the blocks show a quotation in it. */
function partsOfText(text: string, blocks: readonly Block[]): ForwardedPart[] {
  const elements = blocks.filter(isRich).flatMap((one) => listOf(one.elements));
  const quotes = elements.filter(({ type }) => type === "rich_text_quote");
  const others = blocks.filter((one) => !isRich(one));
  const own = elements.filter(({ type }) => type !== "rich_text_quote");
  const rich = own
    .map((one) => textOf(one).trim())
    .filter(Boolean)
    .join("\n");
  const inBlocks = [rich, ...others.map(textOf)].filter(Boolean).join("\n");
  return [
    { kind: "text", text: text === "" || quotes.length > 0 ? inBlocks : decodeSlackText(text) },
    ...quotes.map((quote) => ({ kind: "quote" as const, text: textOf(quote) })),
  ];
}

const isRich = ({ type }: Block) => type === "rich_text";

function listOf(value: unknown): Block[] {
  return Array.isArray(value) ? value.filter((one) => v.is(block, one)) : [];
}

/** What people read in a block or element. One without words is named. */
function textOf(one: Block): string {
  const { type, text, url, name: emoji, user_id, channel_id, usergroup_id, range, fallback } = one;
  const string = (value: unknown) => (typeof value === "string" ? value : undefined);
  switch (type) {
    case "link":
      return text ? `${text} (${url})` : String(url);
    case "emoji":
      return `:${emoji}:`;
    case "user":
      return `@${user_id}`;
    case "channel":
      return `#${channel_id}`;
    case "usergroup":
      return `@${usergroup_id}`;
    case "broadcast":
      return `@${range}`;
    case "mrkdwn":
      return decodeSlackText(string(text) ?? "");
    default: {
      if (string(text) !== undefined) return String(text);
      const inner = [
        text,
        ...(["title", "alt_text", "image_url", "video_url", "value"] as const).map((key) => one[key]),
      ];
      const children = ["elements", "fields", "accessory", "rows"].flatMap((key) => [one[key]].flat(2));
      const words = [...inner, ...children].flatMap((value) => {
        if (v.is(block, value)) return [textOf(value)];
        return typeof value === "string" ? [value] : [];
      });
      const separator =
        type === "rich_text_section" || type === "rich_text_quote" || type === "rich_text_preformatted"
          ? ""
          : "\n";
      return (
        words.filter(Boolean).join(separator) || string(fallback) || (type === "divider" ? "" : `(${type})`)
      );
    }
  }
}

function filePart(found: File): ForwardedPart {
  if (isHosted(found)) return { kind: "media", media: toMedia(found) };
  return { kind: "other", name: "file", detail: found.name ?? undefined };
}

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

/** A message that the sender shares. */
function sharedPart(found: Attachment): Part {
  const { author_name, author_id, channel_name, ts, from_url, files, blocks } = found;
  const words = found.text
    ? decodeSlackText(found.text)
    : blocks.map(textOf).join("\n") || found.fallback || "";
  const place = channel_name ? `#${channel_name}` : undefined;
  const at = Number(ts) * 1000;
  return {
    kind: "forward",
    from: [author_name ?? author_id, place].filter(Boolean).join(" in ") || undefined,
    ...(author_id ? { fromId: author_id } : {}),
    ...(at > 0 ? { at } : {}),
    parts: [
      { kind: "text", text: words },
      ...(from_url ? [{ kind: "link" as const, url: from_url }] : []),
      ...files.map(filePart),
    ],
  };
}

/** The preview of a page, or a card of an app. Nobody but the page wrote it. */
function cardParts(found: Attachment): Part[] {
  const { service_name, author_name, title, pretext, text, fallback, footer, fields, blocks, files } = found;
  const url = found.from_url ?? found.original_url ?? found.title_link ?? found.image_url ?? undefined;
  const words = [
    ...[service_name, author_name, title, pretext, text],
    ...fields.map((field) => [field.title, field.value].filter(Boolean).join(": ")),
    ...blocks.map(textOf),
    footer,
  ].flatMap((line) => (line ? [decodeSlackText(line)] : []));
  const preview = words.join("\n") || fallback || "";
  return [{ kind: "link", url, preview }, ...files.map(filePart)];
}
