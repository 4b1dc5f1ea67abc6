import * as v from "valibot";
import { failedSend, fileOf } from "../../http/platform-call.ts";
import { ownValue } from "../account.ts";
import type { ChannelAccount, OutboundFile, PlatformFailure } from "../channel.ts";
import { callGraph, phoneNumberOf } from "./whatsapp-api.ts";

/**
 * Accepted MIME types and the message type for each
 * (https://developers.facebook.com/documentation/business-messaging/whatsapp/business-phone-numbers/media#supported-media-types).
 */
const kinds: Record<string, string> = {
  "image/jpeg": "image",
  "image/png": "image",
  "audio/aac": "audio",
  "audio/amr": "audio",
  "audio/mp4": "audio",
  "audio/mpeg": "audio",
  "audio/ogg": "audio",
  "video/3gpp": "video",
  "video/mp4": "video",
  "application/msword": "document",
  "application/pdf": "document",
  "application/vnd.ms-excel": "document",
  "application/vnd.ms-powerpoint": "document",
  "application/vnd.openxmlformats-officedocument.presentationml.presentation": "document",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "document",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "document",
  "text/plain": "document",
};

/** The message content for an uploaded file. */
export type UploadedFile = { ok: true; content: object } | { ok: false; failure: PlatformFailure };

/** Uploads a file, which WhatsApp keeps for 30 days. */
export async function uploadFile(
  account: ChannelAccount,
  file: OutboundFile,
  timeoutMs: number,
): Promise<UploadedFile> {
  const type = ownValue(kinds, file.mimeType);
  if (!type) return failed(`WhatsApp takes no files of the type ${file.mimeType}`);
  const form = new FormData();
  form.append("messaging_product", "whatsapp");
  form.append("type", file.mimeType);
  form.append("file", fileOf(file));
  const answer = await callGraph(account, `${phoneNumberOf(account)}/media`, { form, timeoutMs });
  if (!answer.ok) return answer;
  const uploaded = v.safeParse(v.object({ id: v.string() }), answer.body);
  if (!uploaded.success) return failed("WhatsApp names no file");
  const named = type === "document" ? { filename: file.filename } : {};
  return { ok: true, content: { type, [type]: { id: uploaded.output.id, ...named } } };
}

function failed(reason: string): UploadedFile {
  return { ok: false, failure: failedSend(false, reason) };
}
