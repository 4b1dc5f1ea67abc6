/**
 * The part of YAML that frontmatter uses: mappings and lists by indentation, `{…}` and `[…]` (so also JSON) with trailing
 * commas, quoted, plain and block (`|`, `>`) text, comments. A plain value may hold `: `, which YAML proper refuses:
 * people write descriptions so. Anchors, tags and several documents are not read.
 */

interface Rows {
  rows: string[];
  at: number;
}
interface Cursor {
  text: string;
  at: number;
}

const maxDepth = 32;
const keyPattern = /^("(?:[^"\\]|\\.)*"\s*|'[^']*'\s*|[^\s#"'{}[\],:-][^:]*|-[^\s:][^:]*):(?:\s+|$)/;

/** @throws SyntaxError that says what was expected, and in which line or before which text. */
export function parseYaml(text: string): unknown {
  const rows = { rows: text.replace(/\r\n?/g, "\n").split("\n"), at: 0 };
  const value = blockValue(rows, 0, 0);
  if (nextRow(rows)) throw new SyntaxError(`line ${rows.at + 1}: unexpected text or indentation`);
  return value;
}

function nextRow(rows: Rows): { indent: number; text: string } | undefined {
  for (; rows.at < rows.rows.length; rows.at++) {
    const row = rows.rows[rows.at] ?? "";
    const text = row.trim();
    if (text !== "" && !text.startsWith("#")) return { indent: row.search(/\S/), text };
  }
  return undefined;
}

function blockValue(rows: Rows, least: number, depth: number): unknown {
  if (depth > maxDepth) throw new SyntaxError(`nested deeper than ${maxDepth} levels`);
  const row = nextRow(rows);
  if (!row || row.indent < least) return null;
  if (/^-(\s|$)/.test(row.text)) return blockList(rows, row.indent, depth);
  if (keyPattern.test(row.text)) return blockMapping(rows, row.indent, depth);
  return inlineValue(rows, row.text, least - 1);
}

function blockList(rows: Rows, indent: number, depth: number): unknown[] {
  const items: unknown[] = [];
  for (let row = nextRow(rows); row?.indent === indent && /^-(\s|$)/.test(row.text); row = nextRow(rows)) {
    // What follows the dash is a block of its own, indented by the dash.
    rows.rows[rows.at] = `${" ".repeat(indent + 1)}${row.text.slice(1)}`;
    items.push(blockValue(rows, indent + 1, depth + 1));
  }
  return items;
}

function blockMapping(rows: Rows, indent: number, depth: number): Record<string, unknown> {
  const entries: [string, unknown][] = [];
  for (let row = nextRow(rows); row?.indent === indent; row = nextRow(rows)) {
    const [start, key] = keyPattern.exec(row.text) ?? [];
    if (start === undefined || key === undefined)
      throw new SyntaxError(`line ${rows.at + 1}: expected "key:"`);
    const rest = row.text.slice(start.length);
    let value: unknown;
    if (rest !== "" && !rest.startsWith("#")) value = inlineValue(rows, rest, indent);
    else {
      rows.at++;
      const next = nextRow(rows);
      const listBeside = next?.indent === indent && /^-(\s|$)/.test(next.text);
      value = blockValue(rows, listBeside ? indent : indent + 1, depth + 1);
    }
    entries.push([/^["']/.test(key) ? String(flowValue({ text: key, at: 0 }, 0)) : key.trim(), value]);
  }
  return Object.fromEntries(entries);
}

/** A value that starts in the current row with `start`; rows that go on with it are indented by more than `indent`. */
function inlineValue(rows: Rows, start: string, indent: number): unknown {
  if (/^[{["']/.test(start)) {
    const cursor = { text: [start, ...rows.rows.slice(rows.at + 1)].join("\n"), at: 0 };
    const value = flowValue(cursor, 0);
    rows.at += cursor.text.slice(0, cursor.at).split("\n").length;
    if (/^[ \t]*(?![\s#])./.test(cursor.text.slice(cursor.at))) throw expected(cursor, "the end of the line");
    return value;
  }
  const continued: string[] = [];
  for (rows.at++; rows.at < rows.rows.length; rows.at++) {
    const row = rows.rows[rows.at] ?? "";
    if (row.trim() !== "" && row.search(/\S/) <= indent) break;
    continued.push(row);
  }
  const block = /^([|>])[+-]?\d?[+-]?(?:\s+#.*)?$/.exec(start);
  if (block) return blockText(continued, block[1] === ">");
  const lines = [start, ...continued].map((row) => row.replace(/(^|\s)#.*/, "").trim());
  return plainValue(lines.filter(Boolean).join(" "));
}

function blockText(rows: string[], folded: boolean): string {
  const margin = rows.find((row) => row.trim() !== "")?.search(/\S/) ?? 0;
  const text = rows
    .map((row) => row.slice(margin).trimEnd())
    .join("\n")
    .trim();
  return folded ? text.replace(/(?<!\n)\n(?!\n)/g, " ").replace(/\n\n/g, "\n") : text;
}

function flowValue(cursor: Cursor, depth: number): unknown {
  if (depth > maxDepth) throw new SyntaxError(`nested deeper than ${maxDepth} levels`);
  skipSpace(cursor);
  const first = cursor.text[cursor.at];
  if (first === "{") return Object.fromEntries(flowItems(cursor, "}", () => flowPair(cursor, depth)));
  if (first === "[") return flowItems(cursor, "]", () => flowValue(cursor, depth + 1));
  const double = take(cursor, /"(?:[^"\\]|\\[\s\S])*"/y);
  if (double !== undefined) return unquote(cursor, double);
  const single = take(cursor, /'(?:[^']|'')*'/y);
  if (single !== undefined)
    return single
      .slice(1, -1)
      .replaceAll("''", "'")
      .replace(/\s*\n\s*/g, " ");
  const plain = take(cursor, /[^\s,[\]{}:#"'](?:[^,[\]{}:\n#]|:(?=\S)|(?<=\S)#)*/y);
  if (plain === undefined) throw expected(cursor, "a value");
  return plainValue(plain.trim());
}

function flowItems<T>(cursor: Cursor, close: string, item: () => T): T[] {
  const items: T[] = [];
  for (cursor.at++; ; ) {
    skipSpace(cursor);
    if (cursor.text[cursor.at] === close) break;
    items.push(item());
    skipSpace(cursor);
    if (cursor.text[cursor.at] === ",") cursor.at++;
    else if (cursor.text[cursor.at] !== close) throw expected(cursor, `"," or "${close}"`);
  }
  cursor.at++;
  return items;
}

function flowPair(cursor: Cursor, depth: number): [string, unknown] {
  const key = take(cursor, /[^\s,[\]{}:#"'][^,[\]{}:\n"']*/y)?.trim() ?? flowValue(cursor, depth + 1);
  skipSpace(cursor);
  if (cursor.text[cursor.at] !== ":") throw expected(cursor, '":"');
  cursor.at++;
  return [String(key), flowValue(cursor, depth + 1)];
}

function take(cursor: Cursor, pattern: RegExp): string | undefined {
  pattern.lastIndex = cursor.at;
  const found = pattern.exec(cursor.text)?.[0];
  cursor.at += found?.length ?? 0;
  return found;
}

function skipSpace(cursor: Cursor): void {
  take(cursor, /(?:\s|#[^\n]*)+/y);
}

function unquote(cursor: Cursor, quoted: string): string {
  try {
    return JSON.parse(quoted.replace(/\s*\n\s*/g, " "));
  } catch {
    throw expected(cursor, "a JSON escape in quotes");
  }
}

function plainValue(text: string): unknown {
  if (text === "" || text === "~" || text === "null") return null;
  if (text === "true" || text === "false") return text === "true";
  return /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text) ? Number(text) : text;
}

function expected(cursor: Cursor, what: string): SyntaxError {
  const near = cursor.text.slice(cursor.at, cursor.at + 20);
  return new SyntaxError(`expected ${what} ${near === "" ? "at the end" : `before ${JSON.stringify(near)}`}`);
}
