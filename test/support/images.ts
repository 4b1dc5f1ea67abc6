import { randomBytes } from "node:crypto";
import type { ShownImageType } from "../../shared/media/image-format.ts";

/** The first bytes of each kind of image, up to its width and height. */
const headers: Record<ShownImageType, (width: number, height: number) => (string | number[])[]> = {
  "image/png": (width, height) => ["\x89PNG\r\n\x1a\n\0\0\0\rIHDR", big(width, 4), big(height, 4)],
  "image/jpeg": (width, height) => ["\xff\xd8\xff\xc0\0\x11\x08", big(height, 2), big(width, 2)],
  "image/gif": (width, height) => ["GIF89a", big(width, 2).reverse(), big(height, 2).reverse()],
  "image/webp": (width, height) => [
    "RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0",
    big(width - 1, 3).reverse(),
    big(height - 1, 3).reverse(),
  ],
};

/** Bytes that start like an image of this type and size. The rest is random, so every image is different. */
export function imageBytes(
  type: ShownImageType = "image/png",
  size = 64,
  [width, height]: readonly [number, number] = [640, 480],
): Buffer {
  const parts = headers[type](width, height);
  const start = Buffer.concat(
    parts.map((part) => (typeof part === "string" ? Buffer.from(part, "latin1") : Buffer.from(part))),
  );
  return Buffer.concat([start, randomBytes(size - start.length)]);
}

function big(number: number, length: number): number[] {
  return Array.from({ length }, (_, i) => Math.floor(number / 256 ** (length - 1 - i)) % 256);
}
