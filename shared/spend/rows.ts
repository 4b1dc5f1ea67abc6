/** A charged call of the reports. */
export interface Row {
  /** Of the charge, among the changes of its session's account. */
  n: number;
  /** `kind|agent|channel|job|provider/model` */
  key: string;
  /** The columns of `DayView.rows`. */
  numbers: readonly number[];
}

/** Sums by key. */
export function sumRows(rows: readonly Row[]): Map<string, readonly number[]> {
  const sums = new Map<string, readonly number[]>();
  for (const { key, numbers } of rows) {
    const before = sums.get(key);
    sums.set(
      key,
      numbers.map((number, i) => number + (before?.[i] ?? 0)),
    );
  }
  return sums;
}

/** Rows as a text without spaces: `12,turn%7Cmain%7C%7C%7Canthropic%2Fid,1,200,…;13,…`. */
export function writeRows(rows: readonly Row[]): string {
  return rows.map(({ n, key, numbers }) => [n, encodeURIComponent(key), ...numbers].join()).join(";");
}

export function readRows(text: string): Row[] {
  const parts = text === "" ? [] : text.split(";").map((row) => row.split(","));
  return parts.map(([n, key = "", ...numbers]) => ({
    n: Number(n),
    key: decodeURIComponent(key),
    numbers: numbers.map(Number),
  }));
}
