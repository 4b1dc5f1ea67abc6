import type { ConfigurationStore } from "../../configuration/store.ts";
import { addFeedback } from "../../session/feedback.ts";
import type { Feedback } from "../../session/state.ts";
import type { Table } from "../../world/world.ts";
import { accountSettings, ownValue } from "../account.ts";
import type { ChannelAddress, Reaction } from "../channel.ts";
import { findSentText } from "../sent-text.ts";
import { senderRole } from "./sender-role.ts";

/** Max length of an answer's beginning, in UTF-16 units. */
const maxText = 160;

/**
 * Records an owner's 👍 or 👎 on an answer in the answer's session. Other emoji, other people and other messages count nothing.
 * @param reaction from a verified request
 */
export async function handleReaction(
  {
    table,
    configuration,
    now,
  }: { table: Table; configuration: Pick<ConfigurationStore, "load">; now: () => number },
  address: ChannelAddress,
  { eventId, sender, peer, messageId, emoji, isRemoved }: Reaction,
): Promise<"recorded" | "ignored"> {
  const verdict = verdictOf(emoji);
  if (emoji !== undefined && verdict === undefined) return "ignored";
  const newest = await configuration.load({ fresh: true });
  const { channel, accountId } = address;
  if (accountSettings(newest, address)?.enabled === false) return "ignored";
  if (senderRole(channel, ownValue(newest.channels, channel), sender.id) !== "owner") return "ignored";
  const answer = await findSentText(table, { ...address, peer, messageId }, now());
  if (!answer) return "ignored";
  const id = `${channel}:${accountId}:reaction:${eventId}`;
  const text = answer.text.slice(0, maxText).toWellFormed();
  const given = verdict ? { emoji: verdict, ...(isRemoved ? { isRemoved } : {}) } : {};
  const feedback = { messageId, text, ...given };
  return (await addFeedback(table, answer.sessionKey, id, feedback, now())) ? "recorded" : "ignored";
}

/** Emoji of hands may end with a skin tone. */
function verdictOf(emoji = ""): Feedback["emoji"] {
  return (["👍", "👎"] as const).find((one) => emoji.startsWith(one));
}
