import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openLocal, type TestWorld, worlds } from "./worlds.ts";

const put = (url: string, body: string) => fetch(url, { method: "PUT", body });

describe.each(worlds)("the presigned URLs of %s", (_name, open) => {
  let test: TestWorld;
  beforeAll(async () => {
    test = await open();
  });
  afterAll(() => test.close());

  it("store what is uploaded, and give it back", async () => {
    const { presigner, bucket } = test.world;
    const text = "größe ".repeat(40_000);
    const url = await presigner.put("payloads/a b+c.json", 60, Buffer.byteLength(text));
    expect((await put(url, text)).status).toBe(200);
    expect(Buffer.from((await bucket.get("payloads/a b+c.json"))!.body).toString()).toBe(text);
    expect(await (await fetch(await presigner.get("payloads/a b+c.json", 60))).text()).toBe(text);
  });

  it("answer 404 for an object that is not there", async () => {
    expect((await fetch(await test.world.presigner.get("payloads/nothing", 60))).status).toBe(404);
  });

  it("end after their time", async () => {
    const { presigner, bucket } = test.world;
    await bucket.put("payloads/short", "x");
    const url = await presigner.get("payloads/short", 1);
    await expect.poll(async () => (await fetch(url)).status).toBe(403);
  });
});

// The emulator of S3 does not verify signatures, so only the local world's own URLs are held to their method.
describe("the presigned URLs of the local world", () => {
  let test: TestWorld;
  beforeAll(async () => {
    test = await openLocal();
  });
  afterAll(() => test.close());

  it("work for one method alone", async () => {
    const { presigner, bucket } = test.world;
    await bucket.put("payloads/one", "one");
    const reading = await presigner.get("payloads/one", 60);
    expect((await put(reading, "two")).status).toBe(403);
    const writing = await presigner.put("payloads/one", 60, 3);
    expect((await fetch(writing)).status).toBe(403);
    expect(await (await fetch(reading)).text()).toBe("one");
  });

  it("take a body of the announced size alone", async () => {
    const url = await test.world.presigner.put("payloads/sized", 60, 3);
    expect((await put(url, "four")).status).toBe(403);
    expect(await test.world.bucket.head("payloads/sized")).toBeUndefined();
    expect((await put(url, "one")).status).toBe(200);
  });
});
