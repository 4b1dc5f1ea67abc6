import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { fuzz } from "../fuzz/fuzz.ts";
import { startTarget } from "../fuzz/target/target.ts";

// `npm run fuzz` does the same for minutes, against a process of its own.
it("a gateway answers changed frames and deliveries, and keeps what is the owner's as it was", async () => {
  const dir = await mkdtemp(join(tmpdir(), "gsv-fuzz-"));
  const target = await startTarget(join(dir, "data"));
  try {
    const { violations, frames, deliveries, answers } = await fuzz(target, {
      seed: 20_261_122,
      frames: 1600,
      deliveries: 240,
      heapMb: 256,
    });
    expect(violations).toEqual([]);
    expect(total(frames)).toBe(1600);
    expect(total(deliveries)).toBe(240);
    // An attack of which nothing gets in at all would show little.
    for (const answer of ["ok", "400", "403", "101", "http 200", "http 401"])
      expect(answers[answer], answer).toBeGreaterThan(5);
  } finally {
    await target.close();
    await rm(dir, { recursive: true, force: true });
  }
});

const total = (counts: Record<string, number>) =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);
