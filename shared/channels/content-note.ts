import { kindOfMedia } from "../media/media-types.ts";
import type { RemoteMedia } from "../session/inbox-entry.ts";

/** Maximum length of a note's detail, in UTF-16 units. */
const maxDetail = 100;

/**
 * A note for the model about content other than text: `[photo]`, `[document: plan.pdf]`. Brackets in the
 * detail are replaced, so that it cannot end the note.
 * @param maxLength maximum length of the detail, in UTF-16 units
 */
export function contentNote(label: string, detail?: string, maxLength = maxDetail): string {
  const plain = detail
    ?.replace(/[[\]\p{Cc}\s]+/gu, " ")
    .slice(0, maxLength)
    .toWellFormed();
  return plain ? `[${label}: ${plain}]` : `[${label}]`;
}

/** The content of a message, independent of the platform. */
export interface Content {
  /** The text, followed by notes about content that cannot be fetched. */
  text: string;
  attachments: RemoteMedia[];
}

/**
 * Undefined when there is no text, note or attachment. `lines` are the text and the notes; empty lines are
 * dropped.
 */
export function contentOf(
  lines: readonly (string | undefined)[],
  attachments: readonly RemoteMedia[] = [],
): Content | undefined {
  const text = lines.filter((line) => line).join("\n");
  return text === "" && attachments.length === 0 ? undefined : { text, attachments: [...attachments] };
}

/** The fields of a message that come from its content. */
export function contentFields({ text, attachments }: Content): { text: string; attachments?: RemoteMedia[] } {
  return { text, ...(attachments.length > 0 ? { attachments } : {}) };
}

/** An attachment from a platform's description of a file, without missing and null fields. */
export function remoteMedia(
  source: Record<string, string>,
  file: { [K in "mimeType" | "filename" | "size" | "duration" | "voice"]?: RemoteMedia[K] | null },
): RemoteMedia {
  const known = Object.entries(file).filter(([, value]) => value !== undefined && value !== null);
  return { type: kindOfMedia(file.mimeType ?? undefined), ...Object.fromEntries(known), source };
}
