import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Bucket, PreconditionFailed } from "../../shared/world/world.ts";
import { randomBytesFrom } from "../support/random.ts";

const megabyte = 1024 * 1024;

async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.byteLength; start += 77_777) yield bytes.subarray(start, start + 77_777);
}

const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

interface OpenedBucket {
  bucket: Bucket;
  /** Holds the same objects, and writes many of them in a shorter time. */
  behind?: Bucket;
  close(): Promise<void>;
}

type OpenBucket = () => Promise<OpenedBucket>;

/** Buckets that are opened before the first case of the surrounding `describe`, and closed after the last. */
function openedForAll(open: OpenBucket): Required<Pick<OpenedBucket, "bucket" | "behind">> {
  let opened: OpenedBucket;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened.close());
  const later = (choose: () => Bucket): Bucket => {
    const get = (_: object, name: keyof Bucket) => choose()[name];
    return new Proxy({} as Bucket, { get: get as ProxyHandler<Bucket>["get"] });
  };
  return { bucket: later(() => opened.bucket), behind: later(() => opened.behind ?? opened.bucket) };
}

/** What every bucket must do, for every implementation. It is empty at first. */
export function describeBucket(name: string, open: OpenBucket): void {
  describe(name, () => {
    const { bucket, behind } = openedForAll(open);

    const textOf = async (key: string) => {
      const object = await bucket.get(key);
      return object && Buffer.from(object.body).toString();
    };
    const lost = (written: Promise<unknown>) => expect(written).rejects.toBeInstanceOf(PreconditionFailed);

    it("gives back what was put: bytes, content type, metadata in any script, ETag and time", async () => {
      const before = Math.floor(Date.now() / 1000) * 1000;
      const metadata = { originalFilename: "Überweisung 🧾 100%.pdf", sessionId: "s-1" };
      const etag = await bucket.put("docs/a.pdf", "content", { contentType: "application/pdf", metadata });
      const object = (await bucket.get("docs/a.pdf"))!;
      expect(Buffer.from(object.body).toString()).toBe("content");
      expect(object).toMatchObject({ contentType: "application/pdf", metadata, etag });
      expect(etag).toBe(`"${createHash("md5").update("content").digest("hex")}"`);
      expect(object.lastModified).toBeGreaterThanOrEqual(before);
      expect(object.lastModified).toBeLessThanOrEqual(Date.now());
      const head = await bucket.head("docs/a.pdf");
      expect(head).toMatchObject({ contentType: "application/pdf", metadata, etag });
      expect(head).not.toHaveProperty("body");
    });

    it("has nothing under a key that was never written, or was deleted", async () => {
      await bucket.put("gone", "x");
      await bucket.delete("gone");
      await bucket.delete("gone");
      for (const key of ["gone", "never"]) {
        expect(await bucket.get(key)).toBeUndefined();
        expect(await bucket.head(key)).toBeUndefined();
        expect(await bucket.getStream(key)).toBeUndefined();
        expect(await bucket.getIfChanged(key, '"x"')).toBeUndefined();
      }
    });

    it("keeps keys with any characters apart", async () => {
      const keys = [
        "k/agent:main:cli:dm:a+b@c.d/1 %2F.json",
        "k/agent:main:cli:dm:a/…/ü",
        "k/.hidden",
        "k/x.json",
        "k/x",
      ];
      for (const key of keys) await bucket.put(key, key);
      for (const key of keys) expect(await textOf(key)).toBe(key);
      const { objects } = await bucket.list("k/");
      expect(objects.map(({ key }) => key).sort()).toEqual([...keys].sort());
    });

    it("holds a zero-byte object", async () => {
      await bucket.put("empty", "");
      expect(await textOf("empty")).toBe("");
    });

    it("sends a body only when the object has another ETag", async () => {
      const first = await bucket.put("changing", "one");
      expect(await bucket.getIfChanged("changing", first)).toBe("unchanged");
      await bucket.put("changing", "two");
      const changed = await bucket.getIfChanged("changing", first);
      expect(changed).toMatchObject({ etag: expect.not.stringContaining(first) });
    });

    it("writes on a condition, and says when another writer came before", async () => {
      const first = await bucket.put("guarded", "one", { ifAbsent: true });
      await lost(bucket.put("guarded", "two", { ifAbsent: true }));
      const second = await bucket.put("guarded", "two", { ifMatch: first });
      await lost(bucket.put("guarded", "three", { ifMatch: first }));
      await lost(bucket.put("guarded-nothing", "x", { ifMatch: second }));
      expect(await textOf("guarded")).toBe("two");
      expect(await bucket.head("guarded-nothing")).toBeUndefined();
      await lost(bucket.delete("guarded", { ifMatch: first }));
      expect(await textOf("guarded")).toBe("two");
      await bucket.delete("guarded", { ifMatch: second });
      expect(await bucket.head("guarded")).toBeUndefined();
    });

    it("lets exactly one of many conditional writes through", async () => {
      const writes = Array.from({ length: 20 }, (_, n) => bucket.put("raced", `${n}`, { ifAbsent: true }));
      const settled = await Promise.allSettled(writes);
      expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    });

    it("lists in the order of the keys' bytes, one level at a time with a delimiter", async () => {
      const keys = ["l/b", "l/B", "l/é", "l/c/d", "l/c/e", "l/c", "lb"];
      for (const key of keys) await bucket.put(key, key);
      const level = await bucket.list("l/", "/");
      expect(level.objects.map(({ key }) => key)).toEqual(["l/B", "l/b", "l/c", "l/é"]);
      expect(level.prefixes).toEqual(["l/c/"]);
      const all = await bucket.list("l/");
      expect(all.objects.map(({ key }) => key)).toEqual(["l/B", "l/b", "l/c", "l/c/d", "l/c/e", "l/é"]);
      expect(all.objects[0]).toMatchObject({ size: 3, etag: (await bucket.head("l/B"))?.etag });
      expect(await bucket.list("nothing/")).toEqual({ objects: [], prefixes: [] });
    });

    it("lists more than a page of 1,000", async () => {
      for (let n = 0; n < 1005; n += 15) {
        await Promise.all(Array.from({ length: 15 }, (_, i) => behind.put(`many/${n + i}`, "x")));
      }
      expect((await bucket.list("many/")).objects).toHaveLength(1005);
    });

    it.each([0, 10, 9 * megabyte])(
      "writes and reads a stream of %i bytes as a whole object",
      async (size) => {
        const bytes = randomBytesFrom(size, 1);
        const options = { contentType: "application/gzip", metadata: { sessionId: "ü" } };
        const etag = await bucket.putStream(`stream/${size}`, pieces(bytes), options);
        const stream = (await bucket.getStream(`stream/${size}`))!;
        expect(stream).toMatchObject({ ...options, etag });
        const chunks: Uint8Array[] = [];
        for await (const chunk of stream.body) chunks.push(chunk);
        expect(digest(Buffer.concat(chunks))).toBe(digest(bytes));
      },
    );

    it.each([10, 9 * megabyte])("keeps the conditions of a stream of %i bytes", async (size) => {
      const key = `taken/${size}`;
      await bucket.put(key, "first");
      await lost(bucket.putStream(key, pieces(randomBytesFrom(size, 2)), { ifAbsent: true }));
      await lost(bucket.putStream(key, pieces(randomBytesFrom(size, 2)), { ifMatch: '"other"' }));
      expect(await textOf(key)).toBe("first");
    });

    it("has no object whose source broke off", async () => {
      async function* failing(): AsyncGenerator<Uint8Array> {
        yield randomBytesFrom(megabyte, 3);
        throw new Error("the source broke off");
      }
      await expect(bucket.putStream("broken", failing())).rejects.toThrow("the source broke off");
      expect(await bucket.head("broken")).toBeUndefined();
    });
  });
}

/** S3's limits, which the bucket in memory does not have. As `describeBucket` otherwise. */
export function describeBucketLimits(name: string, open: OpenBucket): void {
  describe(name, () => {
    const { bucket } = openedForAll(open);

    it("refuses a key above 1,024 bytes", async () => {
      await bucket.put("é".repeat(512), "fits");
      await expect(bucket.put("é".repeat(513), "does not")).rejects.toMatchObject({
        name: "KeyTooLongError",
      });
    });

    it("refuses metadata above 2 KB", async () => {
      const put = (length: number) => bucket.put("m", "x", { metadata: { sessionId: "x".repeat(length) } });
      await put(2000);
      await expect(put(2100)).rejects.toMatchObject({ name: "MetadataTooLarge" });
    });
  });
}
