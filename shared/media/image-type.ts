/** Images that every model with eyes takes. */
export const shownImageTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"] as const;

export type ShownImageType = (typeof shownImageTypes)[number];

/** The MIME type of an image a model can be shown, told by its first 12 bytes; undefined for anything else. */
export function imageTypeOf(bytes: Uint8Array): ShownImageType | undefined {
  const ascii = (start: number, end: number) => String.fromCharCode(...bytes.subarray(start, end));
  if (ascii(0, 8) === "\x89PNG\r\n\x1a\n") return "image/png";
  if (ascii(0, 3) === "\xff\xd8\xff") return "image/jpeg";
  if (ascii(0, 6) === "GIF87a" || ascii(0, 6) === "GIF89a") return "image/gif";
  if (ascii(0, 4) === "RIFF" && ascii(8, 12) === "WEBP") return "image/webp";
  return undefined;
}
