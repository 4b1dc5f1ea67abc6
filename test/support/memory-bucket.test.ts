import { describe, expect, it } from "vitest";
import { PreconditionFailed } from "../../shared/world/world.ts";
import { createMemoryBucket } from "./memory-bucket.ts";

describe("the bucket in memory", () => {
  it("enforces conditions as S3 does", async () => {
    const bucket = createMemoryBucket();
    const first = await bucket.put("k", "one", { ifAbsent: true });
    await expect(bucket.put("k", "two", { ifAbsent: true })).rejects.toBeInstanceOf(PreconditionFailed);
    const second = await bucket.put("k", "two", { ifMatch: first });
    await expect(bucket.put("k", "three", { ifMatch: first })).rejects.toBeInstanceOf(PreconditionFailed);
    await expect(bucket.put("none", "x", { ifMatch: second })).rejects.toBeInstanceOf(PreconditionFailed);
    expect(bucket.peek("k")).toBe("two");
  });

  it("accepts exactly one of many conditional writes", async () => {
    const bucket = createMemoryBucket();
    const writes = Array.from({ length: 20 }, (_, n) => bucket.put("k", `${n}`, { ifAbsent: true }));
    const results = await Promise.allSettled(writes);
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });

  it("returns a body only if it has changed", async () => {
    const bucket = createMemoryBucket({ k: "one" });
    const { etag } = (await bucket.get("k"))!;
    expect(await bucket.getIfChanged("k", etag)).toBe("unchanged");
    await bucket.put("k", "two");
    expect(await bucket.getIfChanged("k", etag)).toMatchObject({ body: new TextEncoder().encode("two") });
    await bucket.delete("k");
    expect(await bucket.getIfChanged("k", etag)).toBeUndefined();
    expect(bucket.downloads).toEqual(["k", "k"]);
  });

  it("lists in the order of bytes, one level at a time with a delimiter", async () => {
    const bucket = createMemoryBucket({ "a/b": "", "a/B": "", "a/c/d": "", "a/c/e": "", ab: "" });
    const listed = await bucket.list("a/", "/");
    expect(listed.objects.map(({ key }) => key)).toEqual(["a/B", "a/b"]);
    expect(listed.prefixes).toEqual(["a/c/"]);
    expect((await bucket.list("a")).objects).toHaveLength(5);
  });

  it("returns metadata under the names of the layout", async () => {
    const bucket = createMemoryBucket();
    await bucket.put("k", "x", { metadata: { originalFilename: "größe.png" }, contentType: "image/png" });
    expect(await bucket.get("k")).toMatchObject({
      metadata: { originalFilename: "größe.png" },
      contentType: "image/png",
    });
  });

  it("writes and reads streams as whole objects, with the same conditions", async () => {
    const bucket = createMemoryBucket();
    const body = async function* () {
      yield new TextEncoder().encode("one ");
      yield new TextEncoder().encode("object");
    };
    await bucket.putStream("k", body(), { ifAbsent: true, contentType: "text/plain" });
    await expect(bucket.putStream("k", body(), { ifAbsent: true })).rejects.toBeInstanceOf(
      PreconditionFailed,
    );
    let read = "";
    for await (const chunk of (await bucket.getStream("k"))!.body) read += Buffer.from(chunk).toString();
    expect(read).toBe("one object");
    expect(await bucket.head("k")).toMatchObject({ contentType: "text/plain" });
    expect(await bucket.head("k")).not.toHaveProperty("body");
    expect([await bucket.head("none"), await bucket.getStream("none")]).toEqual([undefined, undefined]);
  });

  it("makes independent copies", async () => {
    const bucket = createMemoryBucket({ b: "one", a: "two" });
    const copy = bucket.copy();
    await copy.put("b", "three");
    await copy.put("c", "four");
    await bucket.delete("a");
    expect([bucket.keys(), copy.keys()]).toEqual([["b"], ["a", "b", "c"]]);
    expect([bucket.peek("b"), copy.peek("b"), copy.peek("a")]).toEqual(["one", "three", "two"]);
    expect([bucket.calls.put, copy.calls.put]).toEqual([0, 2]);
  });
});
