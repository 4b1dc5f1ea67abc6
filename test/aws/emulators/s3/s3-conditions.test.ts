import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
} from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Bucket, failure, S3Fixture } from "./s3-fixture.ts";

const s3 = new S3Fixture();
beforeAll(() => s3.start());
afterAll(() => s3.end());

const put = (Key: string, Body: string, more: object = {}) =>
  s3.client.send(new PutObjectCommand({ Bucket, Key, Body, ...more }));
const get = (Key: string, more: object = {}) =>
  s3.client.send(new GetObjectCommand({ Bucket, Key, ...more }));
const head = (Key: string, more: object = {}) =>
  s3.client.send(new HeadObjectCommand({ Bucket, Key, ...more }));

describe("a conditional write", () => {
  it("with If-None-Match * has exactly one winner of a hundred at once", async () => {
    const attempts = Array.from({ length: 100 }, (_, i) =>
      put("race.txt", `writer ${i}`, { IfNoneMatch: "*" }),
    );
    const results = await Promise.allSettled(attempts);
    const winners = results.flatMap(({ status }, i) => (status === "fulfilled" ? [i] : []));
    expect(winners).toHaveLength(1);
    for (const result of results) {
      if (result.status === "rejected") expect(result.reason).toMatchObject({ name: "PreconditionFailed" });
    }
    expect(await s3.get("race.txt")).toBe(`writer ${winners[0]}`);
    expect(await s3.staged()).toEqual([]);
  });

  it("with If-Match lets no update of a contended object get lost", async () => {
    await put("counter.txt", "");
    async function append(mark: string): Promise<void> {
      for (;;) {
        const read = await get("counter.txt");
        const text = await read.Body?.transformToString();
        try {
          await put("counter.txt", `${text}${mark}`, { IfMatch: read.ETag });
          return;
        } catch (error) {
          expect(error).toMatchObject({ name: "PreconditionFailed", $metadata: { httpStatusCode: 412 } });
        }
      }
    }
    await Promise.all([..."abcdefgh"].map(append));
    expect([...(await s3.get("counter.txt"))].sort().join("")).toBe("abcdefgh");
  });

  it("with If-Match takes the ETag with or without quotation marks, and * for any object", async () => {
    const etag = await s3.put("matched.txt", "1");
    await put("matched.txt", "2", { IfMatch: etag.replaceAll('"', "") });
    await put("matched.txt", "3", { IfMatch: "*" });
    expect((await failure(put("matched.txt", "4", { IfMatch: etag }))).name).toBe("PreconditionFailed");
    expect(await s3.get("matched.txt")).toBe("3");
  });

  it("with If-Match of an object that does not exist is answered with NoSuchKey", async () => {
    expect(await failure(put("none.txt", "1", { IfMatch: '"0"' }))).toEqual({
      name: "NoSuchKey",
      status: 404,
    });
  });

  it("with a header S3 does not take is not carried out", async () => {
    expect(await failure(put("none.txt", "1", { IfNoneMatch: '"0"' }))).toEqual({
      name: "NotImplemented",
      status: 501,
    });
  });

  it("deletes only the object with the ETag of If-Match", async () => {
    const remove = (IfMatch: string) =>
      s3.client.send(new DeleteObjectCommand({ Bucket, Key: "matched.txt", IfMatch }));
    expect(await failure(remove('"0"'))).toEqual({ name: "PreconditionFailed", status: 412 });
    expect(await s3.get("matched.txt")).toBe("3");
    await remove(`${(await head("matched.txt")).ETag}`);
    expect((await failure(head("matched.txt"))).status).toBe(404);
  });
});

describe("a conditional read", () => {
  it("answers 304 to a reader who has the object already", async () => {
    const etag = await s3.put("cached.txt", "1");
    for (const condition of [{ IfNoneMatch: etag }, { IfNoneMatch: `"other", ${etag}` }]) {
      expect((await failure(get("cached.txt", condition))).status).toBe(304);
      expect((await failure(head("cached.txt", condition))).status).toBe(304);
    }
  });

  it("answers 412 to a reader who wants another object", async () => {
    await s3.put("cached.txt", "1");
    const condition = { IfMatch: '"other"' };
    expect(await failure(get("cached.txt", condition))).toEqual({ name: "PreconditionFailed", status: 412 });
    expect((await failure(head("cached.txt", condition))).status).toBe(412);
  });

  it("answers the object otherwise", async () => {
    const etag = await s3.put("cached.txt", "1");
    for (const condition of [{ IfMatch: etag }, { IfNoneMatch: '"other"' }]) {
      expect((await get("cached.txt", condition)).ContentLength).toBe(1);
    }
  });
});
