import { activeSetHash } from "../../../shared/context/context-entries.ts";
import type { MessageOrigin, ReplyContext } from "../../../shared/protocol/messages.ts";
import type { InboxEntry } from "../../../shared/session/inbox-entry.ts";
import type { Prepared } from "./model-request.ts";

/** Where the message of an inbox entry came from, as the transcript keeps it. */
export function originOf(entry: Extract<InboxEntry, { kind: "message" }>): MessageOrigin {
  const { id, origin, senderId, task } = entry;
  if (task) return { channel: task.kind, messageId: id };
  if (origin.kind === "client") return { channel: "client", messageId: id };
  const { channel, accountId, peer, replyToId } = origin;
  return {
    channel,
    accountId,
    peerKind: peer.kind,
    peerId: peer.id,
    ...(senderId === undefined ? {} : { senderId }),
    messageId: replyToId ?? id,
  };
}

/** What a reply was made from, as the transcript keeps it. */
export function replyContext({ turn, active }: Pick<Prepared, "turn" | "active">): ReplyContext {
  const { prompt, model } = turn;
  return {
    prompt: prompt.hash,
    tail: prompt.volatile,
    active: activeSetHash(active),
    model: `${model.provider}/${model.id}`,
  };
}
