import { readFile, stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { imageTypeOf, type ShownImageType, shownImageTypes } from "../../shared/media/image-format.ts";
import { maxMediaBytes } from "../../shared/media/media-store.ts";
import { usage } from "../app/failure.ts";
import type { Gateway } from "../gateway/gateway-client.ts";

/** Images up to this many bytes are sent inside the request; larger ones are uploaded. */
const mostInline = 32 * 1024;

/** An image attached to a message. */
export interface ImageFile {
  filename: string;
  mimeType: ShownImageType;
  bytes: Uint8Array;
}

/**
 * Reads an image file. `mimeType` is detected from its bytes. `path` is relative to `folder`, or absolute.
 * @throws Failure (usage) for an unsupported image format and above 25 MB
 */
export async function readImage(path: string, folder: string): Promise<ImageFile> {
  const file = resolve(folder, path);
  const { size } = await stat(file);
  if (size > maxMediaBytes)
    throw usage(
      `${path} has ${megabytes(size)} MB; an image may have ${megabytes(maxMediaBytes)} MB at most`,
    );
  const bytes = await readFile(file);
  const mimeType = imageTypeOf(bytes);
  if (mimeType) return { filename: basename(file), mimeType, bytes };
  const types = shownImageTypes.map((type) => type.replace("image/", "").toUpperCase());
  throw usage(`${path} is not an image in a supported format: ${types.join(", ")}`);
}

function megabytes(bytes: number): string {
  return (Math.ceil((bytes / 1024 / 1024) * 10) / 10).toString();
}

/**
 * Converts images to the `media` param of `chat.send`; uploads large ones. Undefined for none.
 * @throws RequestError
 */
export async function attachmentsOf(gateway: Gateway, images: readonly ImageFile[]) {
  const attachments = images.map(async ({ bytes, ...image }) => {
    const data =
      bytes.byteLength <= mostInline
        ? { data: Buffer.from(bytes).toString("base64") }
        : { dataRef: await gateway.upload(bytes) };
    return { type: "image" as const, ...image, ...data };
  });
  return attachments.length === 0 ? undefined : Promise.all(attachments);
}
