import { open, readFile, stat } from "node:fs/promises";
import { basename, extname, resolve } from "node:path";
import { imageTypeOf, shownImageTypes } from "../../shared/media/image-format.ts";
import { maxMediaBytes } from "../../shared/media/media-store.ts";
import { sizeText } from "../../shared/runtime/size-text.ts";
import { usage } from "../app/failure.ts";
import type { Gateway } from "../gateway/gateway-client.ts";

/** Files up to this many bytes are sent inside the request; larger ones are uploaded. */
const maxInline = 32 * 1024;

/** A file attached to a message. */
export interface AttachedFile {
  type: "image" | "document";
  filename: string;
  mimeType: string;
  bytes: Uint8Array;
}

/** MIME types of supported documents, by file name extension. */
const documentTypes: Record<string, string> = {
  ".pdf": "application/pdf",
  ".doc": "application/msword",
  ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  ".odt": "application/vnd.oasis.opendocument.text",
  ".epub": "application/epub+zip",
};

/** Number of bytes at the start of a file that identify an image format. */
const headBytes = 64;

/**
 * Reads an image file. `mimeType` is detected from its bytes. `path` is relative to `folder`, or absolute.
 * @throws Failure (usage) for an unsupported image format and above 25 MB
 */
export async function readImage(path: string, folder: string): Promise<AttachedFile> {
  const file = resolve(folder, path);
  const bytes = await readUpToLimit(file, path);
  const mimeType = imageTypeOf(bytes);
  if (mimeType) return { type: "image", filename: basename(file), mimeType, bytes };
  const types = shownImageTypes.map((type) => type.replace("image/", "").toUpperCase());
  throw usage(`${path} is not an image in a supported format: ${types.join(", ")}`);
}

/**
 * Reads an image, detected by its bytes, or a document, detected by its file name. Undefined for any other file. Error
 * messages call the file `name`.
 * @throws Failure (usage) above 25 MB
 */
export async function readAttachment(file: string, name: string): Promise<AttachedFile | undefined> {
  const documentType = documentTypes[extname(file).toLowerCase()];
  const mimeType = documentType ?? imageTypeOf(await headOf(file));
  if (mimeType === undefined) return undefined;
  const bytes = await readUpToLimit(file, name);
  return { type: documentType ? "document" : "image", filename: basename(file), mimeType, bytes };
}

async function headOf(file: string): Promise<Uint8Array> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

async function readUpToLimit(file: string, name: string): Promise<Uint8Array> {
  const { size } = await stat(file);
  if (size > maxMediaBytes)
    throw usage(`${name} has ${sizeText(size)}; the limit for attachments is ${sizeText(maxMediaBytes)}`);
  return readFile(file);
}

/**
 * Converts files to the `media` param of `chat.send`; uploads large ones. Undefined for none.
 * @throws RequestError
 */
export async function attachmentsOf(gateway: Gateway, files: readonly AttachedFile[]) {
  const attachments = files.map(async ({ bytes, ...file }) => {
    const data =
      bytes.byteLength <= maxInline
        ? { data: Buffer.from(bytes).toString("base64") }
        : { dataRef: await gateway.upload(bytes) };
    return { ...file, ...data };
  });
  return attachments.length === 0 ? undefined : Promise.all(attachments);
}
