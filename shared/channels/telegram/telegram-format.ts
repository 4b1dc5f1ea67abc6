import {
  type Format,
  type Leaf,
  type Rendered,
  type Style,
  sliceLeaves,
  styleOf,
  textOf,
} from "../outbound/leaves.ts";

/** A MessageEntity (https://core.telegram.org/bots/api#messageentity). Offset and length are in UTF-16 units. */
export interface TelegramEntity {
  type: string;
  offset: number;
  length: number;
  url?: string;
  language?: string;
}

/** Telegram ignores further entities. */
const maxEntities = 100;

/** Plain text and the entities that format it: nothing in the text is markup (https://core.telegram.org/bots/api#formatting-options). */
export const telegramFormat: Format = {
  tableColumns: 36,
  bullet: "•",
  render(given): Rendered {
    const leaves = withoutStart(given);
    const text = textOf(leaves);
    const entities = entitiesOf(leaves, text);
    return { text, ...(entities.length > 0 ? { formatting: { entities } } : {}) };
  },
  fits: (formatting) => "entities" in formatting && (formatting.entities as object[]).length <= maxEntities,
};

/** Telegram drops white space at the start, except in code. */
function withoutStart(leaves: readonly Leaf[]): Leaf[] {
  const text = textOf(leaves);
  const start = text.length - text.trimStart().length;
  return leaves[0] && styleOf(leaves[0], "pre") ? [...leaves] : sliceLeaves(leaves, start, text.length);
}

const types: Partial<Record<Style["kind"], string>> = {
  bold: "bold",
  heading: "bold",
  italic: "italic",
  strike: "strikethrough",
  code: "code",
  pre: "pre",
  quote: "blockquote",
  link: "text_link",
};

function entitiesOf(leaves: readonly Leaf[], text: string): TelegramEntity[] {
  const found: TelegramEntity[] = [];
  let open: { style: Style; from: number }[] = [];
  let at = 0;
  const close = (kept: readonly Style[]) => {
    const ended = open.filter(({ style }) => !kept.includes(style));
    open = open.filter(({ style }) => kept.includes(style));
    for (const { style, from } of ended) found.push(...entity(style, text, from, at));
  };
  for (const leaf of leaves) {
    const styles = allowed(leaf);
    close(styles);
    for (const style of styles) if (!open.some((one) => one.style === style)) open.push({ style, from: at });
    at += leaf.text.length;
  }
  close([]);
  return found.sort((a, b) => a.offset - b.offset || b.length - a.length);
}

/**
 * The styles that Telegram allows in one another: nothing but a quote contains code, and an entity contains none of its own type.
 */
function allowed({ styles }: Leaf): readonly Style[] {
  const shown = styles.filter((style) => types[style.kind] !== undefined && isWebLink(style));
  const code = shown.find(({ kind }) => kind === "code" || kind === "pre");
  if (code) return shown.filter((style) => style === code || style.kind === "quote");
  return shown.filter(
    (style, index) => shown.findIndex(({ kind }) => types[kind] === types[style.kind]) === index,
  );
}

/** Telegram finds mail addresses by itself. */
function isWebLink(style: Style): boolean {
  return style.kind !== "link" || style.url.startsWith("http");
}

/** An entity without the white space around it, unless that is all. */
function entity(style: Style, text: string, from: number, to: number): TelegramEntity[] {
  const covered = text.slice(from, to);
  const start = style.kind === "pre" ? from : from + (covered.length - covered.trimStart().length);
  const end = from + covered.trimEnd().length;
  if (end <= start) return [];
  const extra =
    style.kind === "link"
      ? { url: style.url }
      : style.kind === "pre" && style.language !== undefined
        ? { language: style.language }
        : {};
  return [{ type: types[style.kind] ?? "", offset: start, length: end - start, ...extra }];
}
