import { Markdown, type MarkdownTheme, setCapabilities, visibleWidth } from "@earendil-works/pi-tui";
import { lexer } from "marked";
import { wrapLine } from "../../app/text-width.ts";

/** Converts the text of a reply to rows. */
export interface Layout {
  /** Splits a text into blocks, each laid out separately. Later text can only change the last block. */
  blocksOf(text: string): string[];
  /** The rows of a block, without a trailing blank row. */
  rowsOf(block: string, columns: number): string[];
}

/** Unchanged text: a block is a line, and long lines are wrapped between words. */
export const plainLayout: Layout = {
  blocksOf: (text) => text.split(/(?<=\n)/),
  rowsOf: (block, columns) => {
    const { rows, rest } = wrapLine(block.replace(/\n$/, ""), columns + 1);
    return [...rows, rest];
  },
};

/**
 * Markdown with the styles of a terminal: bold, italic, code, lists, tables, quotes, headings, and links followed by their
 * address.
 */
export function markdownLayout(): Layout {
  // No hidden hyperlinks: the visible text could pretend another address.
  setCapabilities({ images: null, trueColor: false, hyperlinks: false });
  return {
    blocksOf: markdownBlocks,
    rowsOf: (block, columns) => {
      if (block.trim() === "") return [""];
      const rows = new Markdown(block.trimEnd(), 0, 0, theme, undefined, {
        renderLatex: false,
        preserveOrderedListMarkers: true,
      }).render(columns);
      return rows.map(withoutBlanksAtEnd);
    },
  };
}

/** The top-level blocks of a text. Later text can only change the last one. */
function markdownBlocks(text: string): string[] {
  const tokens = lexer(text);
  // An indented line after a blank one still belongs to a list.
  const isOpenList = tokens.at(-1)?.type === "space" && tokens.at(-2)?.type === "list";
  const blocks: string[] = [];
  let end = 0;
  for (const { raw } of tokens.slice(0, isOpenList ? -2 : -1)) {
    // The lexer may normalize the end of the text, so take the last block from the text itself.
    if (!text.startsWith(raw, end)) break;
    blocks.push(raw);
    end += raw.length;
  }
  return [...blocks, text.slice(end)];
}

const style = (open: number, close: number) => (text: string) => `\u001b[${open}m${text}\u001b[${close}m`;
const [bold, dim, italic, underline] = [style(1, 22), style(2, 22), style(3, 23), style(4, 24)];
const cyan = style(36, 39);

const theme: MarkdownTheme = {
  heading: (text) => text,
  link: underline,
  linkUrl: dim,
  code: cyan,
  codeBlock: cyan,
  codeBlockBorder: dim,
  quote: (text) => text,
  quoteBorder: dim,
  hr: dim,
  listBullet: (text) => text,
  bold,
  italic,
  strikethrough: style(9, 29),
  underline,
};

/** A row without trailing padding, so that a narrower terminal does not wrap it. */
function withoutBlanksAtEnd(row: string): string {
  return visibleWidth(row) === 0 ? row.trim() : row.trimEnd();
}
