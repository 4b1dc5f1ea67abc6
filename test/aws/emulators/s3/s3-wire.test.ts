import { createHash } from "node:crypto";
import { HeadObjectCommand } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Bucket, failure, rawRequest, S3Fixture } from "./s3-fixture.ts";

const s3 = new S3Fixture();
beforeAll(async () => {
  await s3.start();
  await s3.put("file.txt", "hello");
});
afterAll(() => s3.end());

const send = (
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body: string | Buffer = "",
) => rawRequest(s3.server.port, method, path, headers, body);

/** A presigned URL's path and query. `signedAt` in milliseconds before now. */
function presigned(key: string, ago: number, more: Record<string, string | undefined> = {}): string {
  const date = new Date(Date.now() - ago).toISOString().replace(/[-:]|\.\d+/g, "");
  const parameters = {
    "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
    "X-Amz-Credential": `LOCALTEST/${date.slice(0, 8)}/us-east-1/s3/aws4_request`,
    "X-Amz-Date": date,
    "X-Amz-Expires": "60",
    "X-Amz-SignedHeaders": "host",
    "X-Amz-Signature": "0".repeat(64),
    ...more,
  };
  const present = Object.entries(parameters).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return `/${Bucket}/${key}?${new URLSearchParams(present)}`;
}

describe("a presigned URL", () => {
  it("lets a plain HTTP client read and write until it expires", async () => {
    const written = await send(
      "PUT",
      presigned("presigned.txt", 0),
      { "content-type": "text/plain" },
      "by fetch",
    );
    expect(written.status).toBe(200);
    const read = await send("GET", presigned("presigned.txt", 50_000));
    expect(read).toMatchObject({ status: 200, text: "by fetch" });
    expect(read.headers["content-type"]).toBe("text/plain");
  });

  it("is refused once it has expired, and changes nothing", async () => {
    const late = await send("PUT", presigned("presigned.txt", 61_000), {}, "too late");
    expect(late).toMatchObject({ status: 403, code: "AccessDenied" });
    expect(late.text).toContain("Request has expired");
    expect(await s3.get("presigned.txt")).toBe("by fetch");
    expect((await send("GET", presigned("presigned.txt", 10_000, { "X-Amz-Expires": "9" }))).status).toBe(
      403,
    );
  });

  it("is refused when it is not whole, or for longer than a week", async () => {
    for (const more of [
      { "X-Amz-Expires": "604801" },
      { "X-Amz-Expires": "-1" },
      { "X-Amz-Expires": undefined },
      { "X-Amz-Date": "2026-01-01" },
      { "X-Amz-Date": "20261340T000000Z" },
      { "X-Amz-Date": undefined },
      { "X-Amz-Credential": "LOCALTEST" },
      { "X-Amz-SignedHeaders": undefined },
      { "X-Amz-Algorithm": "AWS4-HMAC-SHA1" },
    ]) {
      const answer = await send("GET", presigned("file.txt", 0, more));
      expect(answer).toMatchObject({ status: 400, code: "AuthorizationQueryParametersError" });
    }
    expect((await send("GET", presigned("file.txt", 0, { "X-Amz-Signature": undefined }))).status).toBe(501);
  });

  it("may hold the checksum of an empty body, which S3 ignores", async () => {
    const upload = {
      "x-amz-checksum-crc32": "AAAAAA==",
      "x-amz-sdk-checksum-algorithm": "CRC32",
      "x-id": "PutObject",
    };
    expect((await send("PUT", presigned("sum.txt", 0, upload), {}, "not nothing")).status).toBe(200);
    expect((await send("PUT", presigned("sum.txt", 0, { "x-amz-acl": "public-read" }))).code).toBe(
      "NotImplemented",
    );
  });
});

describe("a request without Signature Version 4", () => {
  it("is refused", async () => {
    expect(await send("GET", `/${Bucket}/file.txt`)).toMatchObject({ status: 403, code: "AccessDenied" });
    const old = await send("GET", `/${Bucket}/file.txt`, { authorization: "AWS LOCALTEST:0" });
    expect(old).toMatchObject({ status: 400, code: "InvalidRequest" });
  });
});

describe("an aws-chunked body", () => {
  const put = (body: string, length: number, more: Record<string, string> = {}) => {
    const headers = { "x-amz-decoded-content-length": String(length), "content-encoding": "aws-chunked" };
    const kind = { "x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER" };
    return s3.raw("PUT", `/${Bucket}/chunked.txt`, { ...headers, ...kind, ...more }, body);
  };
  const trailer = { "x-amz-trailer": "x-amz-checksum-crc32" };

  it("is stored without its framing, whether chunks are signed or not", async () => {
    const signature = `chunk-signature=${"0".repeat(64)}`;
    const body = `5;${signature}\r\nhello\r\n7;${signature}\r\n, wo\r\nr\r\n0;${signature}\r\n\r\n`;
    const answer = await put(body, 12, { "x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD" });
    expect(answer.status).toBe(200);
    expect(await s3.get("chunked.txt")).toBe("hello, wo\r\nr");
    expect((await put("0\r\n\r\n", 0)).status).toBe(200);
    expect(await s3.get("chunked.txt")).toBe("");
  });

  it("with a trailing checksum is verified, and the checksum kept", async () => {
    const body = "5\r\nhello\r\n0\r\nx-amz-checksum-crc32: NhCmhg==\r\nx-amz-trailer-signature:0\r\n\r\n";
    const answer = await put(body, 5, trailer);
    expect(answer).toMatchObject({ status: 200, headers: { "x-amz-checksum-crc32": "NhCmhg==" } });
    const wrong = "3\r\nbye\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n";
    expect(await put(wrong, 3, trailer)).toMatchObject({ status: 400, code: "BadDigest" });
    expect(await put("3\r\nbye\r\n0\r\n\r\n", 3, trailer)).toMatchObject({ code: "MalformedTrailerError" });
    expect(await s3.get("chunked.txt")).toBe("hello");
  });

  it.each([
    ["ends in a chunk", "a\r\nhello"],
    ["ends before its last chunk", "5\r\nhello\r\n"],
    ["ends in its trailers", "5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg=="],
    ["has a size that is none", "five\r\nhello\r\n0\r\n\r\n"],
    ["has a chunk longer than its size", "4\r\nhello\r\n0\r\n\r\n"],
    ["has a header that does not end", "5".repeat(20_000)],
    ["is shorter than its stated length", "4\r\nhell\r\n0\r\n\r\n"],
    ["is not chunked at all", "hello"],
  ])("that %s is refused", async (_, body) => {
    expect(await put(body, 5)).toMatchObject({ status: 400, code: "IncompleteBody" });
    expect(await s3.get("chunked.txt")).toBe("hello");
    expect(await s3.staged()).toEqual([]);
  });

  it("that does not state its length is refused", async () => {
    const headers = {
      "x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
      "transfer-encoding": "chunked",
    };
    const answer = await s3.raw("PUT", `/${Bucket}/chunked.txt`, headers, "0\r\n\r\n");
    expect(answer).toMatchObject({ status: 411, code: "MissingContentLength" });
  });
});

describe("a body", () => {
  it("that does not agree with the hash that was signed is refused", async () => {
    const hash = createHash("sha256").update("other").digest("hex");
    const answer = await s3.raw("PUT", `/${Bucket}/hash.txt`, { "x-amz-content-sha256": hash }, "body");
    expect(answer).toMatchObject({ status: 400, code: "XAmzContentSHA256Mismatch" });
  });

  it("with two checksums, or over 5 GiB, is refused before it is read", async () => {
    const two = { "x-amz-checksum-crc32": "NhCmhg==", "x-amz-checksum-sha1": "qvTGHdzF6KLavt4PO0gs2a6pQ00=" };
    expect((await s3.raw("PUT", `/${Bucket}/two.txt`, two, "hello")).code).toBe("InvalidRequest");
    const huge = {
      "x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
      "x-amz-decoded-content-length": "5368709121",
    };
    expect((await s3.raw("PUT", `/${Bucket}/huge.txt`, huge, "0\r\n\r\n")).code).toBe("EntityTooLarge");
  });

  it("that is refused is still taken off the connection, so that the next request on it is understood", async () => {
    const big = Buffer.alloc(3_000_000);
    for (let i = 0; i < 3; i += 1) {
      expect((await failure(s3.put("k".repeat(1025), big))).name).toBe("KeyTooLongError");
      expect(await s3.get("file.txt")).toBe("hello");
    }
  });
});

describe("an XML document", () => {
  const post = (body: string) => s3.raw("POST", `/${Bucket}/parts.bin?uploadId=none`, {}, body);
  const part = "<Part><PartNumber>1</PartNumber></Part>";

  it.each([
    "",
    "nonsense",
    "<CompleteMultipartUpload>",
    "<CompleteMultipartUpload></Other>",
    "<Other></Other>",
    "<CompleteMultipartUpload/><CompleteMultipartUpload/>",
    `<CompleteMultipartUpload>${part}</CompleteMultipartUpload></CompleteMultipartUpload>`,
    "<CompleteMultipartUpload><Part><ETag>&unknown;</ETag></Part></CompleteMultipartUpload>",
    "<CompleteMultipartUpload><Part><ETag>&constructor;</ETag></Part></CompleteMultipartUpload>",
    `<!DOCTYPE CompleteMultipartUpload><CompleteMultipartUpload>${part}</CompleteMultipartUpload>`,
    "<CompleteMultipartUpload></CompleteMultipartUpload>",
  ])("like %j is answered with MalformedXML", async (body) => {
    expect(await post(body)).toMatchObject({ status: 400, code: "MalformedXML" });
  });

  it("of more than four megabytes is refused", async () => {
    const document = `<CompleteMultipartUpload>${part}${" ".repeat(4_200_000)}</CompleteMultipartUpload>`;
    expect((await post(document)).code).toBe("MalformedXML");
  });

  it("that is well formed is read", async () => {
    const document = `<?xml version="1.0"?>\n<CompleteMultipartUpload xmlns="x">${part}</CompleteMultipartUpload>`;
    expect(await post(document)).toMatchObject({ status: 404, code: "NoSuchUpload" });
  });
});

describe("an error", () => {
  it("says code, message, resource and request, in XML, and the request also in a header", async () => {
    const answer = await s3.raw("GET", `/${Bucket}/a%26b?versionId=%3C1%3E`);
    expect(answer.headers["content-type"]).toBe("application/xml");
    const id = answer.headers["x-amz-request-id"];
    expect(answer.text).toContain(`<RequestId>${id}</RequestId>`);
    expect(answer.text).toContain(`<Resource>/${Bucket}/a%26b?versionId=%3C1%3E</Resource>`);
    expect(answer.text).toMatch(/<Message>[^<]+<\/Message>/);
  });

  it("to HEAD has no body", async () => {
    const answer = await s3.raw("HEAD", `/${Bucket}/none`);
    expect(answer).toMatchObject({ status: 404, text: "" });
    const sent = s3.client.send(new HeadObjectCommand({ Bucket: "no-such-bucket", Key: "none" }));
    expect(await failure(sent)).toEqual({ name: "NotFound", status: 404 });
  });

  it("meets a path that is no UTF-8 and a method that S3 does not have", async () => {
    expect(await s3.raw("GET", `/${Bucket}/%ff`)).toMatchObject({ status: 400, code: "InvalidURI" });
    expect(await s3.raw("GET", `/${Bucket}/%zz`)).toMatchObject({ status: 400, code: "InvalidURI" });
    expect(await s3.raw("PATCH", `/${Bucket}/a`)).toMatchObject({ status: 405, code: "MethodNotAllowed" });
    for (const [method, path] of [
      ["PUT", `/${Bucket}`],
      ["POST", `/${Bucket}/a`],
      ["GET", "/"],
      ["DELETE", `/${Bucket}`],
    ] as const) {
      expect(await s3.raw(method, path)).toMatchObject({ status: 501, code: "NotImplemented" });
    }
  });
});
