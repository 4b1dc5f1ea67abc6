import * as v from "valibot";
import { callPlatform, failedSend, fileOf, isPassing } from "../../http/platform-call.ts";
import type { Peer, Registration } from "../../protocol/channel-accounts.ts";
import type { Mark } from "../../protocol/events.ts";
import { accountFields } from "../account.ts";
import {
  type AccountCheck,
  type AccountSetup,
  type Buttons,
  type Channel,
  type ChannelAccount,
  type Destination,
  type MediaLocation,
  type OutboundFile,
  type OutboundMessage,
  refused,
  type SendOutcome,
  sendFileTimeoutMs,
  sendTimeoutMs,
  type WebhookRequest,
} from "../channel.ts";
import { hmacSha256, isRecent, isSameSecret } from "../signature.ts";
import { interactionIn, readSlackPress } from "./slack-action.ts";
import { callSlack, slackHeaders, slackOrigin } from "./slack-api.ts";
import { parseSlackCall, readSlackMessage, readSlackReaction } from "./slack-event.ts";
import { encodeSlackText } from "./slack-text.ts";

/** Slack, by the Events API and a bot's token (https://docs.slack.dev/apis/events-api). */
export function createSlack({ now = Date.now }: { now?: () => number } = {}): Channel {
  return {
    name: "slack",
    // Slack accepts 40,000 characters, but divides a text of more than 4,000.
    maxText: 4000,
    format: async () => (await import("./slack-format.ts")).slackFormat,
    ...slackAccount,
    encode: encodeSlackText,
    async receive(request, account) {
      if (request.method !== "POST") return refused(405, "only POST");
      if (!isSlackSigned(request, account.secrets.signingSecret, now()))
        return refused(401, "wrong signature or timestamp");
      const interaction = interactionIn(request.body);
      if (interaction !== undefined) {
        const press = readSlackPress(interaction);
        return { status: "messages", messages: [], presses: press ? [press] : [] };
      }
      const call = parseSlackCall(request.body);
      if (!call) return refused(400, "not a call of the Events API");
      if (call.kind === "verification") {
        const body = JSON.stringify({ challenge: call.challenge });
        return { status: "answered", httpStatus: 200, body };
      }
      const message = call.kind === "event" ? readSlackMessage(call.event) : undefined;
      const reaction = call.kind === "event" ? readSlackReaction(call.event) : undefined;
      return {
        status: "messages",
        messages: message ? [message] : [],
        ...(reaction ? { reactions: [reaction] } : {}),
      };
    },
    send,
    buttons: slackButtons,
    sendFile: (account, { peer, context, file }) => shareFile(account, addressOf(peer, context), file),
    typing: showStatus,
    async mark(account, { peer, messageId: timestamp }, mark) {
      const { channel } = addressOf(peer, undefined);
      await callSlack(account, "reactions.add", { body: { channel, timestamp, name: marks[mark] } });
      if (mark === "accepted") return;
      // Also the mark of an earlier run: the message may have been edited since.
      const others = Object.values(marks).filter((name) => name !== marks[mark]);
      const remove = (name: string) =>
        callSlack(account, "reactions.remove", { body: { channel, timestamp, name } });
      await Promise.all(others.map(remove));
    },
    locate,
  };
}

const marks: Record<Mark, string> = { accepted: "eyes", answered: "white_check_mark", failed: "x" };

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

async function send(
  account: ChannelAccount,
  { formatting, ...message }: OutboundMessage,
): Promise<SendOutcome> {
  const outcome = await post(account, message, formatting);
  const isRefused = formatting && outcome.status === "failed" && outcome.reason.includes("blocks");
  return isRefused ? post(account, message) : outcome;
}

async function post(
  account: ChannelAccount,
  { peer, text, context }: OutboundMessage,
  content: object = {},
): Promise<SendOutcome> {
  // No previews: Slack would fetch every URL in an answer.
  const body = { ...addressOf(peer, context), text, ...content, unfurl_links: false, unfurl_media: false };
  const answer = await callSlack(account, "chat.postMessage", { body });
  if (!answer.ok) return answer.failure;
  const posted = v.safeParse(v.object({ ts: v.string() }), answer.body);
  return { status: "sent", ...(posted.success ? { messageId: posted.output.ts } : {}) };
}

/** Buttons below a section of text (https://docs.slack.dev/reference/block-kit/blocks/actions-block). */
const slackButtons: Buttons = {
  maxText: 3000,
  maxChoices: 4,
  fence: "```",
  ask(account, { choices, ...message }) {
    const elements = choices.map(({ label, data }, index) => ({
      type: "button",
      action_id: `choice-${index}`,
      text: { type: "plain_text", text: label },
      value: data,
    }));
    return post(account, message, { blocks: [section(message.text), { type: "actions", elements }] });
  },
  async close(account, { peer, messageId }, text) {
    const body = {
      channel: addressOf(peer, undefined).channel,
      ts: messageId,
      text,
      blocks: [section(text)],
    };
    const answer = await callSlack(account, "chat.update", { body });
    return answer.ok ? { status: "sent", messageId } : answer.failure;
  },
  async respond(account, { peer, sender }, { text, isClosed }) {
    if (isClosed) return;
    const body = {
      channel: addressOf(peer, undefined).channel,
      user: sender.id,
      text: encodeSlackText(text),
    };
    await callSlack(account, "chat.postEphemeral", { body });
  },
};

/** `verbatim`: no address, name or mention becomes a link. */
function section(text: string) {
  return { type: "section", text: { type: "mrkdwn", text, verbatim: true } };
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
  if (!found.success) return failedSend(false, "Slack returned no file URL");
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

/**
 * Shows a status in a thread for up to two minutes or until an answer
 * (https://docs.slack.dev/reference/methods/assistant.threads.setStatus). Outside of threads Slack can show none.
 */
async function showStatus(account: ChannelAccount, { peer, context }: Destination): Promise<void> {
  const { channel: channel_id, thread_ts } = addressOf(peer, context);
  if (thread_ts === undefined) return;
  await callSlack(account, "assistant.threads.setStatus", {
    body: { channel_id, thread_ts, status: "is typing…" },
  });
}

const uploadSchema = v.object({ upload_url: v.string(), file_id: v.string() });

/**
 * Uploads a file and shares it, in three calls
 * (https://docs.slack.dev/messaging/working-with-files#uploading_files). A file that is uploaded but not
 * shared stays invisible.
 * @param address the channel and optional thread
 */
async function shareFile(
  account: ChannelAccount,
  { channel, thread_ts }: { channel?: string; thread_ts?: string },
  file: OutboundFile,
): Promise<SendOutcome> {
  const query = { filename: file.filename, length: String(file.body.byteLength) };
  const asked = await callSlack(account, "files.getUploadURLExternal", { query });
  if (!asked.ok) return asked.failure;
  const upload = v.safeParse(uploadSchema, asked.body);
  if (!upload.success) return failedSend(false, "Slack returned no upload URL");
  const { upload_url, file_id } = upload.output;
  const form = new FormData();
  form.append("file", fileOf(file));
  const uploaded = await callPlatform(upload_url, { form, timeoutMs: sendFileTimeoutMs - 2 * sendTimeoutMs });
  if (!uploaded.answered) return failedSend(true, uploaded.reason);
  if (uploaded.status !== 200)
    return failedSend(isPassing(uploaded.status), `the upload failed with status ${uploaded.status}`);
  const files = [{ id: file_id, title: file.filename }];
  const body = { files, channel_id: channel, ...(thread_ts === undefined ? {} : { thread_ts }) };
  const shared = await callSlack(account, "files.completeUploadExternal", { body });
  return shared.ok ? { status: "sent", messageId: file_id } : shared.failure;
}

const fields = accountFields([
  { name: "botToken", about: "bot token, xoxb-… (OAuth & Permissions)" },
  { name: "signingSecret", about: "signing secret (Basic Information)" },
]);

const known = v.object({ user: v.string(), team: v.string() });

/** Setup of Slack accounts: the operator registers the webhook, because Slack has no API for it. */
const slackAccount: AccountSetup = { fields, check, register };

async function check(account: ChannelAccount): Promise<AccountCheck> {
  const answer = await callSlack(account, "auth.test", { body: {} });
  if (!answer.ok) return { ok: false, reason: answer.failure.reason };
  const found = v.safeParse(known, answer.body);
  if (!found.success) return { ok: false, reason: "unexpected answer of Slack" };
  const { user, team } = found.output;
  return { ok: true, identity: `@${user} in ${team}` };
}

async function register(): Promise<Registration> {
  const todo =
    "Event Subscriptions → on: paste the URL, subscribe to message.im and app_mention, and save. Interactivity → on: paste it there, too";
  return { status: "manual", todo };
}
