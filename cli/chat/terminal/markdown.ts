import { Markdown, type MarkdownTheme, setCapabilities, visibleWidth } from "@earendil-works/pi-tui";
import { lexer } from "marked";
import { wrapLine } from "../../app/text/text-width.ts";

/** How the text of a reply becomes rows. */
export interface Layout {
  /** Splits a text into blocks, each laid out by itself. All but the last one are complete, whatever follows. */
  blocksOf(text: string): string[];
  /** The rows of a block, without a blank row at its end. */
  rowsOf(block: string, columns: number): string[];
}

/** Text as it is: a block is a line, and long lines are wrapped at words. */
export const plainLayout: Layout = {
  blocksOf: (text) => text.split(/(?<=\n)/),
  rowsOf: (block, columns) => {
    const { rows, rest } = wrapLine(block.replace(/\n$/, ""), columns + 1);
    return [...rows, rest];
  },
};

/**
 * Markdown with the styles of a terminal: bold, italic, code, lists, tables, quotes, headings, and links with their
 * address behind them.
 */
export function markdownLayout(): Layout {
  // An address that a terminal hides behind a word may lead elsewhere than the word says.
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

/** The top blocks of a text. The last one is all that may still change when more text follows. */
function markdownBlocks(text: string): string[] {
  const tokens = lexer(text);
  // An indented line after a blank one still belongs to a list.
  const isOpenList = tokens.at(-1)?.type === "space" && tokens.at(-2)?.type === "list";
  const blocks: string[] = [];
  let end = 0;
  for (const { raw } of tokens.slice(0, isOpenList ? -2 : -1)) {
    // The lexer tells the end of a text in its own way, so the last block is taken from the text itself.
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

/** A row without the blanks that fill it up, so that a terminal does not wrap them when it becomes narrower. */
function withoutBlanksAtEnd(row: string): string {
  return visibleWidth(row) === 0 ? row.trim() : row.trimEnd();
}
