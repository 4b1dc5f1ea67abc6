/**
 * A style of formatted text. All leaves of one formatted stretch have the same object, so that two neighbours stay two. `heading`,
 * `quote` and `pre` fill whole lines; `marker` is the bullet or number of a list's item.
 */
export type Style =
  | { kind: "bold" | "italic" | "strike" | "code" | "quote" | "marker" }
  | { kind: "heading"; depth: number }
  | { kind: "pre"; language?: string }
  | { kind: "link"; url: string };

/** A leaf of the tree of formatted text: its text, and the styles above it, outermost first. Blocks are separated by blank lines. */
export interface Leaf {
  text: string;
  styles: readonly Style[];
}

/** One message, as a platform's API accepts it. */
export interface Rendered {
  text: string;
  /** Further fields of the message. Absent: the text has all formatting. */
  formatting?: object;
}

/** How a platform writes formatted text. */
export interface Format {
  /** Columns of a monospace table that are shown without wrapping. */
  tableColumns: number;
  /** The bullet of a list's item. */
  bullet: string;
  render(leaves: readonly Leaf[]): Rendered;
  /** Whether the platform accepts the formatting in one message. The length of the text is checked elsewhere. */
  fits?(formatting: object): boolean;
}

/** The text without its styles. */
export function textOf(leaves: readonly Leaf[]): string {
  return leaves.map(({ text }) => text).join("");
}

/** The style of a kind, if the leaf has it. */
export function styleOf<K extends Style["kind"]>(
  { styles }: Leaf,
  kind: K,
): Extract<Style, { kind: K }> | undefined {
  return styles.find((style): style is Extract<Style, { kind: K }> => style.kind === kind);
}

/** The leaves between two offsets in UTF-16 units. A stretch that is cut has its styles on both sides. */
export function sliceLeaves(leaves: readonly Leaf[], start: number, end: number): Leaf[] {
  const found: Leaf[] = [];
  let at = 0;
  for (const { text, styles } of leaves) {
    if (at >= end) break;
    const piece = text.slice(Math.max(0, start - at), end - at);
    if (piece !== "") found.push({ text: piece, styles });
    at += text.length;
  }
  return found;
}

/** Neighbouring leaves with the same value. */
export function groupLeaves<T>(leaves: readonly Leaf[], pick: (leaf: Leaf) => T): [T, Leaf[]][] {
  const groups: [T, Leaf[]][] = [];
  for (const leaf of leaves) {
    const value = pick(leaf);
    const last = groups.at(-1);
    if (last && last[0] === value) last[1].push(leaf);
    else groups.push([value, [leaf]]);
  }
  return groups;
}

/** The style that fills the leaf's lines, if any. */
export function lineStyle(leaf: Leaf): Style | undefined {
  return leaf.styles.find(({ kind }) => kind === "pre" || kind === "quote" || kind === "heading");
}
