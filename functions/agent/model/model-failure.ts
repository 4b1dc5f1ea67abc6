import type { AssistantMessage as PiReply } from "@earendil-works/pi-ai";
import { type FailedCall, failureSentence } from "./failure-sentence.ts";
import { ownersWords, providerWords } from "./provider-error-text.ts";
import type { ResponseWatch } from "./response-watch.ts";

/** Stop reasons of the provider's content filters. */
const blocks =
  /safety|prohibited|blocklist|spii|recitation|content_filter|guardrail|refusal|sensitive|language$/i;

/** Stop reasons after which a repeat may succeed. */
const slips = /^(malformed_function_call|network_error|other)$/i;

/** Account limits and faults of the request or the setup: the same request would fail again. */
const lasting =
  /insufficient_quota|quota exceeded|billing|usage limit|out of budget|invalid_request|validation|authentication|permission|access ?denied|not_found/i;

/** Temporary errors of clients that do not report the HTTP status. */
const passing =
  /throttl|overload|unavailable|internal ?server ?error|model ?stream ?error|try again|ended without|terminated|aborted|socket|network|connect|timed? ?out|fetch failed|ECONN|EPIPE|ENOTFOUND|EAI_AGAIN|http2/i;

/** Errors of a connection that was never made, and of missing credentials: no request was sent. */
const unsent =
  /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|connect ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT|CERT_|SELF_SIGNED|could not load credentials/i;

/** Statuses of gateways whose patience has ended: the model behind them may have answered. */
const gaveUp = [408, 504, 524];

type FailedReply = Pick<PiReply, "errorMessage" | "rawStopReason" | "content" | "usage" | "api"> &
  Pick<PiReply, "diagnostics">;

/** Explains a failure. `error` is the run's error; `brief` is the short reason of a repeat. */
export function explainFailure(
  reply: FailedReply,
  call: Omit<FailedCall, "words">,
): { error: string; brief?: string } {
  const words = reply.errorMessage ?? "unknown error";
  const status = call.status ?? statusIn(words);
  const unreachable = call.unreachable ?? unreachableIn(words, status);
  const known = reply.rawStopReason ? undefined : failureSentence({ ...call, unreachable, status, words });
  if (known === undefined) return isCutOff(reply, words) ? cutOff : { error: explainWords(reply, words) };
  const { text, passes } = known;
  // For a failed connection the client's message adds nothing.
  const details = unreachable === undefined ? words : "";
  return { error: passes ? `${text}; ${providerWords(words)}` : ownersWords(text, details), brief: text };
}

const cutOff = {
  error:
    "the provider's answer was cut off midway; send the message again, or choose another model with /model",
  brief: "the provider's answer was cut off midway",
};

/** Whether the connection ended before the answer did, in the words of the clients and of Node's fetch. */
function isCutOff(reply: FailedReply, words: string): boolean {
  if (reply.rawStopReason || isBlockedPrompt(reply)) return false;
  return /^(terminated|other side closed|socket hang up)$|\bstream (ended|closed) (before|without)\b/i.test(
    words,
  );
}

/** Why the connection failed, in the error message of clients whose requests are not watched. */
function unreachableIn(words: string, status: number | undefined): string | undefined {
  if (status !== undefined) return undefined;
  const [code] = /\b(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT)\b/.exec(words) ?? [];
  return code ?? (/^(connection error\.?|.*\bfetch failed\b.*)$/i.test(words) ? words : undefined);
}

function explainWords(reply: FailedReply, words: string): string {
  const { rawStopReason } = reply;
  if (rawStopReason && blocks.test(rawStopReason))
    return `the provider blocked the answer (${rawStopReason}); ${providerWords(words)}`;
  if (isBlockedPrompt(reply))
    return "the provider blocked the request and sent no answer, as Google does when its filters stop a prompt. Rephrase your message, or start a new conversation";
  if (isMisread(words))
    return `the server's answer does not follow the API ${reply.api}, for example a stream without usage; ${providerWords(words)}`;
  return providerWords(withRemedy(words));
}

/**
 * Whether the same call may succeed later, and the wait that the provider asks for.
 * @param watch the watched responses of this call
 */
export function passingOf(reply: FailedReply, watch: ResponseWatch): { waitMs?: number } | undefined {
  const words = reply.errorMessage ?? "";
  if (!isPassing(reply, words, watch)) return undefined;
  const waitMs = watch.retryAfterMs ?? waitIn(words);
  return waitMs === undefined ? {} : { waitMs };
}

/** Whether the provider refused the request, or never got it: nothing was generated, and nothing is billed. */
export function isRefused(reply: FailedReply, watch: ResponseWatch): boolean {
  const status = statusOf(reply, watch);
  if (reply.content.length > 0) return false;
  if (status !== undefined) return status >= 400 && !gaveUp.includes(status);
  return isUnsent(reply.errorMessage ?? "", watch);
}

/** Whether nobody knows how much the model has answered. */
export function mayHaveAnswered(reply: FailedReply, watch: ResponseWatch): boolean {
  return reply.content.length === 0 && gaveUp.includes(statusOf(reply, watch) ?? 0);
}

/** Whether no request was sent. @param words the error */
export function isUnsent(words: string, { unreachable = "" }: ResponseWatch): boolean {
  return unsent.test(unreachable) || unsent.test(words);
}

/** Bedrock's client reports the status only here. */
function statusOf({ diagnostics = [], errorMessage = "" }: FailedReply, watch: ResponseWatch) {
  const [reported] = diagnostics.flatMap(({ details }) =>
    details?.status === undefined ? [] : [details.status],
  );
  return watch.status ?? (reported === undefined ? statusIn(errorMessage) : Number(reported));
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
  // The stream broke, or began with an error.
  return status !== undefined || passing.test(words);
}

/** The status in the error message of clients that do not expose the response. */
function statusIn(words: string): number | undefined {
  const [, status] = /^([45]\d\d)\b/.exec(words) ?? /"code":\s*([45]\d\d)\b/.exec(words) ?? [];
  return status === undefined ? undefined : Number(status);
}

/** The wait named in an error message: Google's `retryDelay`, OpenAI's "try again in". Milliseconds. */
function waitIn(words: string): number | undefined {
  const [, seconds] = /retryDelay\W+(\d+(?:\.\d+)?)s/.exec(words) ?? [];
  if (seconds !== undefined) return Number(seconds) * 1000;
  const [, count, unit] = /try again in (\d+(?:\.\d+)?)\s?(ms|s)\b/i.exec(words) ?? [];
  if (count === undefined) return undefined;
  return unit?.toLowerCase() === "ms" ? Number(count) : Number(count) * 1000;
}

/** Google answers a blocked prompt with nothing but its token count (`promptFeedback`). */
function isBlockedPrompt({ api, content, usage, errorMessage = "" }: FailedReply): boolean {
  const isEmpty = content.length === 0 && usage.input > 0;
  return api.startsWith("google") && isEmpty && errorMessage.includes("without a finish reason");
}

/** Whether the client failed over a missing field of the response. */
function isMisread(words: string): boolean {
  return /cannot read propert|is not iterable|is not a function/i.test(words);
}

/** AWS's error for a model that the account has not opened yet does not say how to open it. */
function withRemedy(error: string): string {
  if (!/aws-marketplace|use[- ]case (details|form)/i.test(error)) return error;
  return `${error} (An administrator of the AWS account opens this model once, in the playground of the Amazon Bedrock console; some minutes later it answers here.)`;
}
