import { createHash } from "node:crypto";
import { download, type PlatformCall, type PlatformReply, type SharedFile } from "./platform-server.ts";

/** Media that the business's number was sent, by its id. */
export type WhatsappMedia = Map<string, SharedFile>;

const mediaPath = /^\/v\d+\.\d+\/(\d+)$/;
const downloadPath = "/whatsapp_business/attachments/";

/** What an id stands for, and the download that this leads to. Undefined for any other call. */
export function answerMedia(
  call: PlatformCall,
  media: WhatsappMedia,
  number: string,
): PlatformReply | undefined {
  if (call.method !== "GET") return undefined;
  if (call.path === downloadPath) {
    const file = media.get(String(call.query.mid));
    return file ? download(file) : { status: 404, body: "" };
  }
  const [, id = ""] = mediaPath.exec(call.path) ?? [];
  const file = media.get(id);
  if (!file || (call.query.phone_number_id ?? number) !== number) return undefined;
  const sha256 = createHash("sha256").update(file.bytes).digest("hex");
  const url = `http://${call.headers.host}${downloadPath}?mid=${id}&ext=1780000300&hash=${sha256.slice(0, 20)}`;
  const described = { url, mime_type: file.type, sha256, file_size: file.bytes.length, id };
  return { status: 200, body: { messaging_product: "whatsapp", ...described } };
}

/** How a message brings a file. */
export function whatsappFile(
  id: string,
  { name, type, voice }: SharedFile,
  caption: string,
): Record<string, unknown> {
  const [kind = ""] = type.split("/");
  const field = ["image", "audio", "video"].includes(kind) ? kind : "document";
  const of = {
    ...(field === "document" ? { filename: name } : {}),
    ...(field === "audio" ? { voice: voice === true } : {}),
    ...(caption ? { caption } : {}),
  };
  return { type: field, [field]: { id, mime_type: type, sha256: "c2hhMjU2", ...of } };
}
