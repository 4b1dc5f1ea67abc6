/**
 * Rows as aligned plain text under a header line, two spaces between columns, no trailing blanks. Line breaks inside
 * a cell become spaces, so that a row stays a line.
 */
export function columns(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [header, ...rows].map((row) => row.map((cell) => cell.replace(/\s*\n\s*/g, " ")));
  const widths = header.map((_, column) => Math.max(...cells.map((row) => [...(row[column] ?? "")].length)));
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell + " ".repeat((widths[column] ?? 0) - [...cell].length))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** Names and values, one a line, values aligned; a pair without a value is left out. */
export function pairs(entries: readonly (readonly [string, string | undefined])[]): string {
  const shown = entries.filter((entry): entry is readonly [string, string] => entry[1] !== undefined);
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join("\n");
}

/** A moment (epoch ms) as local date and time to the minute; a dash for none. */
export function moment(time: number | undefined): string {
  if (time === undefined) return "-";
  const date = new Date(time);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** The text, cut to `most` characters with an ellipsis, its line breaks as spaces. */
export function shorten(text: string, most: number): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`;
}

/** A text of somebody else's as a terminal may show it: nothing in it controls the terminal or turns its direction. */
export function visible(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}\s]+/gu, " ").trim();
}
