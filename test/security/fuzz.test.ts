import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { fuzz } from "../fuzz/fuzz.ts";
import { startTarget } from "../fuzz/target/target.ts";

// `npm run fuzz` does the same for minutes, against a separate process.
it("a gateway answers malformed frames and deliveries, and the owner's data does not change", async () => {
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
    // An attack whose requests are all refused would show little.
    for (const answer of ["ok", "400", "403", "101", "http 200", "http 401"])
      expect(answers[answer], answer).toBeGreaterThan(5);
  } finally {
    await target.close();
    await rm(dir, { recursive: true, force: true });
  }
});

const total = (counts: Record<string, number>) =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);
