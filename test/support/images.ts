import { randomBytes } from "node:crypto";

/** The first bytes of each kind of image that models are shown. */
const signatures = {
  "image/png": Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
  "image/jpeg": Buffer.from("\xff\xd8\xff\xe0", "latin1"),
  "image/gif": Buffer.from("GIF89a", "latin1"),
  "image/webp": Buffer.from("RIFF\x10\x00\x00\x00WEBP", "latin1"),
};

/** Bytes that begin like an image of this type; the rest is random, so that no two are the same. */
export function imageBytes(type: keyof typeof signatures = "image/png", size = 64): Buffer {
  const start = signatures[type];
  return Buffer.concat([start, randomBytes(size - start.length)]);
}
