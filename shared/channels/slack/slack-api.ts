import * as v from "valibot";
import {
  baseUrlOf,
  callPlatform,
  failedSend,
  isPassing,
  plainReason,
  retryAfterOf,
} from "../../http/platform-call.ts";
import type { ChannelAccount, PlatformFailure } from "../channel.ts";

/** Retryable errors (https://docs.slack.dev/reference/methods/chat.postMessage#errors). */
const passingErrors = [
  ...["ratelimited", "rate_limited", "internal_error", "fatal_error"],
  ...["service_unavailable", "request_timeout", "team_added_to_org"],
];

/** Errors of the token, which only the operator can fix. */
const tokenErrors = [
  ...["invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired"],
  ...["missing_scope", "no_permission", "not_allowed_token_type", "ekm_access_denied"],
];

const answerSchema = v.object({
  ok: v.boolean(),
  error: v.optional(v.string()),
  needed: v.optional(v.string()),
});

/** The Web API's classified response. */
export type SlackAnswer = { ok: true; body: unknown } | { ok: false; failure: PlatformFailure };

/** The authorization header of the account's requests. */
export function slackHeaders({ secrets }: ChannelAccount): Record<string, string> {
  return { authorization: `Bearer ${secrets.botToken}` };
}

/** The base URL of the account's Web API. */
export function slackOrigin(account: ChannelAccount): string {
  return baseUrlOf(account, "https://slack.com");
}

/**
 * Calls a method of the Web API (https://docs.slack.dev/apis/web-api) and classifies the response. Does not
 * throw.
 * @param params sent as JSON, or as a query for methods that accept no JSON
 */
export async function callSlack(
  account: ChannelAccount,
  method: string,
  params: { body: object } | { query: Record<string, string> },
): Promise<SlackAnswer> {
  const query = "query" in params ? `?${new URLSearchParams(params.query)}` : "";
  const called = await callPlatform(`${slackOrigin(account)}/api/${method}${query}`, {
    headers: slackHeaders(account),
    ...("body" in params ? { body: params.body } : { method: "GET" }),
  });
  if (!called.answered) return { ok: false, failure: failedSend(true, called.reason) };
  const { status, headers, body } = called;
  const parsed = v.safeParse(answerSchema, body);
  const answer = parsed.success ? parsed.output : undefined;
  if (status === 200 && answer?.ok) return { ok: true, body };
  const error = answer?.error ?? "without a reason";
  const reason = tokenErrors.includes(error) ? `authentication failed: ${error}` : `${status} ${error}`;
  const needed = answer?.needed ? ` (needed: ${answer.needed})` : "";
  const failure = failedSend(
    isPassing(status) || passingErrors.includes(error),
    plainReason(reason + needed, account.secrets.botToken),
    retryAfterOf(headers),
  );
  return { ok: false, failure };
}
