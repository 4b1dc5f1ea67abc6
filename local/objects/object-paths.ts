/**
 * Object keys as file paths, and back.
 *
 * Each segment of a key becomes one folder and the last becomes the file, under its own name where that is possible, so that
 * a person finds `agents/main/SOUL.md` where they look for it. What a file system cannot hold is marked with `%`, which
 * never stands for itself:
 *
 *   %25        one byte that may not be in a name: `%`, `\`, a control character, the dots of `.` and `..`
 *   name%      a file whose name has no dot
 *   name%%     a folder whose name has a dot, or has no characters
 *   piece%+    a folder that holds the rest of a segment too long for one name
 *
 * So a plain name with a dot is always a file and a plain name without one always a folder: the keys `a` and `a/b`, or
 * `a/` and `a//b`, never want the same path. No name is `..`, is empty or holds a separator, so no path leaves its root.
 */

/** Longest encoded name before its marks, in bytes. File systems allow 255. */
const maximumNameBytes = 200;

/** Path of the file for `key`, relative to its bucket. Reversible with {@link decodeFolder} and {@link decodeFile}. */
export function encodeKey(key: string): string {
  const segments = key.split("/");
  return segments
    .flatMap((segment, index) => encodeSegment(segment, index === segments.length - 1))
    .join("/");
}

/** The part of a key that a folder called `name` adds, its slash included where the segment ends there. */
export function decodeFolder(name: string): string {
  if (name.endsWith("%+")) return decodeText(name.slice(0, -2));
  return `${decodeText(name.endsWith("%%") ? name.slice(0, -2) : name)}/`;
}

/** The last segment of the key (or of its last piece) that is kept in a file called `name`. */
export function decodeFile(name: string): string {
  return decodeText(name.endsWith("%") ? name.slice(0, -1) : name);
}

function encodeSegment(segment: string, isFile: boolean): string[] {
  const pieces = splitPieces(segment);
  return pieces.map((text, index) => {
    if (index < pieces.length - 1) return `${text}%+`;
    const hasDot = text.includes(".");
    if (isFile) return hasDot ? text : `${text}%`;
    return hasDot || text === "" ? `${text}%%` : text;
  });
}

function splitPieces(segment: string): string[] {
  if (segment === "." || segment === "..") return [segment.replaceAll(".", "%2E")];
  const pieces: string[] = [];
  let piece = "";
  let bytes = 0;
  for (const character of segment) {
    const encoded = encodeCharacter(character);
    const added = Buffer.byteLength(encoded);
    if (bytes + added > maximumNameBytes) {
      pieces.push(piece);
      piece = "";
      bytes = 0;
    }
    piece += encoded;
    bytes += added;
  }
  return [...pieces, piece === "." || piece === ".." ? piece.replaceAll(".", "%2E") : piece];
}

function encodeCharacter(character: string): string {
  const code = character.charCodeAt(0);
  if (code >= 0x20 && code !== 0x7f && character !== "%" && character !== "\\") return character;
  return `%${code.toString(16).toUpperCase().padStart(2, "0")}`;
}

function decodeText(text: string): string {
  return text.replace(/%([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
