import { code, PeerError } from "../protocol/errors.ts";
import type { ImageBlock, StoredMedia, TextBlock, UserMessage } from "../protocol/messages.ts";
import type { CallAddress } from "../session/call-address.ts";
import type { RemoteMedia } from "../session/inbox-entry.ts";
import type { Bucket } from "../world/world.ts";
import { shownImageTypes } from "./image-format.ts";
import { decodeMedia, type MediaTarget, storeMedia } from "./media-store.ts";
import { essenceOf } from "./media-types.ts";

/** Largest image sent to a model, in bytes: 5 MB as base64, the lowest limit of all providers. */
export const maxShownImageBytes = (5 * 1024 * 1024 * 3) / 4;

/** A block of a message's content. */
export type ContentBlock = ImageBlock | TextBlock;

/** The content of a user message: the text, then the attachments' blocks. Without blocks it is a string. */
export function userContent(text: string, blocks: readonly ContentBlock[]): UserMessage["content"] {
  if (blocks.length === 0) return text;
  return [...(text === "" ? [] : [{ type: "text", text } as const]), ...blocks];
}

/**
 * The blocks of stored media: a note with its facts and key, preceded by the image itself if models accept
 * it.
 */
export function mediaBlocks(media: StoredMedia): ContentBlock[] {
  const { type, mimeType, r2Key, size } = media;
  const isShown = type === "image" && isShowable(media);
  const note = { type: "text", text: noteOf(media) } as const;
  return isShown ? [{ type, mimeType, r2Key, size }, note] : [note];
}

function isShowable({ mimeType, size }: StoredMedia): boolean {
  return shownImageTypes.some((shown) => shown === mimeType) && size <= maxShownImageBytes;
}

/** A note about an attachment that could not be stored, with the reason. */
export function lostMediaNote({ filename, mimeType, ...media }: RemoteMedia, why: string): ContentBlock {
  const facts = [plainName(filename), mimeType && essenceOf(mimeType), plainName(why)];
  return { type: "text", text: `[${labelOf(media)}: ${facts.filter((fact) => fact).join(", ")}]` };
}

/**
 * Stores the images of a tool's result (`{content: [text|image…]}`) and replaces their base64 by references.
 * An image that cannot be stored becomes a note; references inside the result are not trusted. Other results
 * are returned unchanged. Safe to repeat.
 */
export async function storeResultImages(
  bucket: Pick<Bucket, "put">,
  { sessionKey, runId, step, callId }: CallAddress,
  result: unknown,
  now: number,
): Promise<unknown> {
  if (!holdsImages(result)) return result;
  const stored = result.content.map(async (block, index) => {
    if (!isImage(block)) return [block];
    const id = JSON.stringify([runId, step, callId, index]);
    return storeImage(bucket, { sessionKey, id, now }, block);
  });
  return { ...result, content: (await Promise.all(stored)).flat() };
}

/** Whether a tool's result has content blocks with at least one image. */
export function holdsImages(result: unknown): result is { content: unknown[] } {
  const content = (result as { content?: unknown } | null | undefined)?.content;
  return Array.isArray(content) && content.some(isImage);
}

function isImage(block: unknown): block is { data?: unknown; mimeType?: unknown } {
  return typeof block === "object" && block !== null && "type" in block && block.type === "image";
}

async function storeImage(
  bucket: Pick<Bucket, "put">,
  target: MediaTarget,
  { data, mimeType }: { data?: unknown; mimeType?: unknown },
): Promise<ContentBlock[]> {
  try {
    if (typeof data !== "string") throw new PeerError(code.badRequest, "data: missing");
    const body = decodeMedia(data);
    return mediaBlocks(await storeMedia(bucket, target, { type: "image", mimeType: String(mimeType), body }));
  } catch (error) {
    if (!(error instanceof PeerError)) throw error;
    return [{ type: "text", text: `[image omitted: ${error.message}]` }];
  }
}

/** `[document: plan.pdf, application/pdf, 12.3 KB, media/…]`: the model uses the key to send the media on. */
function noteOf(media: StoredMedia): string {
  const { type, filename, mimeType, size, duration, transcription, r2Key } = media;
  const hidden = size > maxShownImageBytes ? "too large to be shown" : "cannot be shown";
  const facts = [
    plainName(filename),
    essenceOf(mimeType),
    bytesText(size),
    ...(duration === undefined ? [] : [`${Math.round(duration)} s`]),
    ...(type === "image" && !isShowable(media) ? [hidden] : []),
    r2Key,
  ];
  const note = `[${labelOf(media)}: ${facts.filter((fact) => fact).join(", ")}]`;
  return transcription ? `${note}\nTranscription: ${transcription}` : note;
}

function labelOf({ type, voice }: Pick<StoredMedia, "type" | "voice">): string {
  return voice ? "voice note" : type;
}

/** Replaces brackets and control characters, so that text from outside cannot end a note. */
function plainName(name: string | undefined): string | undefined {
  return name?.replace(/[[\]]/g, "_").replace(/\p{Cc}+/gu, " ");
}

function bytesText(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  const kilobytes = bytes / 1024;
  return kilobytes < 1024 ? `${kilobytes.toFixed(1)} KB` : `${(kilobytes / 1024).toFixed(1)} MB`;
}
