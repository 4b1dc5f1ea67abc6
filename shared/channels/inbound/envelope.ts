import { localTime } from "../../runtime/zoned-time.ts";
import type { InboundMessage } from "../channel.ts";
import { contentNote } from "../content-note.ts";

/** Longest name that is shown, in characters. */
const maxName = 64;

/** The most that is shown of a message that another one answers, in UTF-16 units. */
const maxReply = 1000;

/**
 * The line that the model sees ahead of a message: `[telegram · 2026-03-04 17:05]`, and who wrote it where
 * others may write too: `[telegram · 2026-03-04 17:05 · Ann]`. What the message answers, where the platform
 * tells, is a line of its own: `[in reply to: shall we?]`.
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

/** People choose their names: none may look like a part of the envelope or of the text behind it. */
function plainName(name = ""): string {
  const plain = name.replace(/[[\]·\p{Cc}\p{Bidi_Control}\s]+/gu, " ").trim();
  return [...plain].slice(0, maxName).join("").trimEnd();
}
