import type { Configuration } from "../../../shared/configuration/schema.ts";
import type { AssistantMessage, Message, ToolDefinition } from "../../../shared/protocol/messages.ts";
import { remove, type Step, set } from "../../../shared/world/expression.ts";

/** An image counts as this many characters: about what most providers bill for one of ordinary size. */
const imageCharacters = 4800;

/** Characters that a message has in addition to its content: its role, ids and punctuation on the wire. */
export const messageOverhead = 40;

/** Tokens per character of English text, and the max that is accepted for any text or provider. */
const usualTokens = 1 / 4;
const maxTokens = 20;

/** Estimates are too high by this factor, to be safe. */
const safety = 1.2;

/** Cached sizes. Messages never change. */
const knownSizes = new WeakMap<Message, number>();

/** The size of a message in characters, counting only the parts that a model sees. */
export function messageCharacters(message: Message): number {
  const known = knownSizes.get(message);
  if (known !== undefined) return known;
  const characters = countCharacters(message);
  knownSizes.set(message, characters);
  return characters;
}

function countCharacters(message: Message): number {
  const tail = message.role === "user" ? (message.tail?.length ?? 0) : 0;
  if (typeof message.content === "string") return messageOverhead + message.content.length + tail;
  let characters = messageOverhead + tail;
  for (const block of message.content) {
    switch (block.type) {
      case "text":
        characters += block.text.length;
        break;
      case "thinking":
        characters += block.thinking.length;
        break;
      case "toolCall":
        characters += block.id.length + block.name.length + JSON.stringify(block.arguments).length;
        break;
      case "image":
        characters += imageCharacters;
    }
  }
  return characters;
}

/** The size of several messages in characters. */
export function totalCharacters(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + messageCharacters(message), 0);
}

/** The size of the system prompt and the tool definitions, in characters. */
export function promptCharacters(systemPrompt: string, tools: readonly ToolDefinition[]): number {
  const bracketsAndCommas = 1 + Math.max(1, tools.length);
  return systemPrompt.length + tools.reduce((sum, tool) => sum + toolJson(tool).length, bracketsAndCommas);
}

/** Cached JSON of definitions. A native tool's definition is the same object in all calls. */
const written = new WeakMap<ToolDefinition, string>();

/** A definition as JSON. */
export function toolJson(tool: ToolDefinition): string {
  const json = written.get(tool) ?? JSON.stringify(tool);
  written.set(tool, json);
  return json;
}

/**
 * Estimated tokens per character: 1 / 4 × 1.2, or more if the provider has reported more.
 * @param measured tokens per character as last reported; absent before the first reply
 */
export function tokenRate(measured = 0): number {
  return safety * Math.min(maxTokens, Math.max(usualTokens, measured));
}

/** The measured size of a session: the last reported input tokens, and the tokens per character of that call. */
export interface Measured {
  contextTokens?: number;
  tokensPerCharacter?: number;
}

/**
 * The size of a model call in tokens: the last report of the provider plus an estimate of the text added since. Without a
 * report it is all estimated.
 */
export function requestTokens(characters: number, measured: Measured): number {
  const { contextTokens, tokensPerCharacter } = measured;
  const rate = tokenRate(tokensPerCharacter);
  if (!contextTokens || !tokensPerCharacter) return Math.ceil(characters * rate);
  const then = contextTokens / tokensPerCharacter;
  if (characters < then) return Math.ceil((contextTokens * characters) / then);
  return Math.ceil(contextTokens + (characters - then) * rate);
}

/** A planned model call. Sizes in characters, windows in tokens. */
export interface Request {
  /** A whole transcript. */
  messages: readonly Message[];
  /** Size of the system prompt and the tools. */
  promptCharacters: number;
  contextWindow: number;
  settings: Configuration["compaction"];
  measured: Measured;
}

/**
 * The tokens above which a conversation is compacted. `compaction.reserveTokens` is meant for large windows: the reserve
 * is never more than a quarter of the window.
 */
export function compactionThreshold({ contextWindow, settings }: Request): number {
  return Math.floor(contextWindow - Math.min(settings.reserveTokens, contextWindow / 4));
}

/** The size of a whole model call, in characters. */
export function requestCharacters({ promptCharacters, messages }: Request): number {
  return promptCharacters + totalCharacters(messages);
}

/** Steps that record the size that the provider reports with its reply. Without a report the next sizes are estimates. */
export function sizeSteps({ usage }: AssistantMessage, request: Request): Step[] {
  const tokens = usage ? usage.input + usage.cacheRead + usage.cacheWrite : 0;
  if (tokens === 0) return [remove("contextTokens")];
  const characters = requestCharacters(request);
  return [
    set("contextTokens", tokens),
    set("tokensPerCharacter", Number((tokens / characters).toPrecision(4))),
    set("contextLimits", {
      window: request.contextWindow,
      promptShare: Number((request.promptCharacters / characters).toFixed(3)),
      ...(request.settings.enabled ? { compactsAt: compactionThreshold(request) } : {}),
    }),
  ];
}
