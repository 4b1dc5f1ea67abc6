import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  ListPartsCommand,
  UploadPartCommand,
  UploadPartCopyCommand,
} from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Bucket, failure, S3Fixture } from "./s3-fixture.ts";

const s3 = new S3Fixture();
beforeAll(() => s3.start());
afterAll(() => s3.end());

const mebibyte = 1024 * 1024;
const five = Buffer.alloc(5 * mebibyte, "5");

async function begin(Key: string, more: object = {}): Promise<string> {
  const { UploadId } = await s3.client.send(new CreateMultipartUploadCommand({ Bucket, Key, ...more }));
  return UploadId ?? "";
}

async function part(
  Key: string,
  UploadId: string,
  PartNumber: number,
  Body: Buffer | string,
): Promise<CompletedPart> {
  const sent = await s3.client.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber, Body }));
  return { PartNumber, ETag: sent.ETag, ChecksumCRC32: sent.ChecksumCRC32 };
}

const complete = (Key: string, UploadId: string, Parts: CompletedPart[], more: object = {}) =>
  s3.client.send(
    new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts }, ...more }),
  );
const abort = (Key: string, UploadId: string) =>
  s3.client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }));
const md5 = (bytes: Buffer | string) => createHash("md5").update(bytes).digest();
const uploads = () => readdir(join(s3.dir, ".uploads"));

describe("a multipart upload", () => {
  it("becomes one object of its parts, in order, with the attributes it was begun with", async () => {
    const uploadId = await begin("big.bin", { ContentType: "video/mp4", Metadata: { a: "1" } });
    const third = await part("big.bin", uploadId, 7, "the end");
    const first = await part("big.bin", uploadId, 1, five);
    const second = await part("big.bin", uploadId, 2, Buffer.concat([five, Buffer.from("!")]));
    expect((await failure(s3.get("big.bin"))).name).toBe("NoSuchKey");

    const done = await complete("big.bin", uploadId, [first, second, third]);
    const bodies = [five, Buffer.concat([five, Buffer.from("!")]), Buffer.from("the end")];
    const etag = `"${md5(Buffer.concat(bodies.map(md5))).toString("hex")}-3"`;
    expect(done).toMatchObject({ Bucket, Key: "big.bin", ETag: etag });
    const read = await s3.client.send(new GetObjectCommand({ Bucket, Key: "big.bin" }));
    expect(read).toMatchObject({ ETag: etag, ContentType: "video/mp4", Metadata: { a: "1" } });
    const whole = Buffer.from((await read.Body?.transformToByteArray()) ?? []);
    expect(whole.equals(Buffer.concat(bodies))).toBe(true);
    expect(await uploads()).toEqual([]);
    expect(await s3.staged()).toEqual([]);
  });

  it("takes the last body that was sent for a part", async () => {
    const uploadId = await begin("resent.bin");
    await part("resent.bin", uploadId, 1, "first try");
    const second = await part("resent.bin", uploadId, 1, "second try");
    await complete("resent.bin", uploadId, [second]);
    expect(await s3.get("resent.bin")).toBe("second try");
  });

  it("may leave out parts that were sent", async () => {
    const uploadId = await begin("some.bin");
    await part("some.bin", uploadId, 1, "unused");
    await complete("some.bin", uploadId, [await part("some.bin", uploadId, 2, "used")]);
    expect(await s3.get("some.bin")).toBe("used");
  });

  it("goes on after a restart", async () => {
    const uploadId = await begin("resumed.bin");
    const first = await part("resumed.bin", uploadId, 1, five);
    await s3.restart();
    const second = await part("resumed.bin", uploadId, 2, "rest");
    await complete("resumed.bin", uploadId, [first, second]);
    expect(await s3.get("resumed.bin")).toBe(`${five}rest`);
  });

  it("is gone after it was aborted", async () => {
    const uploadId = await begin("aborted.bin");
    await part("aborted.bin", uploadId, 1, "x");
    await abort("aborted.bin", uploadId);
    for (const sent of [
      () => abort("aborted.bin", uploadId),
      () => part("aborted.bin", uploadId, 1, "x"),
      () => complete("aborted.bin", uploadId, [{ PartNumber: 1, ETag: '"0"' }]),
    ]) {
      expect(await failure(sent())).toEqual({ name: "NoSuchUpload", status: 404 });
    }
    expect(await uploads()).toEqual([]);
    expect(await s3.staged()).toEqual([]);
  });

  it("is removed at a start a week after it was begun, when nobody completed it", async () => {
    const [abandoned, recent] = [await begin("abandoned.bin"), await begin("recent.bin")];
    const path = join(s3.dir, ".uploads", abandoned, "upload.json");
    const upload = JSON.parse(await readFile(path, "utf8"));
    const initiated = new Date(Date.now() - 8 * 24 * 3600 * 1000).toISOString();
    await writeFile(path, JSON.stringify({ ...upload, initiated }));
    await s3.restart();
    expect(await uploads()).toEqual([recent]);
    await abort("recent.bin", recent);
  });
});

describe("completing an upload", () => {
  it("can be made to depend on the object that is there", async () => {
    await s3.put("taken.bin", "first");
    const uploadId = await begin("taken.bin");
    const parts = [await part("taken.bin", uploadId, 1, "second")];
    const refused = { name: "PreconditionFailed", status: 412 };
    expect(await failure(complete("taken.bin", uploadId, parts, { IfNoneMatch: "*" }))).toEqual(refused);
    expect(await failure(complete("taken.bin", uploadId, parts, { IfMatch: '"0"' }))).toEqual(refused);
    expect(await s3.get("taken.bin")).toBe("first");
    await complete("taken.bin", uploadId, parts, { IfMatch: `"${md5("first").toString("hex")}"` });
    expect(await s3.get("taken.bin")).toBe("second");
    expect(await s3.staged()).toEqual([]);
  });

  it("has one winner of many uploads that want the key to be free", async () => {
    const begun = await Promise.all(Array.from({ length: 8 }, () => begin("free.bin")));
    const results = await Promise.allSettled(
      begun.map(async (uploadId, i) => {
        const parts = [await part("free.bin", uploadId, 1, `upload ${i}`)];
        return complete("free.bin", uploadId, parts, { IfNoneMatch: "*" });
      }),
    );
    const winners = results.flatMap(({ status }, i) => (status === "fulfilled" ? [i] : []));
    expect(winners).toHaveLength(1);
    expect(await s3.get("free.bin")).toBe(`upload ${winners[0]}`);
  });

  it("refuses parts that are unknown, changed, out of order or too small", async () => {
    const uploadId = await begin("wrong.bin");
    const first = await part("wrong.bin", uploadId, 1, "small");
    const second = await part("wrong.bin", uploadId, 2, "last");
    for (const [parts, name] of [
      [[{ PartNumber: 3, ETag: '"0"' }], "InvalidPart"],
      [[{ PartNumber: 1, ETag: second.ETag }], "InvalidPart"],
      [[{ ...first, ChecksumCRC32: second.ChecksumCRC32 }], "InvalidPart"],
      [[second, first], "InvalidPartOrder"],
      [[first, first], "InvalidPartOrder"],
      [[first, second], "EntityTooSmall"],
      [[], "MalformedXML"],
    ] as [CompletedPart[], string][]) {
      expect(await failure(complete("wrong.bin", uploadId, parts))).toEqual({ name, status: 400 });
    }
    expect((await failure(complete("other.bin", uploadId, [first]))).name).toBe("NoSuchUpload");
    expect((await failure(complete("wrong.bin", "../../x", [first]))).name).toBe("NoSuchUpload");
    await abort("wrong.bin", uploadId);
  });
});

describe("a part", () => {
  it("that does not agree with its checksum, or has no proper number, is refused", async () => {
    const uploadId = await begin("part.bin");
    const sent = (more: object) =>
      failure(
        s3.client.send(
          new UploadPartCommand({
            Bucket,
            Key: "part.bin",
            UploadId: uploadId,
            PartNumber: 1,
            Body: "x",
            ...more,
          }),
        ),
      );
    expect((await sent({ ChecksumCRC32: "AAAAAA==" })).name).toBe("BadDigest");
    for (const PartNumber of [0, 10_001]) expect((await sent({ PartNumber })).name).toBe("InvalidArgument");
    expect(await s3.staged()).toEqual([]);
    await abort("part.bin", uploadId);
  });

  it("with a checksum algorithm takes parts with that checksum alone, and wants them named with it", async () => {
    const Key = "checked.bin";
    const UploadId = await begin(Key, { ChecksumAlgorithm: "CRC32" });
    const send = (ChecksumAlgorithm: "CRC32" | "SHA256") =>
      s3.client.send(
        new UploadPartCommand({ Bucket, Key, UploadId, PartNumber: 1, Body: "x", ChecksumAlgorithm }),
      );
    expect(await failure(send("SHA256"))).toEqual({ name: "InvalidRequest", status: 400 });
    const { ETag, ChecksumCRC32 } = await send("CRC32");
    const complete = (part: CompletedPart) =>
      s3.client.send(
        new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts: [part] } }),
      );
    expect(await failure(complete({ PartNumber: 1, ETag }))).toEqual({ name: "InvalidRequest", status: 400 });
    await complete({ PartNumber: 1, ETag, ChecksumCRC32 });
    expect(await s3.get(Key)).toBe("x");
  });

  it("cannot be copied, nor listed, nor be checked over the whole object here, and this is said", async () => {
    const Key = "part.bin";
    const UploadId = await begin(Key);
    for (const send of [
      () =>
        s3.client.send(
          new UploadPartCopyCommand({ Bucket, Key, UploadId, PartNumber: 1, CopySource: "a/b" }),
        ),
      () => s3.client.send(new ListPartsCommand({ Bucket, Key, UploadId })),
      () => begin(Key, { ChecksumAlgorithm: "CRC32", ChecksumType: "FULL_OBJECT" }),
    ]) {
      expect(await failure(send())).toEqual({ name: "NotImplemented", status: 501 });
    }
  });
});
