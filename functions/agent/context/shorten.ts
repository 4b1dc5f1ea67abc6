import type { ImageBlock, Message, TextBlock } from "../../../shared/protocol/messages.ts";
import { messageCharacters, totalCharacters } from "./context-size.ts";

/** Max characters of one tool result in a request: about 50,000 tokens. */
export const maxShownResult = 200_000;

/** Min length of a shortened text, in characters. */
const minText = 200;

/** A text of at most about `maxCharacters`. The middle of a longer text is replaced by a note of the omitted length. */
export function shorten(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  const note = `\n[… ${text.length - maxCharacters} characters left out …]\n`;
  const kept = Math.max(0, maxCharacters - note.length);
  const head = Math.ceil((kept * 2) / 3);
  return (text.slice(0, head) + note + text.slice(text.length - (kept - head))).toWellFormed();
}

/**
 * Messages as a request contains them: a very long tool result is reduced to its start and end, with a note of the omitted
 * length. The transcript stores the whole result.
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
 * Shortens the longest texts of users and tools to one common length, so that all messages together have at most
 * `maxCharacters`. If that is not enough, the model's own texts are shortened too. Shorter texts are unchanged.
 */
export function shortenTexts(messages: readonly Message[], maxCharacters: number): readonly Message[] {
  if (totalCharacters(messages) <= maxCharacters) return messages;
  const given = shortenTo(messages, maxCharacters, (message) => message.role !== "assistant");
  if (totalCharacters(given) <= maxCharacters) return given;
  return shortenTo(given, maxCharacters, (message) => message.role === "assistant");
}

/** Finds the max common length with which the messages fit, by bisection; at least `minText`. */
function shortenTo(
  messages: readonly Message[],
  maxCharacters: number,
  mayShorten: (message: Message) => boolean,
): readonly Message[] {
  const at = (length: number) =>
    messages.map((message) => (mayShorten(message) ? shortenMessage(message, length) : message));
  let [low, high] = [minText, Math.max(minText, ...messages.map(messageCharacters))];
  while (high - low > minText / 4) {
    const middle = Math.floor((low + high) / 2);
    if (totalCharacters(at(middle)) <= maxCharacters) low = middle;
    else high = middle;
  }
  return at(low);
}

function shortenMessage(message: Message, maxCharacters: number): Message {
  if (messageCharacters(message) <= maxCharacters) return message;
  switch (message.role) {
    case "user":
      if (typeof message.content === "string")
        return { ...message, content: shorten(message.content, maxCharacters) };
      return { ...message, content: message.content.map((block) => shortenBlock(block, maxCharacters)) };
    case "toolResult":
      return { ...message, content: message.content.map((block) => shortenBlock(block, maxCharacters)) };
    case "assistant":
      return {
        ...message,
        content: message.content.map((block) => {
          if (block.type === "text") return shortenBlock(block, maxCharacters);
          if (block.type === "toolCall")
            return { ...block, arguments: shortenStrings(block.arguments, maxCharacters) };
          return block;
        }),
      };
  }
}

function shortenBlock<B extends TextBlock | ImageBlock>(block: B, maxCharacters: number): B {
  if (block.type !== "text" || block.text.length <= maxCharacters) return block;
  // The signature is valid only for the original text.
  const { textSignature: _, ...unsigned } = block;
  return { ...unsigned, text: shorten(block.text, maxCharacters) } as B;
}

/** Shortens the strings inside a tool call's arguments. */
function shortenStrings<T>(value: T, maxCharacters: number): T {
  if (typeof value === "string") return shorten(value, maxCharacters) as T;
  if (Array.isArray(value)) return value.map((one) => shortenStrings(one, maxCharacters)) as T;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, one]) => [name, shortenStrings(one, maxCharacters)]);
  return Object.fromEntries(entries) as T;
}
