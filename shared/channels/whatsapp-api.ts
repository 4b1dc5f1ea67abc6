import * as v from "valibot";
import type { ChannelAccount, SendOutcome } from "./channel.ts";
import {
  baseUrlOf,
  callPlatform,
  failedSend,
  isPassing,
  plainReason,
  retryAfterOf,
} from "./platform-call.ts";

/** The version of the Graph API that requests and answers here follow. */
const version = "v25.0";

/** The user has not written for a day: then only templates are delivered. */
export const windowClosed = 131047;

/** How long to wait after too many messages to one person, in milliseconds: one in six seconds is let through. */
const pairRateWaitMs = 6000;

/** Codes of failures that may pass: rate limits, and troubles of the platform's own. */
const passingCodes = [4, 80007, 130429, 131056, 1, 2, 131000, 131016, 131057, 133004];

/** Codes of a token that is not, or no more, good for this. */
const tokenCodes = [0, 3, 10, 190];

const answerSchema = v.object({
  messages: v.optional(v.array(v.object({ id: v.string() }))),
  error: v.optional(
    v.object({
      code: v.number(),
      message: v.optional(v.string()),
      error_data: v.optional(v.object({ details: v.optional(v.string()) })),
    }),
  ),
});

/**
 * Calls the messages endpoint
 * (https://developers.facebook.com/documentation/business-messaging/whatsapp/messages/send-messages) and classifies
 * what it answers
 * (https://developers.facebook.com/documentation/business-messaging/whatsapp/support/error-codes).
 */
export async function callMessages(account: ChannelAccount, message: object): Promise<SendOutcome> {
  const token = account.secrets.accessToken;
  const phoneNumberId = encodeURIComponent(String(account.settings.phoneNumberId));
  const baseUrl = baseUrlOf(account, "https://graph.facebook.com");
  const called = await callPlatform(`${baseUrl}/${version}/${phoneNumberId}/messages`, {
    headers: { authorization: `Bearer ${token}` },
    body: { messaging_product: "whatsapp", ...message },
  });
  if (!called.answered) return failedSend(true, called.reason);
  const { status, headers, body } = called;
  const parsed = v.safeParse(answerSchema, body);
  const answer = parsed.success ? parsed.output : {};
  if (status === 200 && !answer.error) return { status: "sent", messageId: answer.messages?.[0]?.id };
  const code = answer.error?.code;
  if (code === undefined) return failedSend(isPassing(status), `${status} without a reason`);
  const details = answer.error?.error_data?.details ?? answer.error?.message ?? "without a reason";
  const isRetryable = passingCodes.includes(code) || (status >= 500 && !tokenCodes.includes(code));
  const wait = retryAfterOf(headers) ?? (code === 131056 ? pairRateWaitMs : undefined);
  return failedSend(isRetryable, plainReason(describeFailure(code, details), token), wait);
}

/** What a failure means, by its code, for whoever reads the log or the channel's status. */
export function describeFailure(code: number, details: string): string {
  if (code === windowClosed) return "outside WhatsApp's 24-hour window: the user must write first";
  const isToken = tokenCodes.includes(code) || (code >= 200 && code <= 299);
  return `${isToken ? "authentication failed: " : ""}${code} ${details}`;
}
