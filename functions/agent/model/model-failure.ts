import type { AssistantMessage as PiReply } from "@earendil-works/pi-ai";
import { type FailedCall, failureSentence } from "./failure-sentence.ts";
import { ownersWords, providerWords } from "./provider-error-text.ts";
import type { ResponseWatch } from "./response-watch.ts";

/** Ends of an answer that come from the provider's filters. */
const blocks =
  /safety|prohibited|blocklist|spii|recitation|content_filter|guardrail|refusal|sensitive|language$/i;

/** Ends of an answer that may be better the next time. */
const slips = /^(malformed_function_call|network_error|other)$/i;

/** Limits of an account, and faults of a request or of the set-up: the same request fails later, too. */
const lasting =
  /insufficient_quota|quota exceeded|billing|usage limit|out of budget|invalid_request|validation|authentication|permission|access ?denied|not_found/i;

/** Errors for a time, of clients that do not tell the HTTP status. */
const passing =
  /throttl|overload|unavailable|internal ?server ?error|model ?stream ?error|try again|ended without|terminated|aborted|socket|network|connect|timed? ?out|fetch failed|ECONN|EPIPE|ENOTFOUND|EAI_AGAIN|http2/i;

type FailedReply = Pick<PiReply, "errorMessage" | "rawStopReason" | "content" | "usage" | "api">;

/** What happened, in an error's words, and shorter for who is told that the call is repeated. */
export function explainFailure(
  reply: FailedReply,
  call: Omit<FailedCall, "words">,
): { error: string; brief?: string } {
  const words = reply.errorMessage ?? "unknown error";
  const status = call.status ?? statusIn(words);
  const known = reply.rawStopReason ? undefined : failureSentence({ ...call, status, words });
  if (known === undefined) return { error: explainWords(reply, words) };
  const { text, passes } = known;
  // Of a connection that was not made the client says nothing more.
  const said = call.unreachable === undefined ? words : "";
  return { error: passes ? `${text}; ${providerWords(words)}` : ownersWords(text, said), brief: text };
}

function explainWords(reply: FailedReply, words: string): string {
  const { rawStopReason } = reply;
  if (rawStopReason && blocks.test(rawStopReason))
    return `the provider blocked the answer (${rawStopReason}); ${providerWords(words)}`;
  if (isBlockedPrompt(reply))
    return "the provider blocked the request: it read the conversation and gave no answer at all, as Google does for a prompt that its filters stop. Say it in other words, or start a new conversation";
  if (isMisread(words))
    return `the server's answer is not what ${reply.api} defines, such as a stream without usage; ${providerWords(words)}`;
  return providerWords(withRemedy(words));
}

/**
 * Whether the same call may succeed later, and how long the provider asks to wait.
 * @param watch what the responses of this call said
 */
export function passingOf(reply: FailedReply, watch: ResponseWatch): { waitMs?: number } | undefined {
  const words = reply.errorMessage ?? "";
  if (!isPassing(reply, words, watch)) return undefined;
  const waitMs = watch.retryAfterMs ?? waitIn(words);
  return waitMs === undefined ? {} : { waitMs };
}

function isPassing(
  reply: FailedReply,
  words: string,
  { status = statusIn(words), mayRetry }: ResponseWatch,
): boolean {
  if (reply.rawStopReason) return slips.test(reply.rawStopReason);
  const isRefused = status !== undefined && status >= 400;
  if (isRefused && mayRetry !== undefined) return mayRetry;
  if (lasting.test(words) || isMisread(words) || isBlockedPrompt(reply)) return false;
  if (isRefused) return status >= 500 || [408, 409, 425, 429].includes(status);
  // The stream broke off, or began with an error.
  return status !== undefined || passing.test(words);
}

/** The status in the words of clients that do not show the response. */
function statusIn(words: string): number | undefined {
  const [, status] = /^([45]\d\d)\b/.exec(words) ?? /"code":\s*([45]\d\d)\b/.exec(words) ?? [];
  return status === undefined ? undefined : Number(status);
}

/** A wait in the words of an error: Google's `retryDelay`, OpenAI's "try again in". Milliseconds. */
function waitIn(words: string): number | undefined {
  const [, seconds] = /retryDelay\W+(\d+(?:\.\d+)?)s/.exec(words) ?? [];
  if (seconds !== undefined) return Number(seconds) * 1000;
  const [, count, unit] = /try again in (\d+(?:\.\d+)?)\s?(ms|s)\b/i.exec(words) ?? [];
  if (count === undefined) return undefined;
  return unit?.toLowerCase() === "ms" ? Number(count) : Number(count) * 1000;
}

/** Google answers a blocked prompt with the number of its tokens and nothing else (`promptFeedback`). */
function isBlockedPrompt({ api, content, usage, errorMessage = "" }: FailedReply): boolean {
  const isEmpty = content.length === 0 && usage.input > 0;
  return api.startsWith("google") && isEmpty && errorMessage.includes("without a finish reason");
}

/** The client stumbled over a field that is missing. */
function isMisread(words: string): boolean {
  return /cannot read propert|is not iterable|is not a function/i.test(words);
}

/** What AWS says of an account in which nobody has opened the model yet does not say how that is done. */
function withRemedy(error: string): string {
  if (!/aws-marketplace|use[- ]case (details|form)/i.test(error)) return error;
  return `${error} (An administrator of the AWS account opens this model once, in the playground of the Amazon Bedrock console; some minutes later it answers here.)`;
}
