import { logError } from "../../runtime/log.ts";
import { type OutboundChannel, type OutboundText, sourceOf } from "../channel.ts";
import type { Rendered } from "./leaves.ts";
import { split, splitText } from "./split.ts";

/** A text as the channel's messages. Markdown that cannot be formatted is sent as it is. */
export async function messageTexts(channel: OutboundChannel, text: OutboundText): Promise<Rendered[]> {
  if (typeof text !== "string" && channel.format) {
    try {
      return await formatted(channel, channel.format, text.markdown);
    } catch (error) {
      logError("channel.format.failed", error, { channel: channel.name });
    }
  }
  return splitText(sourceOf(text), channel.maxText, channel.encode).map((part) => ({ text: part }));
}

/** The parser is loaded here: a cold start does without it. */
async function formatted(
  { maxText }: OutboundChannel,
  load: NonNullable<OutboundChannel["format"]>,
  markdown: string,
): Promise<Rendered[]> {
  const [{ markdownLeaves }, format] = await Promise.all([import("./markdown-leaves.ts"), load()]);
  const fits = ({ text, formatting }: Rendered) =>
    text.length <= maxText && (!formatting || (format.fits?.(formatting) ?? true));
  return [...split(markdownLeaves(markdown, format), { render: format.render, fits, maxText })];
}
