import { expect, it } from "vitest";
import { createMediaCache } from "../../../functions/agent/model/media-cache.ts";
import { createMemoryBucket } from "../../support/memory-bucket.ts";

/** An object of this many bytes of base64. */
const object = (size: number) => new Uint8Array((size / 4) * 3).fill(7);
const megabyte = 1024 * 1024;

it("returns an object as base64", async () => {
  const cache = createMediaCache(createMemoryBucket({ a: "héllo" }));
  expect(await cache.load("a")).toBe(Buffer.from("héllo").toString("base64"));
});

it("reads an object once while it is in use", async () => {
  const bucket = createMemoryBucket({ a: "x" });
  const cache = createMediaCache(bucket);
  for (let i = 0; i < 3; i++) await cache.load("a");
  expect(bucket.downloads).toEqual(["a"]);
});

it("asks again each time for a missing object", async () => {
  const bucket = createMemoryBucket();
  const cache = createMediaCache(bucket);
  expect(await cache.load("a")).toBeUndefined();
  await bucket.put("a", "x");
  expect(await cache.load("a")).toBe("eA==");
});

it("drops the least recently used object when its budget is used up", async () => {
  const bucket = createMemoryBucket({ a: object(40), b: object(40), c: object(40) });
  const cache = createMediaCache(bucket, 100);
  for (const key of ["a", "b", "a", "c"]) await cache.load(key);
  bucket.resetCounters();
  for (const key of ["a", "c"]) await cache.load(key);
  expect(bucket.downloads).toEqual([]);
  await cache.load("b");
  expect(bucket.downloads).toEqual(["b"]);
});

it("does not cache an object above its budget, and drops nothing for it", async () => {
  const bucket = createMemoryBucket({ a: object(40), huge: object(104) });
  const cache = createMediaCache(bucket, 100);
  for (const key of ["a", "huge", "huge", "a"]) await cache.load(key);
  expect(bucket.downloads).toEqual(["a", "huge", "huge"]);
});

it("counts an object once if it is read twice in parallel", async () => {
  const bucket = createMemoryBucket({ a: object(40), b: object(40) });
  const cache = createMediaCache(bucket, 80);
  await Promise.all([cache.load("a"), cache.load("a")]);
  await cache.load("b");
  bucket.resetCounters();
  await Promise.all([cache.load("a"), cache.load("b")]);
  expect(bucket.downloads).toEqual([]);
});

it("caches at most 50 MB of base64 by default", async () => {
  const five = object(5 * megabyte);
  const keys = Array.from({ length: 11 }, (_, i) => `k${i}`);
  const bucket = createMemoryBucket(Object.fromEntries(keys.map((key) => [key, five])));
  const cache = createMediaCache(bucket);
  for (const key of keys) await cache.load(key);
  bucket.resetCounters();
  for (const key of keys.slice(1)) await cache.load(key);
  expect(bucket.downloads).toEqual([]);
  await cache.load("k0");
  expect(bucket.downloads).toEqual(["k0"]);
});
