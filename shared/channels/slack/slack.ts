import * as v from "valibot";
import { failedSend } from "../../http/platform-call.ts";
import type { Peer } from "../../protocol/channel-accounts.ts";
import {
  type Channel,
  type ChannelAccount,
  type Destination,
  type MediaLocation,
  type OutboundMessage,
  refused,
  type SendOutcome,
  type WebhookRequest,
} from "../channel.ts";
import { hmacSha256, isRecent, isSameSecret } from "../signature.ts";
import { slackAccount } from "./slack-account.ts";
import { callSlack, slackHeaders, slackOrigin } from "./slack-api.ts";
import { parseSlackCall, readSlackMessage } from "./slack-event.ts";
import { shareFile } from "./slack-file.ts";
import { encodeSlackText } from "./slack-text.ts";

/** Slack, by the Events API and a bot's token (https://docs.slack.dev/apis/events-api). */
export function createSlack({ now = Date.now }: { now?: () => number } = {}): Channel {
  return {
    name: "slack",
    maxText: 40_000,
    ...slackAccount,
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
    sendFile: (account, { peer, context, file }) => shareFile(account, addressOf(peer, context), file),
    // The Events API has no typing indicator.
    async typing() {},
    locate,
  };
}

/**
 * Whether Slack signed a request within the last minutes
 * (https://docs.slack.dev/authentication/verifying-requests-from-slack).
 * @param now epoch ms
 */
export function isSlackSigned(
  { headers, body }: Pick<WebhookRequest, "headers" | "body">,
  signingSecret: string | undefined,
  now: number,
): boolean {
  const timestamp = headers["x-slack-request-timestamp"] ?? "";
  if (!signingSecret || !isRecent(timestamp, now)) return false;
  const signature = `v0=${hmacSha256(signingSecret, `v0:${timestamp}:`, body)}`;
  return isSameSecret(headers["x-slack-signature"], signature);
}

async function send(account: ChannelAccount, { peer, text, context }: OutboundMessage): Promise<SendOutcome> {
  // No previews: Slack would fetch every URL in an answer.
  const body = { ...addressOf(peer, context), text, unfurl_links: false, unfurl_media: false };
  const answer = await callSlack(account, "chat.postMessage", { body });
  if (!answer.ok) return answer.failure;
  const posted = v.safeParse(v.object({ ts: v.string() }), answer.body);
  return { status: "sent", ...(posted.success ? { messageId: posted.output.ts } : {}) };
}

/** Files hosted by Slack need the bot's token, which must not be sent to other servers. */
async function locate(
  account: ChannelAccount,
  { url, fileId = "" }: Readonly<Record<string, string>>,
): Promise<MediaLocation> {
  if (url !== undefined) return { status: "found", url, headers: headersFor(account, url) };
  const answer = await callSlack(account, "files.info", { query: { file: fileId } });
  if (!answer.ok) return answer.failure;
  const found = v.safeParse(v.object({ file: v.object({ url_private: v.string() }) }), answer.body);
  if (!found.success) return failedSend(false, "Slack names no file");
  const { url_private } = found.output.file;
  return { status: "found", url: url_private, headers: headersFor(account, url_private) };
}

function headersFor(account: ChannelAccount, url: string): Record<string, string> {
  if (!URL.canParse(url)) return {};
  const { origin, protocol, hostname } = new URL(url);
  const isSlacks = protocol === "https:" && /(^|\.)slack(-gov)?\.com$/.test(hostname);
  return isSlacks || origin === new URL(slackOrigin(account)).origin ? slackHeaders(account) : {};
}

function addressOf({ id }: Peer, context: Destination["context"]) {
  const [channel, thread = context?.threadTs] = id.split("/");
  return { channel, ...(thread === undefined ? {} : { thread_ts: thread }) };
}
