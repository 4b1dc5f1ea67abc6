import { createHash } from "node:crypto";
import { download, type PlatformCall, type PlatformReply, type SharedFile } from "../platform-server.ts";

/** Media that users sent to the business's number, by id. */
export type WhatsappMedia = Map<string, SharedFile>;

const mediaPath = /^\/v\d+\.\d+\/(\d+)$/;
const downloadPath = "/whatsapp_business/attachments/";

/** Answers a lookup of an id, and the download that follows. Undefined for any other call. */
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

/** Files that the business uploaded, by id. */
export type WhatsappUploads = Map<string, File>;

const images = ["image/jpeg", "image/png"];
const sounds = ["audio/aac", "audio/amr", "audio/mp4", "audio/mpeg", "audio/ogg"];
const films = ["video/3gpp", "video/mp4"];
const documents = /^(text\/plain|application\/(pdf|msword|vnd\.(ms-|openxmlformats-).+))$/;
const megabyte = 1024 * 1024;

/** Handles an upload. */
export function upload({ form }: PlatformCall, uploads: WhatsappUploads): PlatformReply {
  const file = form?.get("file");
  const type = form?.get("type");
  if (form?.get("messaging_product") !== "whatsapp")
    return graphFault(100, "(#100) The parameter messaging_product is required.");
  if (!(file instanceof File) || typeof type !== "string")
    return graphFault(100, "(#100) The parameter file is required.");
  const most = images.includes(type) ? 5 : [...sounds, ...films].includes(type) ? 16 : 100;
  const isKnown = [...images, ...sounds, ...films].includes(type) || documents.test(type);
  if (!isKnown || file.type !== type)
    return graphFault(100, `Param file must be a file with one of the types`);
  if (file.size > most * megabyte) return graphFault(131053, "Media upload error");
  const id = String(4_490_709_327_384_000 + uploads.size);
  uploads.set(id, file);
  return { status: 200, body: { id } };
}

/** The uploaded file of a message; undefined for another kind of message, or a wrong file. */
export function shownFile(body: Record<string, unknown>, uploads: WhatsappUploads): File | undefined {
  const type = String(body.type);
  const of = body[type] as { id?: unknown; filename?: unknown } | undefined;
  const file = uploads.get(String(of?.id));
  if (!file || (type !== "document" && of?.filename !== undefined)) return undefined;
  const takes: Record<string, (mime: string) => boolean> = {
    image: (mime) => images.includes(mime),
    audio: (mime) => sounds.includes(mime),
    video: (mime) => films.includes(mime),
    document: (mime) => documents.test(mime),
  };
  return takes[type]?.(file.type) ? file : undefined;
}

function graphFault(code: number, message: string): PlatformReply {
  return { status: 400, body: { error: { message, type: "OAuthException", code, fbtrace_id: "A" } } };
}

/** The part of a message that refers to a file. */
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
