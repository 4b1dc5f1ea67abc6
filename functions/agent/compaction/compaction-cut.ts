import { type Message, toolCallsOf } from "../../../shared/protocol/messages.ts";
import { messageCharacters } from "../context/context-size.ts";

/**
 * Where a transcript can be cut: `true` at index i when no tool call before i has its result at i or behind. Index 0 and
 * the end are always places to cut.
 */
export function cutPlaces(messages: readonly Message[]): boolean[] {
  const places = new Array<boolean>(messages.length + 1).fill(true);
  const calledAt = new Map<string, number>();
  for (const [i, message] of messages.entries()) {
    for (const call of toolCallsOf(message)) calledAt.set(call.id, i);
    if (message.role !== "toolResult") continue;
    const call = calledAt.get(message.toolCallId);
    if (call !== undefined) places.fill(false, call + 1, i + 1);
  }
  return places;
}

/**
 * The first message to keep when the newest `keepCharacters` are kept: as much as fits, whole calls with their results,
 * and in any case the newest of these groups, however large it is. 0 when nothing is left to cut away.
 */
export function cutBySize(messages: readonly Message[], keepCharacters: number): number {
  const places = cutPlaces(messages);
  let cut: number | undefined;
  let kept = 0;
  for (let i = messages.length - 1; i >= 0; i--) {
    const message = messages[i];
    if (message) kept += messageCharacters(message);
    if (kept > keepCharacters && cut !== undefined) return cut;
    if (places[i]) cut = i;
  }
  return cut ?? 0;
}

/** The first message to keep when the newest `count` are kept, or a few more so that no call is parted from its results. */
export function cutByCount(messages: readonly Message[], count: number): number {
  const places = cutPlaces(messages);
  let cut = Math.max(0, messages.length - count);
  while (!places[cut]) cut--;
  return cut;
}

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
