/** Longest detail that is shown, in UTF-16 units. */
const maxDetail = 100;

/**
 * What the model is told of content that is no text: `[photo]`, `[document: plan.pdf]`. Never looks like two notes.
 * @param longest the most that is shown of the detail, in UTF-16 units
 */
export function contentNote(label: string, detail?: string, longest = maxDetail): string {
  const plain = detail
    ?.replace(/[[\]\p{Cc}\s]+/gu, " ")
    .slice(0, longest)
    .toWellFormed();
  return plain ? `[${label}: ${plain}]` : `[${label}]`;
}

/** What was written and notes of what came with it, a line each. Undefined for nothing at all. */
export function withNotes(written: string | undefined, notes: readonly string[]): string | undefined {
  const lines = [...(written ? [written] : []), ...notes];
  return lines.length > 0 ? lines.join("\n") : undefined;
}

/** What a file of a MIME type is called in a note. */
export function kindOfFile(mimeType = ""): string {
  const [kind = ""] = mimeType.split("/");
  return ["image", "audio", "video"].includes(kind) ? kind : "document";
}
