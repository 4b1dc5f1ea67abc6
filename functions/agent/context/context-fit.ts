import { type Message, toolCallsOf } from "../../../shared/protocol/messages.ts";
import { type Run, shrinkSteps } from "../../../shared/session/run.ts";
import { summarySize } from "../../../shared/session/summary-message.ts";
import { remove, type Step, set } from "../../../shared/world/expression.ts";
import {
  compactionThreshold,
  type Measured,
  messageCharacters,
  type Request,
  requestCharacters,
  requestTokens,
  tokenRate,
  totalCharacters,
} from "./context-size.ts";
import { shortenTexts } from "./shorten.ts";

/** Where a conversation is cut: `cut` is the index of the first message that is kept. */
export interface Cut {
  cut: number;
  /** Max characters of the summary message that replaces the removed messages. */
  mostCharacters: number;
}

export type Fit =
  /** Fits as returned here: long texts may have been shortened. */
  | { status: "fits"; messages: readonly Message[] }
  /** Has to be compacted first. */
  | { status: "compact"; cut: Cut }
  /** Too long even with shortened texts. */
  | { status: "too long"; error: string };

/**
 * The limits of a request, in tokens. `compaction.keepRecentTokens` may exceed a small window: at most a quarter of the
 * window is kept, and at most a third of the room that prompt and tools leave.
 */
function limitsOf(request: Request) {
  const { contextWindow, settings, promptCharacters, measured } = request;
  const threshold = compactionThreshold(request);
  const rate = tokenRate(measured.tokensPerCharacter);
  const room = threshold - promptCharacters * rate;
  const keep = Math.min(settings.keepRecentTokens, contextWindow / 4, room / 3);
  return { threshold, rate, room, keep };
}

/**
 * Makes a request fit into the model's window minus the reserve for the answer. A request that fits is unchanged. Else a
 * compaction comes first, unless this call already had one (`shrunk`); then the longest texts of the request are shortened.
 * After the provider refused the request, everything has to fit into half of the room: its own count decides.
 */
export function fitRequest(request: Request, shrunk: Run["shrunk"]): Fit {
  const { messages, promptCharacters, contextWindow, settings, measured } = request;
  if (!settings.enabled) return { status: "fits", messages };
  const { threshold } = limitsOf(request);
  const characters = promptCharacters + totalCharacters(messages);
  if (shrunk !== "refused" && requestTokens(characters, measured) <= threshold)
    return { status: "fits", messages };
  const cut = shrunk ? undefined : planCut(request);
  if (cut) return { status: "compact", cut };
  const room = charactersIn(threshold, measured) - promptCharacters;
  const short = shortenTexts(messages, shrunk === "refused" ? room / 2 : room);
  const size = requestTokens(promptCharacters + totalCharacters(short), measured);
  // The request may use up the reserve as long as some room is left for an answer. After a refusal one more try is made anyway.
  if (size <= (contextWindow * 15) / 16 || shrunk === "refused") return { status: "fits", messages: short };
  const error = `LLM error: the conversation is too long: about ${size} tokens with the system prompt and tools, in a context window of ${contextWindow}; start a new one with /reset`;
  return { status: "too long", error };
}

/**
 * Where to cut a conversation. The newest part is kept, and the summary of the rest gets at most a quarter of the room.
 * Undefined when that would free less than a sixteenth of the window.
 * @param refused the provider has refused the conversation: half as much is kept
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

/** The max number of characters that count as `tokens` or less. */
function charactersIn(tokens: number, { contextTokens, tokensPerCharacter }: Measured): number {
  const rate = tokenRate(tokensPerCharacter);
  if (!contextTokens || !tokensPerCharacter) return Math.floor(tokens / rate);
  const then = contextTokens / tokensPerCharacter;
  if (tokens < contextTokens) return Math.floor((then * tokens) / contextTokens);
  return Math.floor(then + (tokens - contextTokens) / rate);
}

/**
 * How to repeat a call that the provider refused as too long: the steps to commit, and where to cut if a compaction
 * helps. The refusal shows that the request has more tokens than the window, which gives a lower bound of the tokens per
 * character. Undefined when the call is not repeated: it was refused before, or compaction is switched off.
 */
export function shrinkAfterRefusal(run: Run, request: Request): { steps: Step[]; cut?: Cut } | undefined {
  const { settings, contextWindow, measured } = request;
  if (run.shrunk === "refused" || !settings.enabled) return undefined;
  const least = contextWindow / requestCharacters(request);
  const rate = Math.max(least, measured.tokensPerCharacter ?? 0);
  const steps = [...shrinkSteps(run, "refused"), remove("contextTokens"), set("tokensPerCharacter", rate)];
  const cut = planCut(request, true);
  return cut ? { steps, cut } : { steps };
}

/**
 * Where a transcript can be cut: `true` at index i when no tool call before i has its result at i or later. Index 0 and
 * the end are always `true`.
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
 * The first message to keep so that the newest `keepCharacters` are kept. Calls are kept together with their results, and
 * the newest such group is kept even if it is larger. 0 when there is nothing to cut off.
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

/** The first message to keep so that the newest `count` are kept, or a few more: no call is separated from its results. */
export function cutByCount(messages: readonly Message[], count: number): number {
  const places = cutPlaces(messages);
  let cut = Math.max(0, messages.length - count);
  while (!places[cut]) cut--;
  return cut;
}
