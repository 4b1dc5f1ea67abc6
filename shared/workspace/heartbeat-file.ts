const comment = /<!--[\s\S]*?(?:-->|$)/g;
const header = /^ {0,3}#{1,6}(?:\s.*)?$/;
/** A line above `=` or `-` is a header, unless it begins a list, a quote or code. */
const underlinedHeader = /^ {0,3}(?!(?:[-*+]|\d{1,9}[.)])\s|>)\S.*\n {0,3}(?:=+|-+)[ \t]*$/gm;
const horizontalRule = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;

/**
 * Whether a HEARTBEAT.md has content besides white space, headers, HTML comments and horizontal rules
 * (docs/reference/storage-layout.md, "Loading Order").
 */
export function asksForHeartbeat(markdown: string): boolean {
  const text = markdown.replace(/\r\n?/g, "\n").replace(comment, "").replace(underlinedHeader, "");
  return text
    .split("\n")
    .some((line) => line.trim() !== "" && !header.test(line) && !horizontalRule.test(line));
}
