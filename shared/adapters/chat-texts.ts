import type { ImageBlock, TextBlock } from "../protocol/messages.ts";

/** Text in place of a stored image: its bytes lie in the gateway's bucket. */
export function imageNote({ mimeType, r2Key, size }: ImageBlock): string {
  const facts = [mimeType, r2Key, size === undefined ? undefined : `${size} bytes`];
  return `[image: ${facts.filter((fact) => fact !== undefined).join(", ")}]`;
}

/** The texts of a message's content that say anything, images as notes. */
export function textsOf(content: string | readonly (TextBlock | ImageBlock)[]): string[] {
  const texts =
    typeof content === "string"
      ? [content]
      : content.map((block) => (block.type === "text" ? block.text : imageNote(block)));
  return texts.map((text) => text.toWellFormed()).filter((text) => text.trim() !== "");
}
