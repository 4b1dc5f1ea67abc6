import { describe, expect, it } from "vitest";
import { createCachedReader } from "../../shared/workspace/cached-reader.ts";
import { createMemoryBucket } from "../support/memory-bucket.ts";

describe("what a reader remembers", () => {
  it("is bounded in number: what was used longest ago goes first", async () => {
    const bucket = createMemoryBucket({ a: "A", b: "B", c: "C" });
    const reader = createCachedReader(bucket, { maxEntries: 2 });
    for (const key of ["a", "b", "a", "c"]) await reader.read(key, 0);
    bucket.resetCounters();
    for (const key of ["a", "c", "b"]) await reader.read(key, 0);
    expect(bucket.downloads).toEqual(["b"]);
  });

  it("is bounded in characters, also when one text changes its size", async () => {
    const bucket = createMemoryBucket({ a: "A", b: "B", large: "x".repeat(100) });
    const reader = createCachedReader(bucket, { maxCharacters: 10 });
    expect(await reader.read("large", 0)).toHaveLength(100);
    for (const key of ["a", "b"]) await reader.read(key, 0);
    await bucket.put("a", "x".repeat(9));
    await reader.read("a", 0);
    await bucket.put("a", "A");
    await reader.read("a", 0);
    bucket.resetCounters();
    for (const key of ["a", "b", "large"]) await reader.read(key, 0);
    expect(bucket.downloads).toEqual(["large"]);
  });

  it("answers a listed version without a request, and another one with a question", async () => {
    const bucket = createMemoryBucket({ a: "A" });
    const reader = createCachedReader(bucket);
    const etag = (await bucket.list("a")).objects[0]!.etag;
    expect(await reader.readListed("a", etag)).toBe("A");
    bucket.resetCounters();
    expect(await reader.readListed("a", etag)).toBe("A");
    expect(bucket.requests).toEqual([]);
    const changed = await bucket.put("a", "AA");
    expect(await reader.readListed("a", changed)).toBe("AA");
    await bucket.delete("a");
    expect(await reader.readListed("a", etag)).toBeUndefined();
  });
});
