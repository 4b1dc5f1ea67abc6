import * as v from "valibot";
import { callPlatform, failedSend, fileOf, isPassing } from "../../http/platform-call.ts";
import {
  type ChannelAccount,
  type OutboundFile,
  type SendOutcome,
  sendFileTimeoutMs,
  sendTimeoutMs,
} from "../channel.ts";
import { callSlack } from "./slack-api.ts";

const uploadSchema = v.object({ upload_url: v.string(), file_id: v.string() });

/**
 * Uploads a file and shares it, in three calls
 * (https://docs.slack.dev/messaging/working-with-files#uploading_files). A file that is uploaded but not
 * shared stays invisible.
 * @param address the channel and optional thread
 */
export async function shareFile(
  account: ChannelAccount,
  { channel, thread_ts }: { channel?: string; thread_ts?: string },
  file: OutboundFile,
): Promise<SendOutcome> {
  const query = { filename: file.filename, length: String(file.body.byteLength) };
  const asked = await callSlack(account, "files.getUploadURLExternal", { query });
  if (!asked.ok) return asked.failure;
  const upload = v.safeParse(uploadSchema, asked.body);
  if (!upload.success) return failedSend(false, "Slack names no address for the file");
  const { upload_url, file_id } = upload.output;
  const form = new FormData();
  form.append("file", fileOf(file));
  const uploaded = await callPlatform(upload_url, { form, timeoutMs: sendFileTimeoutMs - 2 * sendTimeoutMs });
  if (!uploaded.answered) return failedSend(true, uploaded.reason);
  if (uploaded.status !== 200)
    return failedSend(isPassing(uploaded.status), `the upload was answered with ${uploaded.status}`);
  const files = [{ id: file_id, title: file.filename }];
  const body = { files, channel_id: channel, ...(thread_ts === undefined ? {} : { thread_ts }) };
  const shared = await callSlack(account, "files.completeUploadExternal", { body });
  return shared.ok ? { status: "sent", messageId: file_id } : shared.failure;
}
