import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Bucket, failure, S3Fixture } from "./s3-fixture.ts";
import type { AuthorizeS3 } from "./s3-server.ts";

const s3 = new S3Fixture();
const asked: Parameters<AuthorizeS3>[0][] = [];
let refused: string[] = [];

beforeAll(async () => {
  s3.authorize = async (call) => {
    asked.push(call);
    return refused.includes(call.action) ? `the role does not allow ${call.action}` : undefined;
  };
  await s3.start();
  await s3.put("a.txt", "hello");
});
afterAll(() => s3.end());
beforeEach(() => {
  asked.length = 0;
  refused = [];
});

const Key = "a.txt";
const bucketArn = `arn:aws:s3:::${Bucket}`;
const arn = `${bucketArn}/${Key}`;
const accessDenied = { name: "AccessDenied", status: 403 };

/** Each request with the permissions that it needs. */
const requests: [name: string, send: () => Promise<unknown>, needs: [action: string, resource: string][]][] =
  [
    ["PutObject", () => s3.put(Key), [["s3:PutObject", arn]]],
    [
      "PutObject with If-Match",
      () => s3.client.send(new PutObjectCommand({ Bucket, Key, Body: "x", IfMatch: "*" })),
      [
        ["s3:PutObject", arn],
        ["s3:GetObject", arn],
      ],
    ],
    ["GetObject", () => s3.get(Key), [["s3:GetObject", arn]]],
    [
      "DeleteObject",
      () => s3.client.send(new DeleteObjectCommand({ Bucket, Key: "b.txt" })),
      [["s3:DeleteObject", `${bucketArn}/b.txt`]],
    ],
    [
      "DeleteObject with If-Match",
      () => s3.client.send(new DeleteObjectCommand({ Bucket, Key: "b.txt", IfMatch: "*" })),
      [
        ["s3:DeleteObject", `${bucketArn}/b.txt`],
        ["s3:GetObject", `${bucketArn}/b.txt`],
      ],
    ],
    [
      "ListObjectsV2",
      () => s3.client.send(new ListObjectsV2Command({ Bucket })),
      [["s3:ListBucket", bucketArn]],
    ],
    [
      "CreateMultipartUpload",
      () => s3.client.send(new CreateMultipartUploadCommand({ Bucket, Key })),
      [["s3:PutObject", arn]],
    ],
  ];

describe("the authorize hook", () => {
  it.each(requests)(
    "is asked for what %s needs, in the terms of a policy, and what it refuses is refused",
    async (_, send, needs) => {
      await send();
      expect(asked.map(({ accessKeyId, action, resource }) => [accessKeyId, action, resource])).toEqual(
        needs.map((need) => ["LOCALTEST", ...need]),
      );
      for (const [action] of needs) {
        refused = [action];
        expect(await failure(send())).toEqual(accessDenied);
      }
    },
  );

  it("is asked for each step of a multipart upload", async () => {
    const { UploadId } = await s3.client.send(new CreateMultipartUploadCommand({ Bucket, Key: "m.txt" }));
    const upload = { Bucket, Key: "m.txt", UploadId };
    const sendPart = () => s3.client.send(new UploadPartCommand({ ...upload, PartNumber: 1, Body: "x" }));
    const abort = () => s3.client.send(new AbortMultipartUploadCommand(upload));
    refused = ["s3:PutObject"];
    expect(await failure(sendPart())).toEqual(accessDenied);
    const MultipartUpload = { Parts: [{ PartNumber: 1, ETag: '"0"' }] };
    const completed = s3.client.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload }));
    expect(await failure(completed)).toEqual(accessDenied);
    refused = ["s3:AbortMultipartUpload"];
    expect(await failure(abort())).toEqual(accessDenied);
    refused = [];
    await abort();
  });

  it("decides whether a caller may know that a key is missing", async () => {
    const none = { Bucket, Key: "none" };
    const reads = [
      () => s3.client.send(new GetObjectCommand(none)),
      () => s3.client.send(new HeadObjectCommand(none)),
    ];
    for (const read of reads) expect((await failure(read())).status).toBe(404);
    expect(asked).toContainEqual(expect.objectContaining({ action: "s3:ListBucket", resource: bucketArn }));
    refused = ["s3:ListBucket"];
    for (const read of reads) expect((await failure(read())).status).toBe(403);
    expect(await s3.get(Key)).toBe("x");
  });

  it("receives the condition keys of a listing", async () => {
    await s3.client.send(new ListObjectsV2Command({ Bucket, Prefix: "agents/", Delimiter: "/", MaxKeys: 5 }));
    const context = { "s3:prefix": "agents/", "s3:delimiter": "/", "s3:max-keys": "5" };
    expect(asked).toEqual([
      { accessKeyId: "LOCALTEST", action: "s3:ListBucket", resource: bucketArn, context },
    ]);
  });

  it("gives its reason to the caller, and nothing is stored", async () => {
    refused = ["s3:PutObject"];
    await expect(s3.put("f.txt", "x".repeat(3_000_000))).rejects.toThrow(
      "the role does not allow s3:PutObject",
    );
    refused = [];
    expect((await failure(s3.get("f.txt"))).name).toBe("NoSuchKey");
    expect(await s3.staged()).toEqual([]);
  });

  it("is not even asked about what is addressed to another name", async () => {
    const answer = await s3.raw("GET", `/${Bucket}/${Key}`, { host: "page.example" });
    expect(answer).toMatchObject({ status: 403, code: "AccessDenied" });
    expect(asked).toEqual([]);
  });

  it("learns of a presigned URL who signed it, and of an unsigned request that nobody did", async () => {
    const date = new Date().toISOString().replace(/[-:]|\.\d+/g, "");
    const query = new URLSearchParams({
      "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
      "X-Amz-Credential": `SIGNER/${date.slice(0, 8)}/us-east-1/s3/aws4_request`,
      "X-Amz-Date": date,
      "X-Amz-Expires": "60",
      "X-Amz-SignedHeaders": "host",
      "X-Amz-Signature": "0",
    });
    expect((await fetch(`${s3.server.url}/${Bucket}/${Key}?${query}`)).status).toBe(200);
    expect((await fetch(`${s3.server.url}/${Bucket}/${Key}`)).status).toBe(200);
    expect(asked.map(({ accessKeyId }) => accessKeyId)).toEqual(["SIGNER", undefined]);
  });
});
