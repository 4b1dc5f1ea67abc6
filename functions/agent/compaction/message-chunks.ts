import type { Message } from "../../../shared/protocol/messages.ts";
import { messageCharacters } from "../context/context-size.ts";

/** Cuts messages into chunks of at most `maxCharacters`; a message that is larger is a chunk of its own. */
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
