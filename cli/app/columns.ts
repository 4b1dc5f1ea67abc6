/**
 * Formats a table as plain text: a header line, one line per row, two spaces between columns, no trailing
 * blanks. A line break inside a cell becomes a space.
 */
export function columns(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [header, ...rows].map((row) => row.map((cell) => oneLine(cell)));
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

/**
 * Formats name and value pairs, one pair per line, values aligned. Pairs with an undefined value are omitted. A
 * line break inside a value becomes a space.
 */
export function pairs(entries: readonly (readonly [string, string | undefined])[]): string {
  const shown = entries.filter((entry): entry is readonly [string, string] => entry[1] !== undefined);
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${oneLine(value)}`).join("\n");
}

/** Formats an epoch time in ms as local date and time, to the minute. Returns "-" for undefined. */
export function moment(time: number | undefined): string {
  if (time === undefined) return "-";
  const date = new Date(time);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

const durationUnits = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
] as const;

/** Formats a duration as `2h30m`; zero is `0s`. @param ms rounded to seconds */
export function durationText(ms: number): string {
  let rest = Math.round(ms / 1000) * 1000;
  const parts = durationUnits.map(([unit, size]) => {
    const count = Math.floor(rest / size);
    rest -= count * size;
    return count > 0 ? `${count}${unit}` : "";
  });
  return parts.join("") || "0s";
}

/** Formats a waiting time: `3.2 s`; `12 s` from ten seconds; `2m5s` from a minute. @param ms not negative */
export function secondsText(ms: number): string {
  if (ms >= 59_500) return durationText(ms);
  const tenths = Math.round(ms / 100) / 10;
  return tenths < 10 ? `${tenths.toFixed(1)} s` : `${Math.round(ms / 1000)} s`;
}

/** Joins the text into one line of at most `max` characters. A shortened text ends in an ellipsis. */
export function shorten(text: string, max: number): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= max ? line : `${line.slice(0, max - 1)}…`;
}

/** Makes untrusted text safe to print: control and text-direction characters become a space. */
export function visible(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}\s]+/gu, " ").trim();
}

function oneLine(text: string): string {
  return text.replace(/\s*[\n\r\v\f\u0085\u2028\u2029]\s*/g, " ");
}
