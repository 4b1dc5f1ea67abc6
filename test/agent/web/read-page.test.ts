import { beforeEach, describe, expect, it } from "vitest";
import { passageOf } from "../../../functions/agent/web/passage.ts";
import { readPage } from "../../../functions/agent/web/read-page.ts";
import type { Fetched, FetchRequest } from "../../../shared/http/guarded-fetch.ts";
import { createMemoryBucket } from "../../support/memory-bucket.ts";

const url = "https://example.org/a";
let bucket: ReturnType<typeof createMemoryBucket>;
let asked: FetchRequest[];
let clock: number;
let answer: Fetched;
beforeEach(() => {
  bucket = createMemoryBucket();
  [asked, clock] = [[], 1_000];
  answer = served("<title>T</title><p>hello", "text/html; charset=utf-8");
});

const served = (body: string | Buffer, contentType?: string): Fetched => ({
  ...{ ok: true, url, body: Buffer.from(body) },
  ...(contentType ? { contentType } : {}),
});
const read = (address = url, isKept = true) =>
  readPage(
    {
      ...(isKept ? { bucket } : {}),
      now: () => clock,
      async guardedFetch(request) {
        asked.push(request);
        return answer;
      },
    },
    address,
  );

describe("a page", () => {
  it("is fetched once a day", async () => {
    const page = { url, title: "T", text: "hello", fetchedAt: 1_000 };
    expect(await read()).toEqual(page);
    clock += 24 * 3_600_000 - 1;
    expect(await read()).toEqual(page);
    expect(asked).toHaveLength(1);
    clock += 1;
    expect(await read()).toEqual({ ...page, fetchedAt: clock });
    expect(asked).toHaveLength(2);
    for (const key of bucket.keys()) expect(key).toMatch(/^payloads\/web\/[0-9a-f]{64}\.json\.gz$/);
  });

  it("of a private conversation is not kept, and no kept one is used", async () => {
    await read(url, false);
    expect(bucket.keys()).toEqual([]);
    await read();
    await read(url, false);
    expect(asked).toHaveLength(3);
  });

  it("is read although its copy is damaged or the bucket fails", async () => {
    await read();
    for (const key of bucket.keys()) await bucket.put(key, "damaged");
    expect(await read()).toMatchObject({ text: "hello" });
    const fail = async () => {
      throw new Error("no bucket");
    };
    bucket = { ...bucket, get: fail, put: fail };
    expect(await read()).toMatchObject({ text: "hello" });
  });

  it("is fetched with https, at most 4 MB", async () => {
    await read("HTTP://example.org/b ");
    expect(asked).toMatchObject([
      { url: "https://example.org/b", maxBytes: 4 * 1024 * 1024, timeoutMs: 20_000 },
    ]);
  });

  it.each([
    ["plain text", "<p>no tags here", "text/plain", "<p>no tags here"],
    ["JSON", '{"a": 1}', "application/json", '{"a": 1}'],
    ["a feed", "<rss>x</rss>", "application/rss+xml; charset=utf-8", "<rss>x</rss>"],
    ["an unnamed type", "<p>x", undefined, "x"],
    [
      "Latin-1, as the server says",
      Buffer.from("<p>caf\xe9", "latin1"),
      "text/html; charset=ISO-8859-1",
      "café",
    ],
    [
      "Latin-1, as the page says",
      Buffer.from('<meta charset="latin1"><p>caf\xe9', "latin1"),
      "text/html",
      "café",
    ],
    ["an encoding that nobody knows", "<p>café", "text/html; charset=klingon", "café"],
  ])("of %s is read", async (_what, body, type, text) => {
    answer = served(body, type);
    expect(await read()).toMatchObject({ text });
  });

  it("that is no text, or cannot be fetched, is refused with the reason", async () => {
    answer = served("GIF89a", "image/gif");
    expect(await read()).toEqual({
      error: "The page was not read: image/gif is not text. A machine may be able to open it.",
    });
    answer = { ok: false, reason: "answered with 404", passing: false };
    expect(await read()).toEqual({ error: "The page was not read: answered with 404." });
    expect(bucket.keys()).toEqual([]);
  });

  it("has at most 200,000 characters", async () => {
    answer = served("x".repeat(300_000), "text/plain");
    expect(await read()).toMatchObject({ text: "x".repeat(200_000) });
  });
});

it("a passage is the part of a long text with the words of the query, otherwise its beginning", () => {
  const text = `${"filler ".repeat(5_000)}the opening hours are 9 to 5 ${"filler ".repeat(5_000)}`;
  expect(passageOf("short", "hours", 100)).toEqual({ text: "short" });
  expect(passageOf(text, "opening hours", 1_000)).toEqual({
    text: expect.stringContaining("opening hours are 9 to 5"),
    length: text.length,
  });
  expect(passageOf(text, undefined, 1_000).text).toMatch(/^filler/);
});
