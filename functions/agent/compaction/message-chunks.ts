import type { Message } from "../../../shared/protocol/messages.ts";
import { messageCharacters } from "../context/context-size.ts";

/** Splits messages into chunks of at most `maxCharacters`. A larger message is a chunk by itself. */
export function inChunks(messages: readonly Message[], maxCharacters: number): Message[][] {
  const chunks: Message[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const message of messages) {
    const characters = messageCharacters(message);
    if (size + characters > maxCharacters) {
      chunks.push([]);
      size = 0;
    }
    chunks.at(-1)?.push(message);
    size += characters;
  }
  return chunks;
}
