import * as v from "valibot";
import type { Peer } from "../session/state.ts";
import {
  type Channel,
  type ChannelAccount,
  type Destination,
  type OutboundMessage,
  refused,
  type SendOutcome,
  type WebhookRequest,
} from "./channel.ts";
import {
  baseUrlOf,
  callPlatform,
  failedSend,
  isPassing,
  plainReason,
  retryAfterOf,
} from "./platform-call.ts";
import { hmacSha256, isSameSecret } from "./signature.ts";
import { parseSlackCall, readSlackMessage } from "./slack-event.ts";
import { encodeSlackText } from "./slack-text.ts";

/** How far a request's timestamp may be from now, in seconds; an older one may be a replay. */
const maxSkewSeconds = 300;

/** Errors that may pass (https://docs.slack.dev/reference/methods/chat.postMessage#errors). */
const passingErrors = [
  ...["ratelimited", "rate_limited", "internal_error", "fatal_error"],
  ...["service_unavailable", "request_timeout", "team_added_to_org"],
];

/** Errors of the token, which only the operator can mend. */
const tokenErrors = [
  ...["invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired"],
  ...["missing_scope", "no_permission", "not_allowed_token_type", "ekm_access_denied"],
];

const answerSchema = v.object({
  ok: v.boolean(),
  ts: v.optional(v.string()),
  error: v.optional(v.string()),
  needed: v.optional(v.string()),
});

/** Slack, by the Events API and a bot's token (https://docs.slack.dev/apis/events-api). */
export function createSlack({ now = Date.now }: { now?: () => number } = {}): Channel {
  return {
    name: "slack",
    maxText: 40_000,
    requiredSecrets: ["botToken", "signingSecret"],
    requiredSettings: [],
    encode: encodeSlackText,
    async receive(request, account) {
      if (request.method !== "POST") return refused(405, "only POST");
      if (!isSlackSigned(request, account.secrets.signingSecret, now()))
        return refused(401, "wrong signature or timestamp");
      const call = parseSlackCall(request.body);
      if (!call) return refused(400, "not a call of the Events API");
      if (call.kind === "verification") {
        const body = JSON.stringify({ challenge: call.challenge });
        return { status: "answered", httpStatus: 200, body };
      }
      const message = call.kind === "event" ? readSlackMessage(call.event) : undefined;
      return { status: "messages", messages: message ? [message] : [] };
    },
    send,
    // The Events API has nothing to show that an answer is being written.
    async typing() {},
  };
}

/**
 * Whether Slack signed a request lately (https://docs.slack.dev/authentication/verifying-requests-from-slack).
 * @param now epoch ms
 */
export function isSlackSigned(
  { headers, body }: Pick<WebhookRequest, "headers" | "body">,
  signingSecret: string | undefined,
  now: number,
): boolean {
  const timestamp = headers["x-slack-request-timestamp"] ?? "";
  const isRecent = Math.abs(now / 1000 - Number(timestamp)) <= maxSkewSeconds;
  if (!signingSecret || !/^\d{1,15}$/.test(timestamp) || !isRecent) return false;
  const signature = `v0=${hmacSha256(signingSecret, `v0:${timestamp}:`, body)}`;
  return isSameSecret(headers["x-slack-signature"], signature);
}

async function send(account: ChannelAccount, { peer, text, context }: OutboundMessage): Promise<SendOutcome> {
  const token = account.secrets.botToken;
  const called = await callPlatform(`${baseUrlOf(account, "https://slack.com")}/api/chat.postMessage`, {
    headers: { authorization: `Bearer ${token}` },
    // Previews would have Slack fetch whatever address an answer holds.
    body: { ...addressOf(peer, context), text, unfurl_links: false, unfurl_media: false },
  });
  if (!called.answered) return failedSend(true, called.reason);
  const { status, headers, body } = called;
  const parsed = v.safeParse(answerSchema, body);
  const answer = parsed.success ? parsed.output : undefined;
  if (status === 200 && answer?.ok) return { status: "sent", messageId: answer.ts };
  const error = answer?.error ?? "without a reason";
  const isToken = tokenErrors.includes(error);
  const reason = isToken ? `authentication failed: ${error}` : `${status} ${error}`;
  const needed = answer?.needed ? ` (needed: ${answer.needed})` : "";
  return failedSend(
    isPassing(status) || passingErrors.includes(error),
    plainReason(reason + needed, token),
    retryAfterOf(headers),
  );
}

function addressOf({ id }: Peer, context: Destination["context"]) {
  const [channel, thread = context?.threadTs] = id.split("/");
  return { channel, ...(thread === undefined ? {} : { thread_ts: thread }) };
}
