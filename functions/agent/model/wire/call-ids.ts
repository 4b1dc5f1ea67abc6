import { randomBytes } from "node:crypto";
import type { AssistantMessage } from "../../../../shared/protocol/messages.ts";

/**
 * Gives every call of a reply an id of this gateway, by which its result is stored and its node is asked, and keeps the
 * provider's id beside it. A provider's id may be empty, huge, or the same in every reply.
 * @param now epoch milliseconds
 */
export function withCallIds(reply: AssistantMessage, now: number): AssistantMessage {
  const content = reply.content.map((block) =>
    block.type === "toolCall" ? { ...block, id: uuidV7(now), providerId: block.id } : block,
  );
  return { ...reply, content };
}

/** A UUID of version 7 (RFC 9562): the time in milliseconds, then random bits. */
function uuidV7(now: number): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(now, 0, 6);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
