import { createHash } from "node:crypto";
import { once } from "node:events";
import { truncate } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { Readable } from "node:stream";
import {
  type ChecksumAlgorithm,
  CopyObjectCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectAclCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListBucketsCommand,
  ListObjectsCommand,
  PutObjectCommand,
  PutObjectTaggingCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../../../support/until.ts";
import { clientConfig } from "../support.ts";
import { Bucket, failure, S3Fixture, signed } from "./s3-fixture.ts";

const s3 = new S3Fixture();
beforeAll(() => s3.start());
afterAll(() => s3.end());

const put = (Key: string, Body: string, more: object = {}) =>
  s3.client.send(new PutObjectCommand({ Bucket, Key, Body, ...more }));
const get = (Key: string, more: object = {}) =>
  s3.client.send(new GetObjectCommand({ Bucket, Key, ...more }));
const head = (Key: string, more: object = {}) =>
  s3.client.send(new HeadObjectCommand({ Bucket, Key, ...more }));
const md5 = (body: string | Buffer) => `"${createHash("md5").update(body).digest("hex")}"`;

describe("an object that was put", () => {
  it("comes back with its body, ETag, date and every attribute it was given", async () => {
    const before = Math.floor(Date.now() / 1000) * 1000;
    const attributes = {
      ContentType: "text/markdown; charset=utf-8",
      ContentEncoding: "gzip",
      CacheControl: "no-cache",
      ContentDisposition: 'attachment; filename="a.md"',
      ContentLanguage: "de",
    };
    const Metadata = { sessionKey: "agent:main:cli", Empty: "" };
    const written = await put("agents/main/SOUL.md", "hello", { ...attributes, Metadata });
    expect(written.ETag).toBe(md5("hello"));

    const read = await get("agents/main/SOUL.md");
    expect(await read.Body?.transformToString()).toBe("hello");
    expect(read).toMatchObject({
      ...attributes,
      ETag: md5("hello"),
      ContentLength: 5,
      AcceptRanges: "bytes",
    });
    expect(read.Metadata).toEqual({ sessionkey: "agent:main:cli", empty: "" });
    expect(read.LastModified?.getTime()).toBeGreaterThanOrEqual(before);

    const known = await head("agents/main/SOUL.md");
    expect(known).toMatchObject({
      ...attributes,
      ETag: md5("hello"),
      ContentLength: 5,
      Metadata: read.Metadata,
    });
  });

  it("may be empty, and has S3's default type when it was given none", async () => {
    await s3.raw("PUT", `/${Bucket}/empty.bin`, { "content-length": "0" });
    const read = await get("empty.bin");
    expect(await read.Body?.transformToString()).toBe("");
    expect(read).toMatchObject({ ContentLength: 0, ETag: md5(""), ContentType: "binary/octet-stream" });
  });

  it("is replaced as a whole by a second put", async () => {
    await put("again.txt", "a longer first body", { Metadata: { first: "1" }, ContentType: "text/plain" });
    await put("again.txt", "second", { Metadata: { second: "2" } });
    const read = await get("again.txt");
    expect(await read.Body?.transformToString()).toBe("second");
    expect(read.Metadata).toEqual({ second: "2" });
    expect(read.ContentType).not.toBe("text/plain");
  });

  it("keeps its own body for a reader while it is replaced and deleted", async () => {
    const body = "1".repeat(3_000_000);
    await put("replaced.txt", body);
    const read = await get("replaced.txt");
    await put("replaced.txt", "2");
    await s3.client.send(new DeleteObjectCommand({ Bucket, Key: "replaced.txt" }));
    expect(await read.Body?.transformToString()).toBe(body);
  });

  it("is gone after it is deleted, and deleting it again is no error", async () => {
    await put("gone.txt", "x");
    for (const _ of [1, 2]) {
      const { $metadata } = await s3.client.send(new DeleteObjectCommand({ Bucket, Key: "gone.txt" }));
      expect($metadata.httpStatusCode).toBe(204);
    }
    expect(await failure(get("gone.txt"))).toEqual({ name: "NoSuchKey", status: 404 });
    expect(await failure(head("gone.txt"))).toEqual({ name: "NotFound", status: 404 });
  });
});

describe("a streamed body", () => {
  const chunks = (count: number, size: number) =>
    Array.from({ length: count }, (_, i) => Buffer.alloc(size, i + 1));

  it.each(["CRC32", "SHA256", "CRC32C"] as ChecksumAlgorithm[])(
    "arrives intact with a trailing %s",
    async (algorithm) => {
      const pieces = chunks(40, 70_001);
      const whole = Buffer.concat(pieces);
      const more = { Body: Readable.from(pieces), ContentLength: whole.length, ChecksumAlgorithm: algorithm };
      const written = await s3.client.send(new PutObjectCommand({ Bucket, Key: "streamed.bin", ...more }));
      expect(written.ETag).toBe(md5(whole));
      const read = await get("streamed.bin");
      expect(read.ContentEncoding).toBeUndefined();
      expect(Buffer.from((await read.Body?.transformToByteArray()) ?? []).equals(whole)).toBe(true);
    },
  );

  it("keeps the encoding of its content without that of its transfer", async () => {
    const more = { Body: Readable.from([Buffer.from("abc")]), ContentLength: 3, ContentEncoding: "gzip" };
    await s3.client.send(new PutObjectCommand({ Bucket, Key: "encoded.gz", ...more }));
    expect((await head("encoded.gz")).ContentEncoding).toBe("gzip");
  });

  it("is refused when its length is not known, as by S3", async () => {
    const config = { ...clientConfig(s3.server.url), maxAttempts: 1 };
    const client = new S3Client({ ...config, requestChecksumCalculation: "WHEN_REQUIRED" });
    const Body = Readable.from([Buffer.from("abc")]);
    const sent = client.send(new PutObjectCommand({ Bucket, Key: "unknown.bin", Body }));
    expect(await failure(sent)).toEqual({ name: "NotImplemented", status: 501 });
    expect((await failure(head("unknown.bin"))).status).toBe(404);
    client.destroy();
  });

  it("of 50 MB is written as it arrives, and read as it is sent", async () => {
    const piece = Buffer.alloc(1024 * 1024, 7);
    const size = 50 * piece.length;
    const headers = { "content-length": String(size) };
    const upload = httpRequest({ ...s3.target("PUT", "large.bin"), headers: { ...signed, ...headers } });
    for (let sent = 0; sent < 10; sent += 1) upload.write(piece);
    await until(async () => (await s3.stagedBytes()) >= 10 * piece.length);
    for (let sent = 10; sent < 50; sent += 1) upload.write(piece);
    const [stored] = await once(upload.end(), "response");
    expect(stored.statusCode).toBe(200);
    stored.resume();

    const download = httpRequest({ ...s3.target("GET", "large.bin"), headers: signed }).end();
    const [answer] = await once(download, "response");
    expect(answer.headers["content-length"]).toBe(String(size));
    await truncate(join(s3.dir, Bucket, "large.bin"), piece.length);
    let received = 0;
    answer.on("data", (chunk: Buffer) => {
      received += chunk.length;
    });
    const [error] = await once(answer, "error");
    expect(error).toMatchObject({ code: "ECONNRESET" });
    expect(received).toBeLessThan(size);
  });
});

describe("a checksum", () => {
  it.each(["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"] as ChecksumAlgorithm[])(
    "of kind %s is kept and given back when asked for",
    async (algorithm) => {
      const name = `Checksum${algorithm}` as const;
      const written = await put("sum.txt", "hello", { ChecksumAlgorithm: algorithm });
      expect(written).toHaveProperty(name, expect.any(String));
      const asked = await head("sum.txt", { ChecksumMode: "ENABLED" });
      expect(asked).toHaveProperty(name, (written as never)[name]);
      expect(await head("sum.txt")).not.toHaveProperty(name, expect.any(String));
    },
  );

  it.each([
    ["CRC32", { ChecksumCRC32: "AAAAAA==" }],
    ["SHA1", { ChecksumSHA1: Buffer.alloc(20).toString("base64") }],
    ["SHA256", { ChecksumSHA256: Buffer.alloc(32).toString("base64") }],
    ["Content-MD5", { ContentMD5: Buffer.alloc(16).toString("base64") }],
  ])("of kind %s that is wrong refuses the body", async (_, checksum) => {
    expect(await failure(put("wrong.txt", "hello", checksum))).toEqual({ name: "BadDigest", status: 400 });
    expect((await failure(head("wrong.txt"))).status).toBe(404);
    expect(await s3.staged()).toEqual([]);
  });

  it("that cannot be one is refused", async () => {
    expect((await failure(put("wrong.txt", "hello", { ChecksumCRC32: "AAA=" }))).name).toBe("InvalidRequest");
    expect((await failure(put("wrong.txt", "hello", { ContentMD5: "AAA=" }))).name).toBe("InvalidDigest");
  });
});

describe("a range", () => {
  beforeAll(() => s3.put("range.txt", "0123456789"));

  it.each([
    ["bytes=2-4", "234", "bytes 2-4/10"],
    ["bytes=7-", "789", "bytes 7-9/10"],
    ["bytes=-2", "89", "bytes 8-9/10"],
    ["bytes=8-99", "89", "bytes 8-9/10"],
    ["bytes=-99", "0123456789", "bytes 0-9/10"],
  ])("%s gives those bytes", async (Range, text, ContentRange) => {
    const read = await get("range.txt", { Range });
    expect(read.$metadata.httpStatusCode).toBe(206);
    expect(read).toMatchObject({ ContentRange, ContentLength: text.length });
    expect(await read.Body?.transformToString()).toBe(text);
  });

  it("beyond the end is refused", async () => {
    expect(await failure(get("range.txt", { Range: "bytes=10-" }))).toEqual({
      name: "InvalidRange",
      status: 416,
    });
  });

  it("that S3 does not understand gives the whole object", async () => {
    for (const Range of ["bytes=1-2,4-5", "lines=1-2", "bytes=4-2"]) {
      expect(await (await get("range.txt", { Range })).Body?.transformToString()).toBe("0123456789");
    }
  });
});

describe("user metadata", () => {
  it("may fill 2 KB, names and values together, and not a byte more", async () => {
    const value = "v".repeat(2048 - "name".length);
    await put("meta.txt", "1", { Metadata: { name: value } });
    expect((await head("meta.txt")).Metadata).toEqual({ name: value });
    const tooLarge = put("meta.txt", "2", { Metadata: { name: `${value}v` } });
    expect(await failure(tooLarge)).toEqual({ name: "MetadataTooLarge", status: 400 });
    expect(await s3.get("meta.txt")).toBe("1");
  });

  it("is refused beyond ASCII", async () => {
    expect((await failure(put("meta.txt", "1", { Metadata: { name: "é" } }))).name).toBe("InvalidArgument");
  });
});

describe("what is not there or not implemented", () => {
  it("has an error of its own", async () => {
    const missing = { Bucket: "no-such-bucket", Key: "a", Body: "x" };
    expect(await failure(s3.client.send(new GetObjectCommand(missing)))).toEqual({
      name: "NoSuchBucket",
      status: 404,
    });
    expect((await failure(s3.client.send(new PutObjectCommand(missing)))).name).toBe("NoSuchBucket");
    expect(await failure(get("none"))).toEqual({ name: "NoSuchKey", status: 404 });
  });

  it("is never answered as if it had been done", async () => {
    const { client } = s3;
    await s3.put("plain.txt");
    const Key = "plain.txt";
    const Tagging = { TagSet: [{ Key: "a", Value: "b" }] };
    for (const send of [
      () => client.send(new CopyObjectCommand({ Bucket, Key: "copy.txt", CopySource: `${Bucket}/${Key}` })),
      () => client.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects: [{ Key }] } })),
      () => client.send(new ListBucketsCommand({})),
      () => client.send(new ListObjectsCommand({ Bucket })),
      () => client.send(new GetObjectAclCommand({ Bucket, Key })),
      () => client.send(new PutObjectTaggingCommand({ Bucket, Key, Tagging })),
      () => get(Key, { VersionId: "1" }),
      () => get(Key, { PartNumber: 1 }),
      () => get(Key, { IfModifiedSince: new Date() }),
      () => get(Key, { ResponseContentType: "text/html" }),
      () => put(Key, "y", { Tagging: "a=b" }),
      () => put(Key, "y", { ACL: "public-read" }),
      () => put(Key, "y", { StorageClass: "GLACIER" }),
    ]) {
      expect(await failure(send())).toEqual({ name: "NotImplemented", status: 501 });
    }
    expect(await s3.get(Key)).toBe("x");
  });

  it("is refused when a key is over 1024 bytes", async () => {
    const longest = `${"é".repeat(511)}ab`;
    await s3.put(longest, "longest");
    expect(await s3.get(longest)).toBe("longest");
    expect(await failure(s3.put(`${longest}c`))).toEqual({ name: "KeyTooLongError", status: 400 });
  });
});
