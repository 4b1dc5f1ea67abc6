import type { Tokens } from "marked";
import { type Leaf, type Style, textOf } from "./leaves.ts";

/** Characters that a monospace font shows in two columns. */
const wide =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/u;

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** A table as a block of monospace text; as a list, with the column's name before each value, if it is too wide. */
export function tableLeaves(
  { header, rows, align }: Tokens.Table,
  cellLeaves: (cell: Tokens.TableCell) => Leaf[],
  { tableColumns, bullet }: { tableColumns: number; bullet: string },
  styles: readonly Style[],
): Leaf[] {
  const names = header.map(cellLeaves);
  const cells = rows.map((row) => row.map(cellLeaves));
  const lines = [names, ...cells].map((row) => row.map((cell) => textOf(cell).replaceAll("\n", " ")));
  const widths = names.map((_, column) => Math.max(...lines.map((line) => columnsOf(line[column] ?? ""))));
  const width = widths.reduce((sum, one) => sum + one + 2, -2);
  if (width > tableColumns) return asList(names, cells, bullet, styles);
  const padded = lines.map((line) =>
    line.map((text, column) => pad(text, widths[column] ?? 0, align[column])),
  );
  const [top = [], ...others] = padded.map((line) => line.join("  ").trimEnd());
  const text = [top, widths.map((one) => "─".repeat(one)).join("  "), ...others].join("\n");
  return [{ text, styles: [{ kind: "pre" }] }];
}

function columnsOf(text: string): number {
  let columns = 0;
  for (const { segment } of graphemes.segment(text)) columns += wide.test(segment) ? 2 : 1;
  return columns;
}

function pad(text: string, columns: number, align: Tokens.Table["align"][number] | undefined): string {
  const space = columns - columnsOf(text);
  const before = align === "right" ? space : align === "center" ? Math.floor(space / 2) : 0;
  return " ".repeat(before) + text + " ".repeat(space - before);
}

function asList(
  names: readonly Leaf[][],
  rows: readonly Leaf[][][],
  bullet: string,
  styles: readonly Style[],
): Leaf[] {
  const plain = (text: string): Leaf => ({ text, styles });
  const asLine = (cell: readonly Leaf[]) =>
    cell.map((leaf) => ({ ...leaf, text: leaf.text.replaceAll("\n", " ") }));
  const entries = rows.length > 0 ? rows : [names.map(() => [])];
  return entries.flatMap((row, index) => [
    ...(index === 0 ? [] : [plain("\n")]),
    { text: `${bullet} `, styles: [...styles, { kind: "marker" } as const] },
    ...row.flatMap((cell, column) => [
      ...(column === 0 ? [] : [plain("\n  ")]),
      ...asLine(names[column] ?? []),
      plain(": "),
      ...asLine(cell),
    ]),
  ]);
}
