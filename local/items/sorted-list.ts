/** Longest run of values that is kept in one array. Insertion moves at most this many values. */
const maxChunk = 256;

/** Where a value is or would be: index of its chunk, and index inside the chunk. */
interface Position {
  chunk: number;
  offset: number;
}

/** Values in order. Finding, adding and removing one of n values takes about log n steps. */
export class SortedList<T> {
  private readonly compare: (a: T, b: T) => number;
  /** In order, none of them empty. */
  private readonly chunks: T[][] = [];

  /** @param compare negative when `a` comes before `b`, 0 when one replaces the other */
  constructor(compare: (a: T, b: T) => number) {
    this.compare = compare;
  }

  get isEmpty(): boolean {
    return this.chunks.length === 0;
  }

  /** The first value for which `isBefore` is false. `isBefore` must be true for a first part of the list only. */
  first(isBefore: (value: T) => boolean): T | undefined {
    const { chunk, offset } = this.find(isBefore);
    return this.chunks[chunk]?.[offset];
  }

  /** Adds a value, in place of the one that compares equal, which is returned. */
  set(value: T): T | undefined {
    const last = this.chunks.at(-1);
    if (last === undefined || this.compare(last.at(-1) as T, value) < 0) return this.append(value);
    const { chunk, offset } = this.find((other) => this.compare(other, value) < 0);
    const values = this.chunks[chunk] as T[];
    const other = values[offset] as T;
    if (this.compare(other, value) === 0) {
      values[offset] = value;
      return other;
    }
    values.splice(offset, 0, value);
    if (values.length > maxChunk) this.chunks.splice(chunk + 1, 0, values.splice(values.length >> 1));
    return undefined;
  }

  /** Removes the value that compares equal, which is returned. */
  delete(value: T): T | undefined {
    const { chunk, offset } = this.find((other) => this.compare(other, value) < 0);
    const values = this.chunks[chunk];
    const found = values?.[offset];
    if (values === undefined || found === undefined || this.compare(found, value) !== 0) return undefined;
    values.splice(offset, 1);
    if (values.length === 0) this.chunks.splice(chunk, 1);
    return found;
  }

  /** The values from the first for which `isBefore` is false, upwards. The list must not change while they are read. */
  *upwards(isBefore: (value: T) => boolean = () => false): Generator<T> {
    let { chunk, offset } = this.find(isBefore);
    for (; chunk < this.chunks.length; chunk++, offset = 0) {
      const values = this.chunks[chunk] ?? [];
      for (; offset < values.length; offset++) yield values[offset] as T;
    }
  }

  /** The values from the last for which `isBefore` is true, downwards. The list must not change while they are read. */
  *downwards(isBefore: (value: T) => boolean = () => true): Generator<T> {
    let { chunk, offset } = this.find(isBefore);
    for (; chunk >= 0; chunk--, offset = this.chunks[chunk]?.length ?? 0) {
      const values = this.chunks[chunk] ?? [];
      for (let i = offset - 1; i >= 0; i--) yield values[i] as T;
    }
  }

  /** Adds a value that comes after all others. A full chunk stays full, so that values that come in order waste nothing. */
  private append(value: T): undefined {
    const last = this.chunks.at(-1);
    if (last === undefined || last.length >= maxChunk) this.chunks.push([value]);
    else last.push(value);
  }

  /** Position of the first value for which `isBefore` is false; the chunk behind the last when there is none. */
  private find(isBefore: (value: T) => boolean): Position {
    const chunk = firstIndex(this.chunks, (values) => isBefore(values.at(-1) as T));
    return { chunk, offset: firstIndex(this.chunks[chunk] ?? [], isBefore) };
  }
}

/** Index of the first value for which `isBefore` is false, by binary search; the length when there is none. */
function firstIndex<T>(values: readonly T[], isBefore: (value: T) => boolean): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(values[middle] as T)) low = middle + 1;
    else high = middle;
  }
  return low;
}
