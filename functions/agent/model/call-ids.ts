import { randomBytes } from "node:crypto";
import {
  type AssistantMessage,
  type Message,
  type ToolCallBlock,
  toolCallsOf,
} from "../../../shared/protocol/messages.ts";
import { nameOfCall } from "../../../shared/wire/wire-messages.ts";

/**
 * A provider's id that can name a call. Shorter ones come from servers that count the calls of each reply (`call_0`),
 * and come again; longer ones, and other characters, are refused by other providers.
 */
const lastingId = /^[A-Za-z0-9_-]{16,64}$/;

/**
 * Gives every call of a reply an id that names it alone in its session. The provider's id is kept where it does;
 * else the id is a UUIDv7, and the provider's stands beside it.
 * @param before the messages ahead of the reply
 * @param now epoch milliseconds
 */
export function withCallIds(
  reply: AssistantMessage,
  before: readonly Message[],
  now: number,
): AssistantMessage {
  if (toolCallsOf(reply).length === 0) return reply;
  const used = new Set(before.flatMap(toolCallsOf).flatMap(namesOf));
  const content = reply.content.map((block) => {
    if (block.type !== "toolCall") return block;
    const said = nameOfCall(block.id);
    const id = lastingId.test(said) && !used.has(said) ? said : uuidV7(now);
    used.add(id);
    return id === block.id ? block : { ...block, id, providerId: block.id };
  });
  return { ...reply, content };
}

/** What a call is known by: to the gateway, and to its provider. */
function namesOf({ id, providerId }: ToolCallBlock): string[] {
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
