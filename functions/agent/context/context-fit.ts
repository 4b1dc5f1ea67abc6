import type { Configuration } from "../../../shared/configuration/schema.ts";
import type { ImageBlock, Message, TextBlock } from "../../../shared/protocol/messages.ts";
import type { Run } from "../../../shared/session/run.ts";
import { cutBySize } from "../compaction/compaction-cut.ts";
import { shorten } from "../compaction/compaction-prompts.ts";
import { summarySize } from "../summary-message.ts";
import {
  type Measured,
  messageCharacters,
  requestTokens,
  tokenRate,
  totalCharacters,
} from "./context-size.ts";

/** Least that is left of a text that is shortened, in characters. */
const leastText = 200;

/** A model call that is to be made. Sizes in characters, windows in tokens. */
export interface Request {
  /** A whole transcript. */
  messages: readonly Message[];
  /** Size of the system prompt and the tools. */
  promptCharacters: number;
  contextWindow: number;
  settings: Configuration["compaction"];
  measured: Measured;
}

/** Where a conversation is cut: `cut` is the first message that stays. */
export interface Cut {
  cut: number;
  /** Most characters of the message that stands for what is cut away. */
  mostCharacters: number;
}

export type Fit =
  /** To be sent as it is here: long texts may have been shortened. */
  | { status: "fits"; messages: readonly Message[] }
  /** To be compacted first. */
  | ({ status: "compact" } & Cut)
  /** Cannot be made small enough. */
  | { status: "too long"; error: string };

/**
 * The limits of a request, in tokens. `compaction.reserveTokens` and `.keepRecentTokens` are meant for large windows: in
 * a small one each takes a quarter of it at most, and what is kept a third of the room that prompt and tools leave.
 */
function limitsOf({ contextWindow, settings, promptCharacters, measured }: Request) {
  const threshold = contextWindow - Math.min(settings.reserveTokens, contextWindow / 4);
  const rate = tokenRate(measured.tokensPerCharacter);
  const room = threshold - promptCharacters * rate;
  const keep = Math.min(settings.keepRecentTokens, contextWindow / 4, room / 3);
  return { threshold, rate, room, keep };
}

/**
 * Makes a request fit the model's window less the reserve for its answer: as it is; by a compaction, unless there was
 * one for this call already (`shrunk`); else by shortening the longest texts in what is sent. After a refusal by the
 * provider, whose count is the one that matters, everything has to fit into half of the room.
 */
export function fitRequest(request: Request, shrunk: Run["shrunk"]): Fit {
  const { messages, promptCharacters, contextWindow, settings, measured } = request;
  if (!settings.enabled) return { status: "fits", messages };
  const { threshold } = limitsOf(request);
  const characters = promptCharacters + totalCharacters(messages);
  if (shrunk !== "refused" && requestTokens(characters, measured) <= threshold)
    return { status: "fits", messages };
  const cut = shrunk ? undefined : planCut(request);
  if (cut) return { status: "compact", ...cut };
  const room = charactersIn(threshold, measured) - promptCharacters;
  const short = shortenTexts(messages, shrunk === "refused" ? room / 2 : room);
  const size = requestTokens(promptCharacters + totalCharacters(short), measured);
  // The reserve may be used up, as long as something is left for an answer; and who refused may be asked once more.
  if (size <= (contextWindow * 15) / 16 || shrunk === "refused") return { status: "fits", messages: short };
  const error = `LLM error: the conversation cannot be made to fit: about ${size} tokens with the system prompt and tools, in a context window of ${contextWindow}`;
  return { status: "too long", error };
}

/**
 * Where to cut a conversation so that its newest part stays, and a quarter of the room is enough for the summary of the
 * rest. Undefined when that would gain too little: less than a sixteenth of the window.
 * @param refused the provider has refused the conversation: half as much stays
 */
export function planCut(request: Request, refused = false): Cut | undefined {
  const { rate, room, keep } = limitsOf(request);
  const cut = cutBySize(request.messages, (refused ? keep / 2 : keep) / rate);
  const removed = totalCharacters(request.messages.slice(0, cut));
  const mostCharacters = Math.floor(Math.min(summarySize.most, room / 4 / rate));
  if (mostCharacters < summarySize.least) return undefined;
  if (removed - mostCharacters < request.contextWindow / 16 / rate) return undefined;
  return { cut, mostCharacters };
}

/** The most characters that count for no more than `tokens`. */
function charactersIn(tokens: number, { contextTokens, tokensPerCharacter }: Measured): number {
  const rate = tokenRate(tokensPerCharacter);
  if (!contextTokens || !tokensPerCharacter) return Math.floor(tokens / rate);
  const then = contextTokens / tokensPerCharacter;
  if (tokens < contextTokens) return Math.floor((then * tokens) / contextTokens);
  return Math.floor(then + (tokens - contextTokens) / rate);
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

/** The greatest common length by which the messages fit, found by halving; at least `leastText`. */
function shortenTo(
  messages: readonly Message[],
  most: number,
  mayShorten: (message: Message) => boolean,
): readonly Message[] {
  const at = (length: number) =>
    messages.map((message) => (mayShorten(message) ? shortenMessage(message, length) : message));
  let [low, high] = [leastText, Math.max(leastText, ...messages.map(messageCharacters))];
  while (high - low > leastText / 4) {
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
