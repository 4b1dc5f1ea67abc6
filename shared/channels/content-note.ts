import { kindOfMedia } from "../media/media-types.ts";
import type { RemoteMedia } from "../session/inbox-entry.ts";

/** Longest detail that is shown, in UTF-16 units. */
const maxDetail = 100;

/**
 * What the model is told of content that is no text: `[photo]`, `[document: plan.pdf]`. Never looks like two
 * notes.
 * @param longest the most that is shown of the detail, in UTF-16 units
 */
export function contentNote(label: string, detail?: string, longest = maxDetail): string {
  const plain = detail
    ?.replace(/[[\]\p{Cc}\s]+/gu, " ")
    .slice(0, longest)
    .toWellFormed();
  return plain ? `[${label}: ${plain}]` : `[${label}]`;
}

/** What a message holds, in the platform's terms no more. */
export interface Content {
  /** What was written, or notes of what cannot be fetched, or both. */
  text: string;
  attachments: RemoteMedia[];
}

/**
 * Undefined for nothing at all. `lines` are what was written and notes, a line each; empty ones are left out.
 */
export function contentOf(
  lines: readonly (string | undefined)[],
  attachments: readonly RemoteMedia[] = [],
): Content | undefined {
  const text = lines.filter((line) => line).join("\n");
  return text === "" && attachments.length === 0 ? undefined : { text, attachments: [...attachments] };
}

/** The fields of a message that its content fills. */
export function contentFields({ text, attachments }: Content): { text: string; attachments?: RemoteMedia[] } {
  return { text, ...(attachments.length > 0 ? { attachments } : {}) };
}

/** A file as a platform describes it; what it does not say, or says as null, is left out. */
export function remoteMedia(
  source: Record<string, string>,
  file: { [K in "mimeType" | "filename" | "size" | "duration" | "voice"]?: RemoteMedia[K] | null },
): RemoteMedia {
  const known = Object.entries(file).filter(([, value]) => value !== undefined && value !== null);
  return { type: kindOfMedia(file.mimeType ?? undefined), ...Object.fromEntries(known), source };
}
