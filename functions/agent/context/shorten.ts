import type { ImageBlock, Message, TextBlock } from "../../../shared/protocol/messages.ts";
import { messageCharacters, totalCharacters } from "./context-size.ts";

/** Most text of one tool result that a model is shown, in characters: some 50,000 tokens. */
export const maxShownResult = 200_000;

/** Least that is left of a text that is shortened, in characters. */
const minText = 200;

/** A text of at most about `most` characters: the middle of a longer one is left out, and a note says how much. */
export function shorten(text: string, most: number): string {
  if (text.length <= most) return text;
  const note = `\n[… ${text.length - most} characters left out …]\n`;
  const kept = Math.max(0, most - note.length);
  const head = Math.ceil((kept * 2) / 3);
  return (text.slice(0, head) + note + text.slice(text.length - (kept - head))).toWellFormed();
}

/**
 * What a model is shown of messages: of a tool's result that is very long the beginning and the end, with a note of how
 * much is left out. The transcript keeps it whole.
 */
export function shownMessages(messages: readonly Message[]): readonly Message[] {
  return messages.map((message) => {
    if (message.role !== "toolResult") return message;
    const length = message.content.reduce((sum, block) => sum + textLength(block), 0);
    if (length <= maxShownResult) return message;
    const share = maxShownResult / length;
    const shown = (block: TextBlock | ImageBlock) =>
      block.type === "text"
        ? { ...block, text: shorten(block.text, Math.floor(block.text.length * share)) }
        : block;
    return { ...message, content: message.content.map(shown) };
  });
}

function textLength(block: TextBlock | ImageBlock): number {
  return block.type === "text" ? block.text.length : 0;
}

/**
 * Shortens the longest texts of users and tools to one common length, so that all messages together take `most`
 * characters; where that is not enough, what the model itself wrote as well. Texts that are short stay as they are.
 */
export function shortenTexts(messages: readonly Message[], most: number): readonly Message[] {
  if (totalCharacters(messages) <= most) return messages;
  const given = shortenTo(messages, most, (message) => message.role !== "assistant");
  if (totalCharacters(given) <= most) return given;
  return shortenTo(given, most, (message) => message.role === "assistant");
}

/** The greatest common length by which the messages fit, found by halving; at least `minText`. */
function shortenTo(
  messages: readonly Message[],
  most: number,
  mayShorten: (message: Message) => boolean,
): readonly Message[] {
  const at = (length: number) =>
    messages.map((message) => (mayShorten(message) ? shortenMessage(message, length) : message));
  let [low, high] = [minText, Math.max(minText, ...messages.map(messageCharacters))];
  while (high - low > minText / 4) {
    const middle = Math.floor((low + high) / 2);
    if (totalCharacters(at(middle)) <= most) low = middle;
    else high = middle;
  }
  return at(low);
}

function shortenMessage(message: Message, most: number): Message {
  if (messageCharacters(message) <= most) return message;
  switch (message.role) {
    case "user":
      if (typeof message.content === "string") return { ...message, content: shorten(message.content, most) };
      return { ...message, content: message.content.map((block) => shortenBlock(block, most)) };
    case "toolResult":
      return { ...message, content: message.content.map((block) => shortenBlock(block, most)) };
    case "assistant":
      return {
        ...message,
        content: message.content.map((block) => {
          if (block.type === "text") return shortenBlock(block, most);
          if (block.type === "toolCall")
            return { ...block, arguments: shortenStrings(block.arguments, most) };
          return block;
        }),
      };
  }
}

function shortenBlock<B extends TextBlock | ImageBlock>(block: B, most: number): B {
  if (block.type !== "text" || block.text.length <= most) return block;
  // A signature holds for the text as it was.
  const { textSignature: _, ...unsigned } = block;
  return { ...unsigned, text: shorten(block.text, most) } as B;
}

/** Shortens the strings inside of a tool call's arguments. */
function shortenStrings<T>(value: T, most: number): T {
  if (typeof value === "string") return shorten(value, most) as T;
  if (Array.isArray(value)) return value.map((one) => shortenStrings(one, most)) as T;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, one]) => [name, shortenStrings(one, most)]);
  return Object.fromEntries(entries) as T;
}
