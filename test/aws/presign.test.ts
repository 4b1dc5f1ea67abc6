import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openS3Presigner } from "../../shared/aws/s3-presigner.ts";
import { signatureOf } from "../support/sigv4.ts";
import { Bucket, rawRequest, S3Fixture } from "./emulators/s3/s3-fixture.ts";

const secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";

beforeEach(() => {
  vi.stubEnv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", secret);
  vi.stubEnv("AWS_SESSION_TOKEN", undefined);
  vi.stubEnv("AWS_REGION", "us-east-1");
  vi.stubEnv("AWS_ENDPOINT_URL_S3", undefined);
});
afterEach(() => vi.unstubAllEnvs());

it("the tests compute signatures as AWS does: its own example of a presigned URL comes out", () => {
  const url =
    "https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256" +
    "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request" +
    "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host";
  expect(signatureOf("GET", url, secret)).toBe(
    "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404",
  );
});

describe("a presigned URL", () => {
  const key = "payloads/in/L0SM9cOFvHcCIhw%3D/a b+c.json";

  it("for reading is signed for one object, for some seconds", async () => {
    const url = new URL(await openS3Presigner("my-bucket").get(key, 300));
    expect(url.origin).toBe("https://my-bucket.s3.us-east-1.amazonaws.com");
    expect(decodeURIComponent(url.pathname)).toBe(`/${key}`);
    expect(url.searchParams.get("X-Amz-Expires")).toBe("300");
    expect(url.searchParams.get("X-Amz-SignedHeaders")).toBe("host");
    expect(url.searchParams.get("X-Amz-Signature")).toBe(signatureOf("GET", url.href, secret));
  });

  it("for writing is signed for PUT and the exact length", async () => {
    const url = new URL(await openS3Presigner("my-bucket").put(key, 60, 5_000_000));
    expect(url.searchParams.get("X-Amz-SignedHeaders")).toBe("content-length;host");
    const given = url.searchParams.get("X-Amz-Signature");
    expect(given).toBe(signatureOf("PUT", url.href, secret, { "content-length": "5000000" }));
    expect(given).not.toBe(signatureOf("PUT", url.href, secret, { "content-length": "5000001" }));
    expect(given).not.toBe(signatureOf("GET", url.href, secret, { "content-length": "5000000" }));
  });

  it("carries the session token of a function's role, and is signed with it", async () => {
    vi.stubEnv("AWS_SESSION_TOKEN", "FwoGZXIvYXdzEBYaD+/=token");
    const url = new URL(await openS3Presigner("my-bucket").get(key, 300));
    expect(url.searchParams.get("X-Amz-Security-Token")).toBe("FwoGZXIvYXdzEBYaD+/=token");
    expect(url.searchParams.get("X-Amz-Signature")).toBe(signatureOf("GET", url.href, secret));
  });
});

describe("a presigned URL of the local S3", () => {
  const s3 = new S3Fixture();
  beforeEach(async () => {
    await s3.start();
    vi.stubEnv("AWS_ENDPOINT_URL_S3", s3.server.url);
  });
  afterEach(() => s3.end());

  it("stores what is uploaded, and gives it back", async () => {
    const presigner = openS3Presigner(Bucket);
    const text = "x".repeat(200_000);
    const stored = await fetch(await presigner.put("payloads/a b.json", 60, text.length), {
      method: "PUT",
      body: text,
    });
    expect(stored.status).toBe(200);
    const url = await presigner.get("payloads/a b.json", 60);
    expect(await (await fetch(url)).text()).toBe(text);
    expect(new URL(url).searchParams.get("X-Amz-Signature")).toBe(signatureOf("GET", url, secret));
  });

  it("is refused once it has expired", async () => {
    await s3.put("payloads/a.json");
    const { pathname, search } = new URL(await openS3Presigner(Bucket).get("payloads/a.json", 1));
    const read = () => rawRequest(s3.server.port, "GET", pathname + search, {});
    await expect.poll(read, { timeout: 10_000 }).toMatchObject({ status: 403, code: "AccessDenied" });
  });
});
