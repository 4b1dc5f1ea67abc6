import type { OutboundChannel } from "../../../shared/channels/channel.ts";
import type { ChannelName } from "../../../shared/channels/channels.ts";
import { channels } from "../../../shared/channels/channels.ts";
import { type Rendered, textOf } from "../../../shared/channels/outbound/leaves.ts";
import { markdownLeaves } from "../../../shared/channels/outbound/markdown-leaves.ts";
import { messageTexts } from "../../../shared/channels/outbound/message-texts.ts";
import { discordShown } from "../../support/platforms/discord/discord-shown.ts";
import { blockFault, type SlackBlock, slackShown } from "../../support/platforms/slack/slack-blocks.ts";
import { checkEntities, type Entity } from "../../support/platforms/telegram/telegram-entities.ts";
import { whatsappShown } from "../../support/platforms/whatsapp/whatsapp-shown.ts";

type Formatting = { entities?: Entity[]; blocks?: SlackBlock[] };

/** What the users of each platform see of a message. Throws if the platform would refuse it, or show it wrongly. */
export const shownOn: Record<ChannelName, (message: Rendered) => string> = {
  telegram({ text, formatting }) {
    const { entities = [] } = (formatting ?? {}) as Formatting;
    if (checkEntities(text, entities).length < entities.length) throw new Error("more than 100 entities");
    if (text.length > 4096) throw new Error("message is too long");
    const isCode = entities[0]?.type === "pre" && entities[0].offset === 0;
    if (text !== text.trimEnd() || (!isCode && text !== text.trimStart()))
      throw new Error("it would be trimmed");
    return text;
  },
  whatsapp({ text }) {
    if (text.length > 4096) throw new Error("more than 4096 characters");
    return whatsappShown(text);
  },
  slack({ text, formatting }) {
    const { blocks = [] } = (formatting ?? {}) as Formatting;
    const fault = blockFault(blocks);
    if (fault) throw new Error(fault);
    if (text.length > 4000) throw new Error("Slack would divide it");
    if (/&(?!(?:amp|lt|gt);)|[<>]/.test(text)) throw new Error("a broken escape");
    return slackShown(blocks);
  },
  discord({ text }) {
    if (text.length > 2000) throw new Error("more than 2000 characters");
    return discordShown(text);
  },
};

/** Without white space, and without what a platform's format adds or replaces: invisible spaces, and other quotes for backticks. */
export function bare(text: string): string {
  return text.replace(/[\s\u200b]/g, "").replaceAll("`", "'");
}

/** The messages of a markdown text. */
export function messagesOf(name: ChannelName, markdown: string): Promise<Rendered[]> {
  return messageTexts(channels[name] as OutboundChannel, { markdown });
}

/** The whole text as its users would see it, if one message could have any length. */
export async function wholeShown(name: ChannelName, markdown: string): Promise<string> {
  const format = await channels[name]!.format!();
  return shownOf(name, format.render(markdownLeaves(markdown, format)));
}

/** The text without its formatting. */
export async function plainText(name: ChannelName, markdown: string): Promise<string> {
  return textOf(markdownLeaves(markdown, await channels[name]!.format!()));
}

/** What is seen of a message of any length. */
export function shownOf(name: ChannelName, { text, formatting }: Rendered): string {
  if (name === "telegram") return text;
  if (name === "slack") return slackShown((formatting as Formatting).blocks ?? []);
  return name === "whatsapp" ? whatsappShown(text) : discordShown(text);
}

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** The graphemes of a text. */
export function graphemesOf(text: string): string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}
