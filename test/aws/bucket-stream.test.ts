import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Bucket, PreconditionFailed } from "../../shared/world/world.ts";
import { type EmulatedState, startEmulatedState } from "../support/emulated-state.ts";
import { randomBytesFrom } from "../support/random.ts";

const megabyte = 1024 * 1024;
let state: EmulatedState;
let bucket: Bucket;
let actions: string[] = [];
let refused: string | undefined;

beforeAll(async () => {
  state = await startEmulatedState((action) => {
    actions.push(action);
    return action !== refused;
  });
  bucket = state.bucket;
});
beforeEach(() => {
  actions = [];
  refused = undefined;
});
afterAll(() => state.close());

/** Bytes that do not repeat, in pieces of a size that divides nothing. */
async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.byteLength; start += 77_777) yield bytes.subarray(start, start + 77_777);
}

async function readWhole(key: string): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of (await bucket.getStream(key))!.body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const options = {
  contentType: "application/gzip",
  metadata: { sessionId: "s-1", originalFilename: "Überweisung 🧾.pdf" },
};

describe("an object written from a stream", () => {
  it.each([
    ["nothing", 0, ["s3:PutObject"]],
    ["a few bytes", 10, ["s3:PutObject"]],
    ["exactly one part", 8 * megabyte, ["s3:PutObject"]],
  ])("of %s is written at once", async (_what, size, expected) => {
    const bytes = randomBytesFrom(size, 1);
    await bucket.putStream(`once/${size}`, pieces(bytes), options);
    expect(actions).toEqual(expected);
    expect(digest(await readWhole(`once/${size}`))).toBe(digest(bytes));
  });

  it("of more than a part is uploaded in parts", async () => {
    const bytes = randomBytesFrom(17 * megabyte + 3, 2);
    const etag = await bucket.putStream("parts", pieces(bytes), options);
    expect(etag).toMatch(/-3"$/);
    expect(digest(await readWhole("parts"))).toBe(digest(bytes));
  });

  it("has its content type and metadata either way", async () => {
    await bucket.putStream("small", pieces(randomBytesFrom(1, 3)), options);
    await bucket.putStream("large", pieces(randomBytesFrom(9 * megabyte, 3)), options);
    for (const key of ["small", "large"]) expect(await bucket.head(key)).toMatchObject(options);
  });

  it.each([10, 9 * megabyte])("takes the place of no other when it may not (%i bytes)", async (size) => {
    const key = `taken-${size}`;
    await bucket.putStream(key, pieces(Buffer.from("first")), { ifAbsent: true });
    const second = bucket.putStream(key, pieces(randomBytesFrom(size, 4)), { ifAbsent: true });
    await expect(second).rejects.toBeInstanceOf(PreconditionFailed);
    expect(String(await readWhole(key))).toBe("first");
  });

  it("is not there when its body fails, and nothing is left of the upload", async () => {
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield randomBytesFrom(17 * megabyte, 5);
      throw new Error("the source broke off");
    }
    await expect(bucket.putStream("broken", failing())).rejects.toThrow("the source broke off");
    expect(await bucket.head("broken")).toBeUndefined();
    expect(actions).toContain("s3:AbortMultipartUpload");
  });

  it("ends its source when a part is refused", async () => {
    let ended = false;
    async function* source(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) {
          yield randomBytesFrom(megabyte, 6);
          if (actions.length > 2) refused = "s3:PutObject";
        }
      } finally {
        ended = true;
      }
    }
    await expect(bucket.putStream("refused", source())).rejects.toThrow();
    expect(ended).toBe(true);
    expect(await bucket.head("refused")).toBeUndefined();
  });
});

describe("an object read as a stream", () => {
  it("that does not exist is undefined", async () => {
    expect(await bucket.getStream("nothing")).toBeUndefined();
    expect(await bucket.head("nothing")).toBeUndefined();
  });

  it("can be left before its end", async () => {
    await bucket.putStream("left", pieces(randomBytesFrom(9 * megabyte, 7)));
    for (let i = 0; i < 60; i++) {
      for await (const chunk of (await bucket.getStream("left"))!.body) {
        expect(chunk.byteLength).toBeGreaterThan(0);
        break;
      }
    }
  });
});
