/** The MIME type of an image a model can be shown, told by its first bytes; undefined for anything else. */
export function imageType(sample: Buffer): string | undefined {
  const ascii = (start: number, end: number): string => sample.toString("latin1", start, end);
  if (ascii(0, 8) === "\x89PNG\r\n\x1a\n") return "image/png";
  if (ascii(0, 3) === "\xff\xd8\xff") return "image/jpeg";
  if (ascii(0, 6) === "GIF87a" || ascii(0, 6) === "GIF89a") return "image/gif";
  if (ascii(0, 4) === "RIFF" && ascii(8, 12) === "WEBP") return "image/webp";
  return undefined;
}
