import { createCipheriv } from "node:crypto";

/** Random choices that are the same for the same seed, for tests with many inputs (mulberry32). */
export interface Random {
  /** An integer in [0, below). */
  integer(below: number): number;
  pick<T>(from: readonly T[]): T;
  /** A text of at most `most` pieces. */
  text(pieces: readonly string[], most: number): string;
}

export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const integer = (below: number) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
  const pick = <T>(from: readonly T[]): T => from[integer(from.length)] as T;
  const text = (pieces: readonly string[], most: number) => {
    let made = "";
    for (let left = integer(most + 1); left > 0; left--) made += pick(pieces);
    return made;
  };
  return { integer, pick, text };
}

/** Bytes that do not compress and are the same for the same seed. */
export function randomBytesFrom(size: number, seed: number): Uint8Array {
  const key = Buffer.alloc(16);
  key.writeUInt32BE(seed);
  return createCipheriv("aes-128-ctr", key, Buffer.alloc(16)).update(Buffer.alloc(size));
}
