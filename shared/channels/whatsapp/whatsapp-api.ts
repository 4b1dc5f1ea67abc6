import * as v from "valibot";
import {
  baseUrlOf,
  callPlatform,
  failedSend,
  isPassing,
  type PlatformRequest,
  plainReason,
  retryAfterOf,
} from "../../http/platform-call.ts";
import type { ChannelAccount, PlatformFailure, SendOutcome } from "../channel.ts";

/** The version of the Graph API. */
const version = "v25.0";

/** Error code: the user has not written for 24 hours, so only templates are delivered. */
const windowClosed = 131047;

/** Wait in milliseconds after too many messages to one person. WhatsApp allows one message in six seconds. */
const pairRateWaitMs = 6000;

/** Codes of retryable failures: rate limits and internal errors of the platform. */
const passingCodes = [4, 80007, 130429, 131056, 1, 2, 131000, 131016, 131057, 133004];

/** Codes of an invalid or expired token, or one without permission. */
const tokenCodes = [0, 3, 10, 190];

const errorSchema = v.object({
  error: v.optional(
    v.object({
      code: v.number(),
      message: v.optional(v.string()),
      error_data: v.optional(v.object({ details: v.optional(v.string()) })),
    }),
  ),
});

/** The Graph API's classified response. */
export type GraphAnswer = { ok: true; body: unknown } | { ok: false; failure: PlatformFailure };

const sentSchema = v.object({ messages: v.tuple([v.object({ id: v.string() })]) });

/**
 * Calls the messages endpoint
 * (https://developers.facebook.com/documentation/business-messaging/whatsapp/messages/send-messages).
 */
export async function callMessages(account: ChannelAccount, message: object): Promise<SendOutcome> {
  const body = { messaging_product: "whatsapp", ...message };
  const answer = await callGraph(account, `${phoneNumberOf(account)}/messages`, { body });
  if (!answer.ok) return answer.failure;
  const sent = v.safeParse(sentSchema, answer.body);
  return { status: "sent", ...(sent.success ? { messageId: sent.output.messages[0].id } : {}) };
}

/** The account's phone number id, encoded for a URL path. */
export function phoneNumberOf({ settings }: ChannelAccount): string {
  return encodeURIComponent(String(settings.phoneNumberId));
}

/** The authorization header of the account's requests. */
export function graphHeaders({ secrets }: ChannelAccount): Record<string, string> {
  return { authorization: `Bearer ${secrets.accessToken}` };
}

/**
 * Calls the Graph API at a path after its version, and classifies the response
 * (https://developers.facebook.com/documentation/business-messaging/whatsapp/support/error-codes). Does not
 * throw.
 */
export async function callGraph(
  account: ChannelAccount,
  path: string,
  request: Pick<PlatformRequest, "method" | "body" | "form" | "timeoutMs">,
): Promise<GraphAnswer> {
  const url = `${baseUrlOf(account, "https://graph.facebook.com")}/${version}/${path}`;
  const called = await callPlatform(url, { ...request, headers: graphHeaders(account) });
  if (!called.answered) return { ok: false, failure: failedSend(true, called.reason) };
  const parsed = v.safeParse(errorSchema, called.body);
  const error = parsed.success ? parsed.output.error : undefined;
  if (called.status === 200 && !error) return { ok: true, body: called.body };
  return { ok: false, failure: failureOf(account, called, error) };
}

type GraphError = NonNullable<v.InferOutput<typeof errorSchema>["error"]>;

function failureOf(
  { secrets }: ChannelAccount,
  { status, headers }: { status: number; headers: Headers },
  error: GraphError | undefined,
): PlatformFailure {
  if (!error) return failedSend(isPassing(status), `${status} without a reason`);
  const { code } = error;
  const details = error.error_data?.details ?? error.message ?? "without a reason";
  const isRetryable = passingCodes.includes(code) || (status >= 500 && !tokenCodes.includes(code));
  const wait = retryAfterOf(headers) ?? (code === 131056 ? pairRateWaitMs : undefined);
  return failedSend(isRetryable, plainReason(describeFailure(code, details), secrets.accessToken), wait);
}

/** Explains a failure by its code, for the log and the channel's status. */
export function describeFailure(code: number, details: string): string {
  if (code === windowClosed) return "outside WhatsApp's 24-hour window: the user must write first";
  const isToken = tokenCodes.includes(code) || (code >= 200 && code <= 299);
  return `${isToken ? "authentication failed: " : ""}${code} ${details}`;
}
