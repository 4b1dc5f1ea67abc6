/** A formatted range; offset and length count UTF-16 units, as in the Bot API's MessageEntity. */
export interface Entity {
  type: string;
  offset: number;
  length: number;
  url?: string;
  language?: string;
}

export interface Formatted {
  text: string;
  entities: Entity[];
}

/** A text that the Bot API cannot parse. The message is its description after "can't parse entities: ". */
export class EntityFault extends Error {}

const types = ["bold", "italic", "strikethrough", "code", "pre", "text_link", "blockquote"];

/** Telegram ignores further entities. */
const maxEntities = 100;

/**
 * Checks entities that a bot gives ("Formatting options"): their bounds, that they are nested, and what they may contain.
 * @returns those that Telegram shows
 */
export function checkEntities(text: string, entities: readonly Entity[]): Entity[] {
  for (const { type, offset, length, url } of entities) {
    if (!types.includes(type)) throw new EntityFault(`unsupported type ${type}`);
    if (offset < 0 || length <= 0 || offset + length > text.length)
      throw new EntityFault("ENTITY_BOUNDS_INVALID");
    if (!text.slice(offset, offset + length).isWellFormed()) throw new EntityFault("ENTITY_BOUNDS_INVALID");
    if (type === "text_link" && !/^https?:/.test(url ?? "")) throw new EntityFault(`wrong URL ${url}`);
  }
  for (const [index, one] of entities.entries())
    for (const other of entities.slice(index + 1)) checkPair(one, other);
  return entities.slice(0, maxEntities);
}

function checkPair(one: Entity, other: Entity): void {
  const [outer, inner] = one.length >= other.length ? [one, other] : [other, one];
  const isApart = inner.offset + inner.length <= outer.offset || inner.offset >= outer.offset + outer.length;
  if (isApart) return;
  const isInside = inner.offset >= outer.offset && inner.offset + inner.length <= outer.offset + outer.length;
  if (!isInside) throw new EntityFault(`${inner.type} and ${outer.type} overlap`);
  // Of two entities with the same text, either may be the outer one.
  const isQuotedCode = one.length === other.length && [one, other].some(({ type }) => type === "blockquote");
  if (isQuotedCode && one.type !== other.type) return;
  const isCode = (type: string) => type === "code" || type === "pre";
  const isWrong =
    inner.type === outer.type || isCode(outer.type) || (isCode(inner.type) && outer.type !== "blockquote");
  if (isWrong) throw new EntityFault(`${inner.type} in ${outer.type}`);
}

/** Collects the plain text and the open entities. */
class Builder {
  text = "";
  readonly entities: Entity[] = [];
  readonly open: { type: string; offset: number; at: number; url?: string; language?: string }[] = [];

  start(type: string, at: number, extra: { url?: string; language?: string } = {}): void {
    this.open.push({ type, offset: this.text.length, at, ...extra });
  }

  end(url?: string): void {
    const started = this.open.pop();
    if (!started) return;
    const { at: _at, ...entity } = started;
    const length = this.text.length - started.offset;
    if (length > 0) this.entities.push({ ...entity, ...(url && { url }), length });
  }
}

/** Applies a parse mode ("Formatting options"); without one the text is plain. Undefined for an unknown mode. */
export function parseEntities(source: string, mode: string | undefined): Formatted | undefined {
  switch ((mode ?? "").toLowerCase()) {
    case "":
    case "none":
      return { text: source, entities: [] };
    case "html":
      return parseHtml(source);
    case "markdown":
      return parseMarkdown(source);
    case "markdownv2":
      return parseMarkdownV2(source);
    default:
      return undefined;
  }
}

function byteOffset(source: string, at: number): number {
  return Buffer.byteLength(source.slice(0, at));
}

const HTML_TAGS: Record<string, string> = {
  b: "bold",
  strong: "bold",
  i: "italic",
  em: "italic",
  u: "underline",
  ins: "underline",
  s: "strikethrough",
  strike: "strikethrough",
  del: "strikethrough",
  a: "text_link",
  code: "code",
  pre: "pre",
  span: "spoiler",
  "tg-spoiler": "spoiler",
  blockquote: "blockquote",
};
const HTML_ENTITIES: Record<string, string> = { lt: "<", gt: ">", amp: "&", quot: '"' };

function parseHtml(source: string): Formatted {
  const out = new Builder();
  const names: string[] = [];
  const token = /<(\/?)([a-zA-Z0-9-]*)([^>]*)>|<|&(#\d+|#x[0-9a-fA-F]+|[a-z]+);?|[^<&]+|&/gy;
  for (let match = token.exec(source); match; match = token.exec(source)) {
    const [whole, slash, name = "", attributes = "", entity] = match;
    const offset = byteOffset(source, match.index);
    if (whole === "<") throw new EntityFault(`Unclosed start tag at byte offset ${offset}`);
    if (entity !== undefined) out.text += decodeEntity(entity) ?? whole;
    else if (slash === undefined) out.text += whole;
    else if (slash === "/") {
      const expected = names.pop();
      if (expected === undefined) throw new EntityFault(`Unexpected end tag at byte offset ${offset}`);
      if (name !== "" && name.toLowerCase() !== expected)
        throw new EntityFault(
          `Unmatched end tag at byte offset ${offset}, expected "</${expected}>", found "</${name}>"`,
        );
      out.end();
    } else {
      const type = HTML_TAGS[name.toLowerCase()];
      if (!type) throw new EntityFault(`Unsupported start tag "${name}" at byte offset ${offset}`);
      names.push(name.toLowerCase());
      out.start(type, match.index, { url: attributes.match(/href\s*=\s*"([^"]*)"/)?.[1] });
    }
  }
  const left = names.at(-1);
  if (left) throw new EntityFault(`Can't find end tag corresponding to start tag "${left}"`);
  return out;
}

function decodeEntity(name: string): string | undefined {
  if (name.startsWith("#x")) return String.fromCodePoint(Number.parseInt(name.slice(2), 16));
  if (name.startsWith("#")) return String.fromCodePoint(Number.parseInt(name.slice(1), 10));
  return HTML_ENTITIES[name];
}

const LEGACY: Record<string, string> = { "*": "bold", _: "italic", "`": "code", "```": "pre" };

function parseMarkdown(source: string): Formatted {
  const out = new Builder();
  for (let i = 0; i < source.length; i++) {
    const char = source[i] as string;
    if (char === "\\" && /[_*`[]/.test(source[i + 1] ?? "")) {
      out.text += source[++i];
      continue;
    }
    const mark = source.startsWith("```", i) ? "```" : char;
    const end = char === "[" ? "]" : LEGACY[mark] ? mark : undefined;
    if (!end) {
      out.text += char;
      continue;
    }
    const close = source.indexOf(end, i + end.length);
    if (close < 0)
      throw new EntityFault(`Can't find end of the entity starting at byte offset ${byteOffset(source, i)}`);
    const link = char === "[" ? source.slice(close + 1).match(/^\(([^)]*)\)/) : null;
    out.start(char === "[" ? "text_link" : (LEGACY[mark] as string), i, { url: link?.[1] });
    out.text += source.slice(i + end.length, close);
    out.end();
    i = close + end.length - 1 + (link?.[0].length ?? 0);
  }
  return out;
}

const RESERVED = "_*[]()~`>#+-=|{}.!";
const PAIRED: Record<string, string> = {
  __: "underline",
  "||": "spoiler",
  "*": "bold",
  _: "italic",
  "~": "strikethrough",
};
const NAMES: Record<string, string> = {
  underline: "Underline",
  spoiler: "Spoiler",
  bold: "Bold",
  italic: "Italic",
  strikethrough: "Strikethrough",
  text_link: "TextUrl",
};

function parseMarkdownV2(source: string): Formatted {
  const out = new Builder();
  for (let i = 0; i < source.length; ) {
    const char = source[i] as string;
    const next = source[i + 1] ?? "";
    if (char === "\\" && next !== "" && next.charCodeAt(0) <= 126) {
      out.text += next;
      i += 2;
    } else if (char === "`") i = readCode(source, i, out);
    else if (char === ">" && (i === 0 || source[i - 1] === "\n")) i += 1;
    else if (char === "[") {
      out.start("text_link", i);
      i += 1;
    } else if (char === "]" && out.open.at(-1)?.type === "text_link") i = readLink(source, i, out);
    else i = readMark(source, i, out);
  }
  const left = out.open.at(-1);
  if (left) throw new EntityFault(unended(NAMES[left.type] as string, source, left.at));
  return out;
}

/** A paired mark, or an ordinary character. An unescaped reserved character without a pair is an error. */
function readMark(source: string, i: number, out: Builder): number {
  const mark = Object.keys(PAIRED).find((one) => source.startsWith(one, i));
  const type = mark && PAIRED[mark];
  if (mark && type) {
    if (out.open.at(-1)?.type === type) out.end();
    else out.start(type, i);
    return i + mark.length;
  }
  const char = source[i] as string;
  if (RESERVED.includes(char))
    throw new EntityFault(`Character '${char}' is reserved and must be escaped with the preceding '\\'`);
  out.text += char;
  return i + 1;
}

function readCode(source: string, start: number, out: Builder): number {
  const mark = source.startsWith("```", start) ? "```" : "`";
  const type = mark === "`" ? "code" : "pre";
  let i = start + mark.length;
  const language = mark === "`" ? undefined : source.slice(i).match(/^([^\s`]+)\n/)?.[1];
  if (language) i += language.length + 1;
  out.start(type, start, { language });
  while (i < source.length && !source.startsWith(mark, i)) {
    if (source[i] === "\\" && /[`\\]/.test(source[i + 1] ?? "")) i++;
    out.text += source[i++];
  }
  if (i >= source.length) throw new EntityFault(unended(type === "code" ? "Code" : "Pre", source, start));
  out.end();
  return i + mark.length;
}

function readLink(source: string, i: number, out: Builder): number {
  if (source[i + 1] !== "(") {
    out.end();
    return i + 1;
  }
  const close = source.indexOf(")", i);
  if (close < 0) throw new EntityFault(`Can't find end of a URL at byte offset ${byteOffset(source, i + 1)}`);
  out.end(source.slice(i + 2, close).replaceAll("\\", ""));
  return close + 1;
}

function unended(name: string, source: string, at: number): string {
  return `Can't find end of ${name} entity at byte offset ${byteOffset(source, at)}`;
}
