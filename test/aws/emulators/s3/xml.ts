import { S3Error } from "../../../../local/objects/s3-error.ts";

/** One element of a parsed document. `text` is its direct content, unescaped. */
export type XmlElement = { name: string; text: string; children: XmlElement[] };

const namespace = "http://s3.amazonaws.com/doc/2006-03-01/";
const entities: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
const escapes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** `<name>value</name>` with the value escaped, or nothing at all when there is no value. */
export function textElement(name: string, value: string | number | boolean | undefined): string {
  return value === undefined ? "" : `<${name}>${escapeText(String(value))}</${name}>`;
}

/** `<name>…</name>` around children that are XML already. */
export function element(name: string, ...children: string[]): string {
  return `<${name}>${children.join("")}</${name}>`;
}

/** A whole document in S3's namespace. */
export function xmlDocument(name: string, ...children: string[]): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<${name} xmlns="${namespace}">${children.join("")}</${name}>`;
}

/** The error document, which S3 sends without a namespace. */
export function errorDocument(error: S3Error, resource: string, requestId: string): string {
  const children = [
    textElement("Code", error.code),
    textElement("Message", error.message),
    textElement("Resource", resource),
    textElement("RequestId", requestId),
  ];
  return `<?xml version="1.0" encoding="UTF-8"?>\n${element("Error", ...children)}`;
}

/** Reads the kind of document S3 clients send: elements and text; attributes are passed over; comments, CDATA and DTDs are not
 * understood. Throws MalformedXML unless the document is well formed and its root is called `rootName`. */
export function parseXml(xml: string, rootName: string): XmlElement {
  const top: XmlElement = { name: "", text: "", children: [] };
  const open = [top];
  const tokens = /<(\/?)([A-Za-z][\w:]*)((?:\s[^<>]*?)?)(\/?)>|([^<]+)/y;
  tokens.lastIndex = /^\s*<\?xml[^>]*\?>/.exec(xml)?.[0].length ?? 0;
  while (tokens.lastIndex < xml.length) {
    const [, closing, name = "", , empty, text] = tokens.exec(xml) ?? malformed();
    const current = open.at(-1) ?? malformed();
    if (text !== undefined) {
      current.text += unescapeText(text);
    } else if (closing) {
      if (current.name !== name) malformed();
      open.pop();
    } else {
      const child = { name, text: "", children: [] };
      current.children.push(child);
      if (!empty) open.push(child);
    }
  }
  const [root] = top.children;
  if (open.length !== 1 || top.children.length !== 1 || root?.name !== rootName) return malformed();
  return root;
}

/** Text of the child called `name`, or undefined when there is none. */
export function childText(parent: XmlElement, name: string): string | undefined {
  return parent.children.find((child) => child.name === name)?.text;
}

/** Control characters travel as character references: XML 1.0 cannot say most of them, but S3 sends them so. */
function escapeText(text: string): string {
  return [...text]
    .map((character) => {
      const code = character.charCodeAt(0);
      return code < 0x20 || code === 0x7f
        ? `&#x${code.toString(16).toUpperCase()};`
        : (escapes[character] ?? character);
    })
    .join("");
}

function unescapeText(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#([0-9]{1,7})|(\w+));/gi, (_, hex, decimal, name) => {
    if (name !== undefined) return Object.hasOwn(entities, name) ? (entities[name] as string) : malformed();
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : malformed();
  });
}

function malformed(): never {
  throw new S3Error(
    "MalformedXML",
    "The XML you provided was not well-formed or did not validate against our published schema",
  );
}
