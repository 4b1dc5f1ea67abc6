import { readFile, stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { imageTypeOf, type ShownImageType, shownImageTypes } from "../../shared/media/image-format.ts";
import { maxMediaBytes } from "../../shared/media/media-store.ts";
import { usage } from "../app/failure.ts";
import type { Gateway } from "../gateway/gateway-client.ts";

/** Images up to this many bytes go into the request, those above are uploaded. */
const mostInline = 32 * 1024;

/** An image that goes with a message. */
export interface ImageFile {
  filename: string;
  mimeType: ShownImageType;
  bytes: Uint8Array;
}

/**
 * Reads an image file; its bytes tell what it is. Throws a usage Failure for what is no image that a model is shown, and
 * above 25 MB.
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
  throw usage(`${path} is no image that a model can be shown: ${types.join(", ")}`);
}

function megabytes(bytes: number): string {
  return (Math.ceil((bytes / 1024 / 1024) * 10) / 10).toString();
}

/** The images as `chat.send` takes them: large ones are uploaded. @throws RequestError */
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
