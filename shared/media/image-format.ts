/** Image types that every model with vision accepts. */
export const shownImageTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"] as const;

export type ShownImageType = (typeof shownImageTypes)[number];

/**
 * The MIME type of an image that models accept, detected from its first 12 bytes; undefined for anything
 * else.
 */
export function imageTypeOf(bytes: Uint8Array): ShownImageType | undefined {
  const ascii = (start: number, end: number) => String.fromCharCode(...bytes.subarray(start, end));
  if (ascii(0, 8) === "\x89PNG\r\n\x1a\n") return "image/png";
  if (ascii(0, 3) === "\xff\xd8\xff") return "image/jpeg";
  if (ascii(0, 6) === "GIF87a" || ascii(0, 6) === "GIF89a") return "image/gif";
  if (ascii(0, 4) === "RIFF" && ascii(8, 12) === "WEBP") return "image/webp";
  return undefined;
}

/** Maximum width and height that every provider accepts, in pixels. */
const maxShownSide = 8000;

/** Whether every provider accepts an image's width and height. True when the bytes do not contain them. */
export function isShownSize(bytes: Uint8Array, type: ShownImageType): boolean {
  return sidesOf[type](bytes).every((side) => side <= maxShownSide);
}

/** Width and height in pixels from the first header; 0 when it is cut off or missing. */
const sidesOf: Record<ShownImageType, (bytes: Uint8Array) => [number, number]> = {
  "image/png": (bytes) => (text(bytes, 12) === "IHDR" ? [big(bytes, 16, 4), big(bytes, 20, 4)] : [0, 0]),
  "image/gif": (bytes) => [little(bytes, 6, 2), little(bytes, 8, 2)],
  "image/webp": webpSides,
  "image/jpeg": jpegSides,
};

/** A WebP file's first chunk has one of three kinds: lossy, lossless, extended. */
function webpSides(bytes: Uint8Array): [number, number] {
  const side = 0x3fff;
  switch (text(bytes, 12)) {
    case "VP8 ":
      return [little(bytes, 26, 2) & side, little(bytes, 28, 2) & side];
    case "VP8L": {
      const sides = little(bytes, 21, 4);
      return [(sides & side) + 1, ((sides >> 14) & side) + 1];
    }
    case "VP8X":
      return [little(bytes, 24, 3) + 1, little(bytes, 27, 3) + 1];
    default:
      return [0, 0];
  }
}

/** Follows the markers to the frame header (SOF0 to SOF15). Stops where compressed data starts. */
function jpegSides(bytes: Uint8Array): [number, number] {
  for (let at = 2; at < bytes.length; ) {
    const marker = bytes[at + 1] ?? 0;
    if (bytes[at] !== 0xff || marker === 0xff) at += 1;
    else if (marker === 0xda || marker === 0xd9) break;
    else if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      return [big(bytes, at + 7, 2), big(bytes, at + 5, 2)];
    else at += marker <= 0x01 || (marker >= 0xd0 && marker <= 0xd8) ? 2 : 2 + big(bytes, at + 2, 2);
  }
  return [0, 0];
}

function text(bytes: Uint8Array, at: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + 4));
}

function big(bytes: Uint8Array, at: number, length: number): number {
  return bytes.subarray(at, at + length).reduce((number, byte) => number * 256 + byte, 0);
}

function little(bytes: Uint8Array, at: number, length: number): number {
  return bytes.subarray(at, at + length).reduceRight((number, byte) => number * 256 + byte, 0);
}
