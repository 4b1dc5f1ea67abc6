import { describe, expect, it } from "vitest";
import { SortedList } from "../../../local/items/sorted-list.ts";
import { compareText } from "../../../local/items/text-order.ts";
import { seededRandom } from "../../support/random.ts";

describe("a sorted list", () => {
  it("holds what a sorted array would hold, after any changes", () => {
    const random = seededRandom(7);
    const list = new SortedList<number>((a, b) => a - b);
    const expected = new Set<number>();
    const wrong: string[] = [];
    for (let step = 0; step < 20_000; step++) {
      const value = random.integer(3000);
      // Grows first, then shrinks to nothing.
      if (random.integer(10) < (step < 10_000 ? 7 : 3)) {
        if (list.set(value) !== (expected.has(value) ? value : undefined)) wrong.push(`set ${value}`);
        expected.add(value);
      } else {
        if (list.delete(value) !== (expected.has(value) ? value : undefined)) wrong.push(`delete ${value}`);
        expected.delete(value);
      }
      if (step % 500 > 0) continue;
      const sorted = [...expected].sort((a, b) => a - b);
      const from = sorted.filter((one) => one >= value);
      expect([...list.upwards()]).toEqual(sorted);
      expect([...list.downwards()]).toEqual(sorted.toReversed());
      expect([...list.upwards((one) => one < value)]).toEqual(from);
      expect([...list.downwards((one) => one < value)]).toEqual(
        sorted.filter((one) => one < value).toReversed(),
      );
      expect(list.first((one) => one < value)).toBe(from[0]);
      expect(list.isEmpty).toBe(sorted.length === 0);
    }
    expect(wrong).toEqual([]);
    for (const value of [...expected]) list.delete(value);
    expect(list.isEmpty).toBe(true);
  });
});

describe("the order of texts", () => {
  it("is that of their UTF-8 bytes", () => {
    const random = seededRandom(8);
    const units = [
      "a",
      "b",
      "\u{7f}",
      "é",
      "\u{7ff}",
      "\u{800}",
      "\u{d7ff}",
      "\u{e000}",
      "\u{ffff}",
      "😀",
      "\u{10ffff}",
    ];
    for (let n = 0; n < 5000; n++) {
      const [a, b] = [random.text(units, 4), random.text(units, 4)];
      expect(Math.sign(compareText(a, b)), JSON.stringify([a, b])).toBe(
        Buffer.compare(Buffer.from(a), Buffer.from(b)),
      );
    }
  });
});
