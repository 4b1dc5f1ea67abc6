import type { ChannelAccount, SentQuestion } from "../../shared/channels/channel.ts";
import { channelOf } from "../../shared/channels/discord/discord.ts";
import type { Mark } from "../../shared/protocol/events.ts";
import { askDiscord } from "./ask-discord.ts";

const emojis: Record<Mark, string> = { accepted: "👀", answered: "✅", failed: "❌" };

/**
 * Shows a mark as the bot's reaction to a message, in place of the one before
 * (https://docs.discord.com/developers/resources/message#create-reaction).
 * @throws Failure when Discord refuses it: the bot may lack the right
 */
export async function markMessage(
  account: ChannelAccount,
  { peer, messageId }: SentQuestion,
  mark: Mark,
  signal: AbortSignal,
): Promise<void> {
  const reactions = `/channels/${channelOf(peer)}/messages/${encodeURIComponent(messageId)}/reactions`;
  const pathOf = (emoji: string) => `${reactions}/${encodeURIComponent(emoji)}/@me`;
  await askDiscord(account, pathOf(emojis[mark]), signal, "PUT");
  if (mark === "accepted") return;
  // Also the mark of an earlier run: the message may have been edited since.
  const others = Object.values(emojis).filter((emoji) => emoji !== emojis[mark]);
  for (const other of others) await askDiscord(account, pathOf(other), signal, "DELETE").catch(() => {});
}
