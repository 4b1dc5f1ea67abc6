import { randomBytes } from "node:crypto";
import { HeadObjectCommand } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openS3Bucket } from "../../shared/aws/s3-bucket.ts";
import {
  decodeMedia,
  maxMediaBytes,
  mediaOf,
  mediaPrefix,
  storeMedia,
} from "../../shared/media/media-store.ts";
import type { InboxEntry } from "../../shared/session/inbox-entry.ts";
import { canonicalizeSessionKey } from "../../shared/session/key/session-key.ts";
import type { Bucket } from "../../shared/world/world.ts";
import { Bucket as bucketName, S3Fixture } from "../aws/emulators/s3/s3-fixture.ts";
import { imageBytes } from "../support/images.ts";
import { createMemoryBucket } from "../support/memory-bucket.ts";

const s3 = new S3Fixture();
let bucket: Bucket;
beforeAll(async () => {
  await s3.start();
  Object.assign(process.env, {
    AWS_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "LOCALTEST",
    AWS_SECRET_ACCESS_KEY: "local",
    AWS_ENDPOINT_URL_S3: s3.server.url,
  });
  bucket = openS3Bucket(bucketName);
});
afterAll(() => s3.end());

const sessionKey = "agent:main:main";
const target = { sessionKey, now: 1_708_300_000_000 };
const bytes = (text = "some bytes") => Buffer.from(text);
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("storing media", () => {
  it("builds the key of the session, a UUID and the extension", async () => {
    const media = { type: "image", mimeType: "image/png", body: imageBytes() } as const;
    for (const id of [undefined, "m1"]) {
      const { r2Key } = await storeMedia(bucket, { ...target, id }, media);
      const [folder, session, name = ""] = r2Key.split("/");
      expect([folder, session]).toEqual(["media", sessionKey]);
      expect(name.replace(/\.png$/, "")).toMatch(uuid);
    }
  });

  it("keeps a session key as one segment, however long and strange it is", async () => {
    const rules = { mainKey: "main", dmScope: "per-peer" } as const;
    for (const key of [
      "agent:main:dm:../../x/y",
      `agent:main:whatsapp:group:${"ü/".repeat(300)}`,
      "a/b/../c",
    ]) {
      const canonical = canonicalizeSessionKey(key, rules);
      const media = { type: "document", mimeType: "text/plain", body: bytes() } as const;
      const { r2Key } = await storeMedia(bucket, { ...target, sessionKey: canonical }, media);
      expect(r2Key.split("/")).toHaveLength(3);
      expect(r2Key.split("/")[1]).toBe(canonical);
    }
    for (const key of ["", "..", "main", "agent:main:a/b", "agent:", "agent:Main:x"])
      expect(() => mediaPrefix(key)).toThrow("not a canonical session key");
  });

  it("stores raw bytes, and says how many", async () => {
    const body = imageBytes("image/webp", 5000);
    const stored = await storeMedia(bucket, target, { type: "image", mimeType: "image/webp", body });
    expect(stored).toMatchObject({ type: "image", mimeType: "image/webp", size: 5000 });
    expect(Buffer.from((await bucket.get(stored.r2Key))?.body ?? [])).toEqual(body);
  });

  it("accepts exactly 25 MB and refuses one byte more", async () => {
    const memory = createMemoryBucket();
    const media = { type: "video", mimeType: "video/mp4" } as const;
    const { size } = await storeMedia(memory, target, { ...media, body: Buffer.alloc(maxMediaBytes) });
    expect(size).toBe(25 * 1024 * 1024);
    const tooLarge = storeMedia(memory, target, { ...media, body: Buffer.alloc(maxMediaBytes + 1) });
    await expect(tooLarge).rejects.toMatchObject({ code: 413, message: "data: larger than 25 MB" });
    expect(memory.keys()).toHaveLength(1);
  });

  it.each([
    ["no MIME type", "document", "png", "mimeType: not a MIME type"],
    ["an empty one", "document", "", "mimeType: not a MIME type"],
    ["one that would add a header", "document", "text/plain\r\nx-evil: 1", "mimeType: not a MIME type"],
    ["one beyond ASCII", "document", "text/plain; name=ü", "mimeType: not a MIME type"],
    ["one of 300 characters", "document", `text/${"x".repeat(300)}`, "mimeType: not a MIME type"],
    ["one of another kind", "image", "application/pdf", "mimeType: application/pdf is not of the type image"],
    [
      "one that only looks of the kind",
      "image",
      "imagery/png",
      "mimeType: imagery/png is not of the type image",
    ],
  ] as const)("refuses %s", async (_what, type, mimeType, message) => {
    const memory = createMemoryBucket();
    const refused = storeMedia(memory, target, { type, mimeType, body: bytes() });
    await expect(refused).rejects.toMatchObject({ code: 400, message });
    expect(memory.keys()).toEqual([]);
  });

  it("refuses an attachment without bytes", async () => {
    const empty = { type: "document", mimeType: "text/plain", body: new Uint8Array() } as const;
    await expect(storeMedia(bucket, target, empty)).rejects.toMatchObject({ code: 400 });
  });

  it("keeps parameters in the content type, and finds the extension without them, in any case", async () => {
    const media = { type: "audio", mimeType: "Audio/OGG; codecs=opus", body: bytes() } as const;
    const { r2Key } = await storeMedia(bucket, target, media);
    expect(r2Key.endsWith(".ogg")).toBe(true);
    expect((await bucket.get(r2Key))?.contentType).toBe("Audio/OGG; codecs=opus");
  });

  it("says what an image is by its bytes, not by what its sender called it", async () => {
    const jpeg = { type: "image", mimeType: "image/jpg", body: imageBytes("image/jpeg") } as const;
    const stored = await storeMedia(bucket, target, jpeg);
    expect(stored.mimeType).toBe("image/jpeg");
    expect((await bucket.get(stored.r2Key))?.contentType).toBe("image/jpg");
    const noImage = { type: "image", mimeType: "image/png", body: bytes("no image") } as const;
    expect((await storeMedia(bucket, target, noImage)).mimeType).toBe("application/octet-stream");
    const panorama = imageBytes("image/jpeg", 64, [16_000, 2000]);
    expect((await storeMedia(bucket, target, { ...jpeg, body: panorama })).mimeType).toBe(
      "application/octet-stream",
    );
  });
});

describe("the metadata of media", () => {
  it("is originalFilename, uploadedAt and sessionKey", async () => {
    const filename = "Überweisung 🧾.pdf";
    const media = { type: "document", mimeType: "application/pdf", filename, body: bytes() } as const;
    const { r2Key } = await storeMedia(bucket, target, media);
    expect((await bucket.get(r2Key))?.metadata).toEqual({
      originalFilename: filename,
      uploadedAt: "1708300000000",
      sessionKey,
    });
  });

  it("is printable ASCII under lower-case names for other S3 tools", async () => {
    const media = {
      type: "document",
      mimeType: "application/pdf",
      filename: "ü.pdf",
      body: bytes(),
    } as const;
    const { r2Key } = await storeMedia(bucket, target, media);
    const head = await s3.client.send(new HeadObjectCommand({ Bucket: bucketName, Key: r2Key }));
    expect(head.Metadata).toEqual({
      originalfilename: "%C3%BC.pdf",
      uploadedat: "1708300000000",
      sessionkey: "agent%3Amain%3Amain",
    });
  });

  it("has an empty originalFilename where there is none", async () => {
    const stored = await storeMedia(bucket, target, { type: "image", mimeType: "image/gif", body: bytes() });
    expect((await bucket.get(stored.r2Key))?.metadata.originalFilename ?? "").toBe("");
    expect(stored).not.toHaveProperty("filename");
  });

  it.each(["x", "ü", "漢", "🧾", "%", "\u0000"])(
    "stays within the 2 KB of S3 with a name of 3000 times %j and the longest session key",
    async (character) => {
      const long = canonicalizeSessionKey(`agent:main:dm:${"@".repeat(500)}`, {
        mainKey: "main",
        dmScope: "per-peer",
      });
      expect(long.length).toBe(200);
      const filename = `${character.repeat(3000)}.pdf`;
      const media = { type: "document", mimeType: "application/pdf", filename, body: bytes() } as const;
      const { r2Key, filename: kept = "" } = await storeMedia(bucket, { ...target, sessionKey: long }, media);
      const { metadata } = (await bucket.get(r2Key)) ?? {};
      expect(metadata).toMatchObject({ originalFilename: kept, sessionKey: long });
      expect(kept.endsWith(".pdf")).toBe(true);
      expect(kept.isWellFormed()).toBe(true);
    },
  );

  it("has no control characters in it, and takes half a character for none", async () => {
    const filename = "a\nb\ud83e.txt";
    const media = { type: "document", mimeType: "text/plain", filename, body: bytes() } as const;
    expect((await storeMedia(bucket, target, media)).filename).toBe("a b\ufffd.txt");
  });
});

describe("storing media again", () => {
  const media = () => ({ type: "image", mimeType: "image/png", body: imageBytes() }) as const;

  it("is the same object for the same id and bytes", async () => {
    const memory = createMemoryBucket();
    const image = media();
    const first = await storeMedia(memory, { ...target, id: "m1" }, image);
    const second = await storeMedia(memory, { ...target, id: "m1", now: target.now + 5 }, image);
    expect(second.r2Key).toBe(first.r2Key);
    expect(memory.keys()).toEqual([first.r2Key]);
  });

  it("never replaces one image by another", async () => {
    const memory = createMemoryBucket();
    const image = media();
    const other = { ...target, sessionKey: "agent:main:other" };
    await storeMedia(memory, { ...target, id: "m1" }, image);
    await storeMedia(memory, { ...target, id: "m2" }, image);
    await storeMedia(memory, { ...target, id: "m1" }, media());
    await storeMedia(memory, { ...other, id: "m1" }, image);
    await storeMedia(memory, target, image);
    await storeMedia(memory, target, image);
    expect(memory.keys()).toHaveLength(6);
  });
});

describe("decoding base64", () => {
  it("takes what every encoder writes", () => {
    for (let size = 1; size < 70; size++) {
      const body = randomBytes(size);
      const text = body.toString("base64");
      expect(decodeMedia(text)).toEqual(body);
      expect(decodeMedia(text.replace(/.{20}/g, "$&\r\n"))).toEqual(body);
    }
  });

  it.each(["ä", "AAA", "AA!A", "====", "A===", "data:image/png;base64,AAAA", "AAAA AAA", "AA==AAAA"])(
    "refuses %s",
    (text) => {
      expect(() => decodeMedia(text)).toThrow("data: not base64");
    },
  );

  it("refuses more than 25 MB before it decodes", () => {
    expect(decodeMedia(Buffer.alloc(maxMediaBytes).toString("base64"))).toHaveLength(maxMediaBytes);
    expect(() => decodeMedia("A".repeat(60 * 1024 * 1024))).toThrow("data: larger than 25 MB");
  });
});

it("names the media that messages in the inbox bring, for a reset to leave", () => {
  const base = { at: 1, origin: { kind: "client" } } as const;
  const media = [1, 2].map((n) => ({
    type: "image" as const,
    mimeType: "image/png",
    r2Key: `media/agent:main:main/${n}.png`,
    size: 1,
  }));
  const inbox: InboxEntry[] = [
    { ...base, id: "r", kind: "reset", via: "command" },
    { ...base, id: "a", kind: "message", text: "none" },
    { ...base, id: "b", kind: "message", text: "two", media },
  ];
  expect(mediaOf(inbox)).toEqual(new Set(["media/agent:main:main/1.png", "media/agent:main:main/2.png"]));
});
