import { createHash } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { deleteParts, readParts, storeParts, transferPartKey } from "../../shared/transfer/transfer-parts.ts";
import { createMemoryBucket, type MemoryBucket } from "../support/memory-bucket.ts";

const id = 7;
const content = Buffer.from("x".repeat(2500));
const sha256 = createHash("sha256").update(content).digest("hex");

let bucket: MemoryBucket;
beforeEach(() => {
  bucket = createMemoryBucket();
});

describe("the parts of a file", () => {
  const sized = { id, size: 2500, partBytes: 1000, sha256 };
  async function* chunks(of: Uint8Array, bytes: number) {
    for (let at = 0; at < of.length; at += bytes) yield of.subarray(at, at + bytes);
  }
  const read = async (of = sized) => {
    const all: Uint8Array[] = [];
    for await (const one of readParts(bucket, of)) all.push(one);
    return Buffer.concat(all);
  };

  it.each([1, 400, 1000, 1300, 2500])("are the same however it comes: %i bytes at a time", async (bytes) => {
    expect(await storeParts(bucket, sized, chunks(content, bytes), 2500)).toEqual({
      size: 2500,
      sha256,
      stored: 3,
    });
    expect(bucket.keys()).toEqual([0, 1, 2].map((n) => transferPartKey(id, n)));
    expect((await read()).equals(content)).toBe(true);
    await expect(storeParts(bucket, sized, chunks(content, bytes), 2499)).rejects.toThrow(
      "the file has more than 2.5 KB",
    );
  });

  it("are refused when one is missing, has another size, or they are another file", async () => {
    await storeParts(bucket, sized, chunks(content, 1000), 2500);
    await expect(read({ ...sized, sha256: "other" })).rejects.toThrow("SHA-256");
    await bucket.put(transferPartKey(id, 2), "short");
    await expect(read()).rejects.toThrow("part 3 of 3 is missing or has a wrong size");
    await bucket.delete(transferPartKey(id, 0));
    await expect(read()).rejects.toThrow("part 1 of 3 is missing");
  });

  it("are deleted as far as they are stored, and the one that may be", async () => {
    for (let n = 0; n < 70; n++) await bucket.put(transferPartKey(id, n), "x");
    await deleteParts(bucket, { ...sized, size: 70_000, stored: 66 });
    expect(bucket.keys()).toEqual([67, 68, 69].map((n) => transferPartKey(id, n)));
    bucket.resetCounters();
    await deleteParts(bucket, { ...sized, stored: 3 });
    expect(bucket.requests).toHaveLength(3);
  });
});
