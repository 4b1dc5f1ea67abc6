import { shownImageTypes } from "../media/image-format.ts";
import { essenceOf } from "../media/media-types.ts";
import { isRecord } from "../protocol/is-record.ts";

/** Max characters of text, and images, of one result. The rest is left out, and the result says so. */
const maxText = 100_000;
const maxImages = 8;

/** Max characters of an error, and of a name or an address inside a note. */
const maxError = 4_000;
const maxName = 500;

type Block = { type: "text"; text: string } | { type: "image"; mimeType: string; data: string };

/**
 * A result of `tools/call` as the outcome of a call: text, and images as base64, which `recordResult` stores. Audio, other files and
 * links become notes. Structured content is shown only if there is no text: servers repeat it there. Never throws, whatever a server
 * sends.
 */
export function outcomeOf(result: unknown): { result: { content: Block[] } } | { error: string } {
  const { content, structuredContent, isError } = isRecord(result) ? result : {};
  const blocks = (Array.isArray(content) ? content : []).map(toBlock);
  const isSilent = !blocks.some((block) => block.type === "text");
  if (isSilent && structuredContent !== undefined)
    blocks.push({ type: "text", text: JSON.stringify(structuredContent) });
  if (isError === true) {
    const texts = blocks.flatMap((block) => (block.type === "text" ? [block.text] : []));
    return {
      error: texts.join("\n").slice(0, maxError).toWellFormed() || "the tool failed without a reason",
    };
  }
  const shown = withinLimits(blocks);
  return { result: { content: shown.length > 0 ? shown : [text("The tool returned nothing.")] } };
}

function toBlock(block: unknown): Block {
  if (!isRecord(block)) return text("[unreadable content]");
  switch (block.type) {
    case "text":
      return text(String(block.text ?? ""));
    case "image":
      return toImage(block.data, block.mimeType);
    case "audio":
      return note("audio", [block.mimeType, sizeOf(block.data)]);
    case "resource":
      return toResource(block.resource);
    case "resource_link":
      return note("link", [block.title ?? block.name, block.uri, block.mimeType, block.description]);
    default:
      return note("unknown content", [block.type]);
  }
}

/** An image that models accept, otherwise a note. */
function toImage(data: unknown, mimeType: unknown): Block {
  const type = essenceOf(String(mimeType));
  const isShown = typeof data === "string" && shownImageTypes.some((one) => one === type);
  return isShown ? { type: "image", mimeType: type, data } : note("image", [type, sizeOf(data)]);
}

function toResource(resource: unknown): Block {
  const { uri, mimeType, text: content, blob } = isRecord(resource) ? resource : {};
  if (typeof content === "string") return text(`${note("resource", [uri, mimeType]).text}\n${content}`);
  if (String(mimeType).startsWith("image/")) return toImage(blob, mimeType);
  return note("resource", [uri, mimeType, sizeOf(blob)]);
}

function withinLimits(blocks: readonly Block[]): Block[] {
  const shown: Block[] = [];
  let room = maxText;
  let images = 0;
  let isCut = false;
  for (const block of blocks) {
    const fits = block.type === "text" ? room > 0 : images < maxImages;
    if (!fits) isCut = true;
    else if (block.type === "image") shown.push(block);
    else {
      shown.push(text(block.text.slice(0, room).toWellFormed()));
      isCut ||= block.text.length > room;
    }
    if (block.type === "text") room = Math.max(0, room - block.text.length);
    else images += 1;
  }
  if (isCut) shown.push(text(`[the rest was left out: above ${maxText} characters or ${maxImages} images]`));
  return shown;
}

const text = (value: string) => ({ type: "text", text: value }) as const;

/** `[link: name, address]`. The server's own words cannot end a note. */
function note(label: string, facts: readonly unknown[]): ReturnType<typeof text> {
  const shown = facts.flatMap((fact) => (typeof fact === "string" && fact !== "" ? [plain(fact)] : []));
  return text(`[${[label, shown.join(", ")].filter((part) => part !== "").join(": ")}]`);
}

function plain(fact: string): string {
  return fact
    .slice(0, maxName)
    .toWellFormed()
    .replaceAll(/[[\]]/g, "_")
    .replaceAll(/\p{Cc}+/gu, " ");
}

function sizeOf(base64: unknown): string {
  return typeof base64 === "string" ? `${Math.floor((base64.length * 3) / 4)} bytes` : "";
}
