import { localTime } from "../../runtime/zoned-time.ts";
import type { InboundMessage } from "../channel.ts";
import { contentNote } from "../content-note.ts";

/** Maximum length of a sender's name, in characters. */
const maxName = 64;

/** Maximum length of a quoted message, in UTF-16 units. */
const maxReply = 1000;

/**
 * The line before a message in the model's context: `[telegram · 2026-03-04 17:05]`, with the sender's name
 * outside of direct messages: `[telegram · 2026-03-04 17:05 · Ann]`. A quoted message, when known, follows on
 * a second line: `[in reply to: shall we?]`.
 * @param timezone the user's, an IANA name
 */
export function envelope(
  channel: string,
  {
    timestamp,
    peer,
    sender,
    replyToText,
  }: Pick<InboundMessage, "timestamp" | "peer" | "sender" | "replyToText">,
  timezone: string,
): string {
  const { date, time } = localTime(timestamp, timezone);
  const parts = [channel, `${date} ${time}`];
  if (peer.kind !== "dm") parts.push(plainName(sender.name) || plainName(sender.handle) || sender.id);
  const line = `[${parts.join(" · ")}]`;
  return replyToText ? `${line}\n${contentNote("in reply to", replyToText, maxReply)}` : line;
}

/** Removes characters from a name that could imitate the envelope or the text after it. */
function plainName(name = ""): string {
  const plain = name.replace(/[[\]·\p{Cc}\p{Bidi_Control}\s]+/gu, " ").trim();
  return [...plain].slice(0, maxName).join("").trimEnd();
}
