import * as v from "valibot";
import { remoteMedia } from "../content/content.ts";
import type { ForwardedPart } from "../content/part.ts";

const text = v.optional(v.string());
const name = v.nullish(v.string());

/** The fields that are read of a file (https://docs.discord.com/developers/resources/message#attachment-object). */
export const attachment = v.object({
  filename: text,
  content_type: name,
  size: v.optional(v.number()),
  /** Seconds. Only voice messages have a duration and a waveform. */
  duration_secs: v.nullish(v.number()),
  waveform: name,
  url: text,
});

/** The fields that are read of an embed (https://docs.discord.com/developers/resources/message#embed-object). */
const embed = v.object({
  title: text,
  description: text,
  url: text,
  author: v.optional(v.object({ name: text, url: text })),
  provider: v.optional(v.object({ name, url: name })),
  fields: v.optional(v.array(v.object({ name: text, value: text })), []),
  footer: v.optional(v.object({ text })),
  image: v.optional(v.object({ url: text })),
  video: v.optional(v.object({ url: text })),
});

const content = {
  content: text,
  timestamp: text,
  attachments: v.optional(v.array(attachment), []),
  embeds: v.optional(v.array(embed), []),
  sticker_items: v.optional(
    v.array(v.object({ id: v.string(), name: text, format_type: v.optional(v.number()) })),
    [],
  ),
};

const poll = v.object({
  question: v.object({ text }),
  answers: v.optional(v.array(v.object({ poll_media: v.object({ text }) })), []),
});

/** The fields that are read of a message (https://docs.discord.com/developers/resources/message#message-object). */
export const targetMessage = v.object({
  ...content,
  poll: v.nullish(poll),
  /** The messages that it forwards. */
  message_snapshots: v.optional(v.array(v.object({ message: v.object(content) })), []),
  /** The message that it answers. */
  referenced_message: v.nullish(
    v.object({ content: text, author: v.optional(v.object({ username: text })) }),
  ),
  components: v.optional(v.array(v.unknown()), []),
});
type TargetMessage = v.InferOutput<typeof targetMessage>;

/** The parts of a message. */
export function partsOfMessage(found: TargetMessage): ForwardedPart[] {
  const { poll: asked, message_snapshots, referenced_message: answered, components } = found;
  const parts = partsOfContent(found);
  if (asked) {
    const options = asked.answers.map(({ poll_media }) => poll_media.text ?? "");
    parts.push({ kind: "poll", question: asked.question.text ?? "", options });
  }
  if (answered) parts.push({ kind: "quote", text: answered.content, by: answered.author?.username });
  if (components.length > 0 && parts.length === 0)
    parts.push({ kind: "other", name: "components", lines: [JSON.stringify(components).slice(0, 2000)] });
  return [...parts, ...message_snapshots.flatMap(({ message }) => partsOfContent(message))];
}

function partsOfContent(found: v.InferOutput<v.ObjectSchema<typeof content, undefined>>): ForwardedPart[] {
  const { content: written, attachments, embeds, sticker_items } = found;
  return [
    ...(written ? [{ kind: "text" as const, text: written }] : []),
    ...attachments.map(toMediaPart),
    ...embeds.map(embedPart),
    ...sticker_items.flatMap(({ id, name: sticker, format_type }): ForwardedPart[] => {
      const note = { kind: "sticker" as const, name: sticker };
      // https://docs.discord.com/developers/reference#image-formatting: no picture of the format Lottie.
      const file = format_type === lottie ? undefined : stickerFile(id, format_type);
      return file ? [note, file] : [note];
    }),
  ];
}

const lottie = 3;
const gif = 4;

function stickerFile(id: string, format: number | undefined): ForwardedPart {
  const isGif = format === gif;
  const host = isGif ? "https://media.discordapp.net" : "https://cdn.discordapp.com";
  const url = `${host}/stickers/${encodeURIComponent(id)}.${isGif ? "gif" : "png"}`;
  return { kind: "media", media: remoteMedia({ url }, { mimeType: isGif ? "image/gif" : "image/png" }) };
}

function embedPart(found: v.InferOutput<typeof embed>): ForwardedPart {
  const { title, description, url, author, provider, fields, footer, image, video } = found;
  const lines = [
    ...[provider?.name, author?.name, title, description],
    ...fields.map((field) => [field.name, field.value].filter(Boolean).join(": ")),
    ...[footer?.text, author?.url, image?.url, video?.url],
  ];
  return { kind: "link", url, preview: lines.filter(Boolean).join("\n") };
}

/** The URLs of attachments need no credentials and are valid for a day. */
export function toMediaPart(found: v.InferOutput<typeof attachment>): ForwardedPart {
  const { filename, content_type: mimeType, size, duration_secs: duration, waveform, url } = found;
  const voice = waveform ? true : null;
  return {
    kind: "media",
    media: remoteMedia(url ? { url } : {}, { mimeType, filename, size, duration, voice }),
  };
}

/** A snowflake's time, epoch ms (https://docs.discord.com/developers/reference#snowflakes). */
export function timeOf(id: string): number {
  return Number((BigInt(id) >> 22n) + 1_420_070_400_000n);
}
