const units = ["bytes", "KB", "MB", "GB"];

/**
 * A number of bytes as text, with 1024 bytes per KB: `999 bytes`, `1.5 KB`, `100 MB`. Rounded up, so that a size above a
 * limit never looks equal to it.
 */
export function sizeText(bytes: number): string {
  const power = Math.min(3, Math.floor(Math.log2(Math.max(bytes, 1)) / 10));
  const amount = Math.ceil((bytes / 1024 ** power) * 10) / 10;
  return `${amount} ${bytes === 1 ? "byte" : units[power]}`;
}
