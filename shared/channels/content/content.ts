import { kindOfMedia } from "../../media/media-types.ts";
import { guestOrigin, joinOrigins, unknownOrigin, webOrigin } from "../../origins/origins.ts";
import type { RemoteMedia } from "../../session/inbox-entry.ts";
import { contentNote, quotedLines } from "./content-note.ts";
import type { ForwardedPart, Part } from "./part.ts";

/** The content of a message. Fields that do not apply are absent. */
export interface Content {
  /** The sender's own words. Only these may contain a command or a directive. */
  text: string;
  /** Everything else, for the model: notes in brackets, and others' words with `> ` before each line. */
  shown?: string;
  /** Whose words `shown` contains, besides the sender's (`shared/origins`). */
  origins?: string[];
  attachments?: RemoteMedia[];
  /** The message that the sender answers. */
  replyToId?: string;
  replyToText?: string;
  /** The content replaces that of a message that was sent before. Epoch ms, greater for a later edit. */
  editedAt?: number;
  /** The id of the album that the message belongs to. */
  album?: string;
}

/** Who sent a message: nobody is a stranger to themselves. */
export interface WrittenBy {
  channel: string;
  senderId: string;
}

/** The content that a message's parts are. Undefined when it has neither text nor anything else. */
export function contentOf(parts: readonly Part[], by: WrittenBy): Content | undefined {
  const text = textIn(parts);
  const shown = parts.flatMap((part) => render(part) ?? []).join("\n");
  const attachments = mediaIn(parts);
  const origins = joinOrigins(parts.flatMap((part) => originsOf(part, by)));
  const [answered] = parts.flatMap((part) => (part.kind === "quote" && part.of !== undefined ? [part] : []));
  const edit = parts.find((part) => part.kind === "edit");
  const album = parts.find((part) => part.kind === "album");
  if (text === "" && shown === "" && attachments.length === 0) return undefined;
  return {
    text,
    ...(shown === "" ? {} : { shown }),
    ...(origins.length > 0 ? { origins } : {}),
    ...(attachments.length > 0 ? { attachments } : {}),
    ...(answered?.of === undefined ? {} : { replyToId: answered.of }),
    ...(answered?.text ? { replyToText: answered.text } : {}),
    ...(edit ? { editedAt: edit.at } : {}),
    ...(album ? { album: album.id } : {}),
  };
}

/** What a quoted message says, in one text: its words, and what else it contains. */
export function summaryOf(parts: readonly ForwardedPart[]): string | undefined {
  const files = mediaIn(parts).map(({ type, filename }) => (filename ? `${type} ${filename}` : type));
  const notes = parts.flatMap((part) => render(part) ?? []);
  return [textIn(parts), ...files, ...notes].filter((line) => line).join("\n") || undefined;
}

/** An attachment from a platform's description of a file, without missing and null fields. */
export function remoteMedia(
  source: Record<string, string>,
  file: { [K in "mimeType" | "filename" | "size" | "duration" | "voice"]?: RemoteMedia[K] | null },
): RemoteMedia {
  const known = Object.entries(file).filter(([, value]) => value !== undefined && value !== null);
  return { type: kindOfMedia(file.mimeType ?? undefined), ...Object.fromEntries(known), source };
}

type Kind = Part["kind"];
type PartOf<K extends Kind> = Extract<Part, { kind: K }>;

function textIn(parts: readonly Part[]): string {
  const texts = parts.flatMap((part) => (part.kind === "text" ? [part.text] : []));
  return texts.filter((text) => text).join("\n");
}

function mediaIn(parts: readonly Part[]): RemoteMedia[] {
  return parts.flatMap((part) => {
    if (part.kind === "media") return [part.media];
    return part.kind === "forward" ? mediaIn(part.parts) : [];
  });
}

/** How each kind is shown to the model. Undefined for what is no text, or has a field of its own. */
const renderers: { [K in Kind]: (part: PartOf<K>) => string | undefined } = {
  text: () => undefined,
  media: () => undefined,
  edit: () => undefined,
  album: () => undefined,
  reaction: () => undefined,
  quote: ({ of, text, by, in: place }) =>
    of === undefined
      ? block(words("quote", by && `from ${by}`, place && `in ${place}`), undefined, text)
      : undefined,
  forward: ({ from, fromId, at, parts }) => {
    const when = at === undefined ? undefined : new Date(at).toISOString().slice(0, 16).replace("T", " ");
    const writer = from ?? fromId;
    const label = words("forwarded", writer && `from ${writer}`, when && `written ${when} UTC`);
    return block(label, undefined, summaryOf(parts));
  },
  contact: ({ name, details }) => contentNote("contact", [name, ...details].filter(Boolean).join(", ")),
  place: ({ name, address, latitude, longitude }) => {
    const position = latitude === undefined ? undefined : `${latitude}, ${longitude}`;
    return contentNote("location", words([name, address].filter(Boolean).join(", "), position));
  },
  poll: ({ question, options }) => block("poll", question, options.join("\n")),
  order: ({ catalog, items }) => block("order", catalog && `catalog ${catalog}`, items.join("\n")),
  sticker: ({ emoji, name }) => contentNote("sticker", [emoji, name].filter(Boolean).join(" ")),
  link: ({ url, label, preview }) =>
    block("link", [label, url && linkText(url)].filter(Boolean).join(" → "), preview),
  other: ({ name, detail, lines = [] }) => block(name, detail, lines.join("\n")),
};

function render(part: Part): string | undefined {
  return (renderers[part.kind] as (part: Part) => string | undefined)(part);
}

const words = (...parts: (string | undefined)[]) => parts.filter(Boolean).join(" ");

/** An address keeps its brackets, which a note replaces. */
const linkText = (url: string) => url.replaceAll("[", "%5B").replaceAll("]", "%5D");

/** A note, with the lines that belong to it. */
function block(label: string, detail?: string, text?: string): string {
  const head = contentNote(label, detail, 2100);
  return text ? `${head}\n${quotedLines(text)}` : head;
}

/** Whose words a part contains, besides the sender's. */
function originsOf(part: Part, { channel, senderId }: WrittenBy): string[] {
  if (part.kind === "forward") {
    const { from = "unknown", fromId = from, parts } = part;
    const own = fromId === senderId ? [] : [guestOrigin(channel, fromId)];
    return [...own, ...parts.flatMap((inner) => originsOf(inner, { channel, senderId }))];
  }
  if (part.kind === "quote" && part.of === undefined && (part.by ?? part.in) !== undefined)
    return [guestOrigin(channel, part.by ?? part.in ?? "unknown")];
  if (part.kind === "link" && part.preview) return [hostOf(part.url)];
  return [];
}

function hostOf(url: string | undefined): string {
  const host = url !== undefined && URL.canParse(url) ? new URL(url).hostname : "";
  return host === "" ? unknownOrigin : webOrigin(host);
}
