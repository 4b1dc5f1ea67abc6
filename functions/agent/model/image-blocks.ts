import { maxShownImageBytes } from "../../../shared/media/media-content.ts";
import type { ImageBlock, Message, TextBlock } from "../../../shared/protocol/messages.ts";
import type { MediaCache } from "./media-cache.ts";

/** Max images in one model call. Above this, providers accept only smaller images or refuse the call. */
const maxImages = 20;

/** Above `maxImages` this many are omitted at once, so that the provider's prompt cache stays valid for a few more images. */
const leftOutAtOnce = 5;

/** Max bytes of all images of one model call as base64. Amazon Bedrock refuses requests above 20 MB, text included. */
const maxBase64Bytes = 15 * 1024 * 1024;

/**
 * Replaces image references by the images for one model call: the newest ones, as many as providers accept. Older images,
 * and images that are no longer in the bucket, become notes.
 */
export async function showImages(messages: readonly Message[], media: MediaCache): Promise<Message[]> {
  const images = messages.flatMap(referencesOf);
  if (images.length === 0) return [...messages];
  const shown = new Map<ImageBlock, ImageBlock | TextBlock>();
  const loads = newest(images).map(async (image) => {
    const data = await media.load(image.r2Key);
    const { mimeType } = image;
    shown.set(
      image,
      data === undefined ? note("no longer available", image) : { type: "image", mimeType, data },
    );
  });
  await Promise.all(loads);
  return replaceImages(
    messages,
    (image) => shown.get(image) ?? note("left out, newer ones are shown", image),
  );
}

/** The messages with a note in place of each image, for a provider that refused one. Undefined when they have no images. */
export function withoutImages(messages: readonly Message[]): Message[] | undefined {
  if (messages.flatMap(referencesOf).length === 0) return undefined;
  return replaceImages(messages, (image) => note("left out, the provider refused it or another one", image));
}

type Reference = ImageBlock & { r2Key: string };

function isReference(block: { type: string }): block is Reference {
  return block.type === "image" && "r2Key" in block && typeof block.r2Key === "string";
}

function referencesOf(message: Message): Reference[] {
  return typeof message.content === "string" ? [] : message.content.filter(isReference);
}

function replaceImages(
  messages: readonly Message[],
  replace: (image: Reference) => ImageBlock | TextBlock,
): Message[] {
  const show = <B extends { type: string }>(block: B) => (isReference(block) ? replace(block) : block);
  return messages.map((message) => {
    if (message.role === "assistant" || typeof message.content === "string") return message;
    return referencesOf(message).length === 0 ? message : { ...message, content: message.content.map(show) };
  }) as Message[];
}

function newest(images: readonly Reference[]): readonly Reference[] {
  const over = Math.max(0, images.length - maxImages);
  let from = Math.ceil(over / leftOutAtOnce) * leftOutAtOnce;
  let bytes = 0;
  for (const [i, { size = maxShownImageBytes }] of [...images.entries()].reverse()) {
    bytes += Math.ceil(size / 3) * 4;
    if (bytes > maxBase64Bytes) {
      from = Math.max(from, i + 1);
      break;
    }
  }
  return images.slice(from);
}

function note(why: string, { mimeType }: ImageBlock): TextBlock {
  return { type: "text", text: `[image ${why}: ${mimeType}]` };
}
