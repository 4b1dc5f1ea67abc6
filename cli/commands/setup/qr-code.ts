/**
 * A QR code (ISO 18004) of a text of at most 134 bytes: byte mode, error correction level L, versions 1 to 6, mask 0.
 * @returns the rows of modules, true for dark ones, without a margin; undefined for a longer text
 */
export function qrCode(text: string): boolean[][] | undefined {
  const bytes = [...new TextEncoder().encode(text)];
  const found = versions.findIndex(({ data }) => bytes.length <= data - 2);
  const version = versions[found];
  if (!version) return undefined;
  const size = 21 + 4 * found;
  const grid = functionModules(size, found > 0);
  placeData(grid, codewords(bytes, version));
  return grid.map((row) => row.map((module) => module === true));
}

/** The rows of a code for a terminal: two rows of modules a line, light ones drawn, so that it is dark on a dark screen. */
export function drawQrCode(code: readonly (readonly boolean[])[]): string {
  const margin = 2;
  const isLight = (x: number, y: number) => !(code[y - margin]?.[x - margin] ?? false);
  const size = code.length + 2 * margin;
  const lines: string[] = [];
  for (let y = 0; y < size; y += 2) {
    const line = Array.from({ length: size }, (_, x) => {
      const [upper, lower] = [isLight(x, y), y + 1 < size && isLight(x, y + 1)];
      return upper ? (lower ? "█" : "▀") : lower ? "▄" : " ";
    });
    lines.push(line.join(""));
  }
  return lines.join("\n");
}

/** Codewords of each version at level L: of data, of error correction for each block, and the number of blocks. */
const versions = [
  { data: 19, correction: 7, blocks: 1 },
  { data: 34, correction: 10, blocks: 1 },
  { data: 55, correction: 15, blocks: 1 },
  { data: 80, correction: 20, blocks: 1 },
  { data: 108, correction: 26, blocks: 1 },
  { data: 136, correction: 18, blocks: 2 },
] as const;
type Version = (typeof versions)[number];

/** The text's codewords with their error correction, interleaved by block. */
function codewords(bytes: readonly number[], { data, correction, blocks }: Version): number[] {
  // Mode (4 bits), length (8 bits), the bytes, an end of 4 bits; then padding.
  const nibbles = [4, bytes.length >> 4, bytes.length & 15, ...bytes.flatMap((b) => [b >> 4, b & 15]), 0];
  const words = Array.from(
    { length: nibbles.length / 2 },
    (_, i) => ((nibbles[2 * i] ?? 0) << 4) | (nibbles[2 * i + 1] ?? 0),
  );
  for (let pad = 0xec; words.length < data; pad ^= 0xec ^ 0x11) words.push(pad);
  const length = data / blocks;
  const parts = Array.from({ length: blocks }, (_, block) =>
    words.slice(block * length, (block + 1) * length),
  );
  const corrections = parts.map((part) => remainder(part, correction));
  const interleave = (rows: number[][]) => (rows[0] ?? []).flatMap((_, i) => rows.map((row) => row[i] ?? 0));
  return [...interleave(parts), ...interleave(corrections)];
}

/** The product in the field of 256 elements with the polynomial x⁸ + x⁴ + x³ + x² + 1. */
function multiply(a: number, b: number): number {
  let product = 0;
  for (let bit = 7; bit >= 0; bit--)
    product = (product << 1) ^ ((product >> 7) * 0x11d) ^ (((b >> bit) & 1) * a);
  return product;
}

/** Reed-Solomon: the remainder of the data by the generator polynomial of this degree. */
function remainder(data: readonly number[], degree: number): number[] {
  const generator = [...Array<number>(degree - 1).fill(0), 1];
  for (let i = 0, root = 1; i < degree; i++, root = multiply(root, 2))
    for (let j = 0; j < degree; j++)
      generator[j] = multiply(generator[j] ?? 0, root) ^ (generator[j + 1] ?? 0);
  const rest = Array<number>(degree).fill(0);
  for (const word of data) {
    const factor = word ^ (rest.shift() ?? 0);
    rest.push(0);
    for (const [i, coefficient] of generator.entries())
      rest[i] = (rest[i] ?? 0) ^ multiply(coefficient, factor);
  }
  return rest;
}

/** Modules by row; undefined where data goes. */
type Grid = (boolean | undefined)[][];

/** The patterns that scanners look for, and the format: level L, mask 0. */
function functionModules(size: number, isAligned: boolean): Grid {
  const grid: Grid = Array.from({ length: size }, () => Array(size).fill(undefined));
  const put = (x: number, y: number, dark: boolean) => {
    const row = grid[y];
    if (row && x >= 0 && x < size) row[x] = dark;
  };
  for (let i = 0; i < size; i++) {
    put(6, i, i % 2 === 0);
    put(i, 6, i % 2 === 0);
  }
  const square = (centerX: number, centerY: number, radius: number, isDark: (ring: number) => boolean) => {
    for (let dy = -radius; dy <= radius; dy++)
      for (let dx = -radius; dx <= radius; dx++)
        put(centerX + dx, centerY + dy, isDark(Math.max(Math.abs(dx), Math.abs(dy))));
  };
  for (const [x, y] of [
    [3, 3],
    [size - 4, 3],
    [3, size - 4],
  ] as const)
    square(x, y, 4, (ring) => ring !== 2 && ring !== 4);
  if (isAligned) square(size - 7, size - 7, 2, (ring) => ring !== 1);
  for (let i = 0; i < 15; i++) {
    const dark = ((format >> i) & 1) === 1;
    // The first copy is around the upper left pattern and leaves out row and column 6, the second beside the others.
    if (i < 8) put(8, i < 6 ? i : i + 1, dark);
    else put(i === 8 ? 7 : 14 - i, 8, dark);
    if (i < 8) put(size - 1 - i, 8, dark);
    else put(8, size - 15 + i, dark);
  }
  put(8, size - 8, true);
  return grid;
}

/** Level L (01) and mask 0 (000), with their error correction and the fixed mask of formats. */
const format = 0b111011111000100;

/** Fills the remaining modules in pairs of columns from the right, upwards and downwards by turns, inverted by mask 0. */
function placeData(grid: Grid, words: readonly number[]): void {
  const size = grid.length;
  let bit = 0;
  for (let right = size - 1; right >= 1; right -= 2) {
    // Column 6 is a pattern.
    if (right === 6) right = 5;
    const isUpward = ((right + 1) & 2) === 0;
    for (let step = 0; step < size; step++)
      for (const x of [right, right - 1]) {
        const y = isUpward ? size - 1 - step : step;
        const row = grid[y];
        if (!row || row[x] !== undefined) continue;
        const isSet = (((words[bit >> 3] ?? 0) >> (7 - (bit & 7))) & 1) === 1;
        row[x] = isSet !== ((x + y) % 2 === 0);
        bit++;
      }
  }
}
