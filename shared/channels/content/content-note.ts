/** Maximum length of a note's detail, in UTF-16 units. */
const maxDetail = 1000;

/**
 * A note for the model about content other than text: `[photo]`, `[document: plan.pdf]`. Brackets in the
 * detail are replaced, so that it cannot end the note.
 * @param maxLength maximum length of the detail, in UTF-16 units
 */
export function contentNote(label: string, detail?: string, maxLength = maxDetail): string {
  const plain = onOneLine(detail, maxLength);
  const name = onOneLine(label, maxDetail) || "content";
  return plain ? `[${name}: ${plain}]` : `[${name}]`;
}

function onOneLine(text: string | undefined, maxLength: number): string {
  const plain = text?.replace(/[[\]\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ").trim() ?? "";
  return plain.slice(0, maxLength).toWellFormed();
}

/** Everything that a reader may show as a line break. */
const lineBreak = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/;

/** Marks each line of a text that is not in the sender's own words. No such text can end its own mark. */
export function quotedLines(text: string): string {
  return text
    .split(lineBreak)
    .map((line) => `> ${line}`)
    .join("\n");
}
