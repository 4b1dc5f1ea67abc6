import { randomBytes } from "node:crypto";
import { nameOfCall } from "../../../shared/objects/wire-messages.ts";
import {
  type AssistantMessage,
  type Message,
  type ToolCallBlock,
  toolCallsOf,
} from "../../../shared/protocol/messages.ts";

/**
 * A provider's id that is usable in the whole session. Servers that number the calls of each reply (`call_0`) send shorter
 * ids, which repeat. Other providers refuse longer ids and other characters.
 */
const usableId = /^[A-Za-z0-9_-]{16,64}$/;

/**
 * Gives every call of a reply an id that is unique in its session. A unique provider's id is kept; otherwise the id is a
 * UUIDv7, and `providerId` has the provider's.
 * @param before the messages before the reply
 * @param now epoch milliseconds
 */
export function withCallIds(
  reply: AssistantMessage,
  before: readonly Message[],
  now: number,
): AssistantMessage {
  if (toolCallsOf(reply).length === 0) return reply;
  const used = new Set(before.flatMap(toolCallsOf).flatMap(idsOf));
  const content = reply.content.map((block) => {
    if (block.type !== "toolCall") return block;
    const given = nameOfCall(block.id);
    const id = usableId.test(given) && !used.has(given) ? given : uuidV7(now);
    used.add(id);
    return id === block.id ? block : { ...block, id, providerId: block.id };
  });
  return { ...reply, content };
}

/** The ids of a call: the gateway's, and the provider's where it differs. */
function idsOf({ id, providerId }: ToolCallBlock): string[] {
  return providerId === undefined ? [id] : [id, nameOfCall(providerId)];
}

/** A UUID of version 7 (RFC 9562): the time in milliseconds, then random bits. */
function uuidV7(now: number): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(now, 0, 6);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
