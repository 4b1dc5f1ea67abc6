/** What the model answers when there is nothing to tell. */
const token = "HEARTBEAT_OK";

/** An answer with the token says nothing when the rest of it is not longer than this, in characters. */
const mostBeside = 300;

/** What may stand around the token: white space, marks of emphasis, and behind it the end of a sentence. */
const before = "[\\s*~`\"']*";
const behind = "[\\s*~`\"'.!]*";
const atStart = new RegExp(`^${before}${token}(?![\\p{L}\\p{N}_])${behind}`, "u");
const atEnd = new RegExp(`(?<![\\p{L}\\p{N}_])${before}${token}${behind}$`, "u");

/** The token at the end is looked for in so many characters: the pattern takes long in a long text. */
const endLength = 100;

/**
 * What is to be delivered of a heartbeat's answer; undefined for an answer that says there is nothing to tell:
 * `HEARTBEAT_OK` at its beginning or end, and at most 300 characters besides. A longer text is delivered
 * without the token, and a text without the token as it is.
 */
export function deliverableText(answer: string): string | undefined {
  const text = answer.trim();
  const rest = withoutEnd(text.replace(atStart, "")).trim();
  if (rest === text) return text;
  return [...rest].length > mostBeside ? rest : undefined;
}

function withoutEnd(text: string): string {
  return text.slice(0, -endLength) + text.slice(-endLength).replace(atEnd, "");
}
