import {
  DeleteObjectCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandInput,
} from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Bucket, failure, S3Fixture } from "./s3-fixture.ts";

const s3 = new S3Fixture();
beforeAll(() => s3.start());
afterAll(() => s3.end());

const list = (more: Partial<ListObjectsV2CommandInput> = {}) =>
  s3.client.send(new ListObjectsV2Command({ Bucket, ...more }));
const remove = (Key: string | undefined) => s3.client.send(new DeleteObjectCommand({ Bucket, Key }));
const keysOf = ({ Contents = [] }: Awaited<ReturnType<typeof list>>) => Contents.map(({ Key }) => Key);

async function everyPage(more: Partial<ListObjectsV2CommandInput>) {
  const pages: { keys: (string | undefined)[]; prefixes: (string | undefined)[] }[] = [];
  let ContinuationToken: string | undefined;
  do {
    const page = await list({ ...more, ContinuationToken });
    const prefixes = (page.CommonPrefixes ?? []).map(({ Prefix }) => Prefix);
    pages.push({ keys: keysOf(page), prefixes });
    expect(page.KeyCount).toBe(keysOf(page).length + prefixes.length);
    expect(page.IsTruncated).toBe(page.NextContinuationToken !== undefined);
    ContinuationToken = page.NextContinuationToken;
  } while (ContinuationToken);
  return pages;
}

describe("a listing", () => {
  const keys = [
    "agents/helper/SOUL.md",
    "agents/main/AGENTS.md",
    "agents/main/SOUL.md",
    "agents/main/memory/2026-01-01.md",
    "agents/main/memory/2026-01-02.md",
    "agents/main/sessions/a.jsonl.gz",
    "agents0",
    "media/agent:main:cli/1.png",
    "readme",
    "skills/search/SKILL.md",
  ];
  beforeAll(async () => {
    for (const key of [...keys].reverse()) await s3.put(key, key);
  });

  it("holds every key in order, with what HEAD would say of it", async () => {
    const page = await list();
    expect(keysOf(page)).toEqual(keys);
    expect(page).toMatchObject({ Name: Bucket, IsTruncated: false, KeyCount: keys.length, MaxKeys: 1000 });
    const [first] = page.Contents ?? [];
    expect(first).toMatchObject({ Size: keys[0]?.length, ETag: await s3.put(keys[0] ?? "", keys[0]) });
    expect(first?.LastModified).toBeInstanceOf(Date);
  });

  it("holds the keys that begin with a prefix, wherever it ends", async () => {
    expect(keysOf(await list({ Prefix: "agents/main/me" }))).toEqual(keys.slice(3, 5));
    expect(keysOf(await list({ Prefix: "agents/main/SOUL.md" }))).toEqual(["agents/main/SOUL.md"]);
    expect(keysOf(await list({ Prefix: "agents" }))).toEqual(keys.slice(0, 7));
    expect((await list({ Prefix: "none/" })).KeyCount).toBe(0);
  });

  it("rolls up what lies deeper than a delimiter", async () => {
    const page = await list({ Prefix: "agents/main/", Delimiter: "/" });
    expect(keysOf(page)).toEqual(["agents/main/AGENTS.md", "agents/main/SOUL.md"]);
    const prefixes = [{ Prefix: "agents/main/memory/" }, { Prefix: "agents/main/sessions/" }];
    expect(page.CommonPrefixes).toEqual(prefixes);
    expect(page).toMatchObject({ KeyCount: 4, Delimiter: "/", Prefix: "agents/main/" });
    const other = await list({ Delimiter: "main" });
    expect(other.CommonPrefixes?.map(({ Prefix }) => Prefix)).toEqual(["agents/main", "media/agent:main"]);
  });

  it("comes in pages that together are the whole, each entry once", async () => {
    for (const MaxKeys of [1, 2, 3, 10, 11]) {
      const pages = await everyPage({ MaxKeys });
      expect(pages.flatMap((page) => page.keys)).toEqual(keys);
      expect(pages).toHaveLength(Math.ceil(keys.length / MaxKeys));
    }
  });

  it("comes in pages also where a page ends with a common prefix", async () => {
    for (const MaxKeys of [1, 2, 3]) {
      const pages = await everyPage({ MaxKeys, Delimiter: "/" });
      expect(pages.flatMap((page) => page.keys)).toEqual(["agents0", "readme"]);
      expect(pages.flatMap((page) => page.prefixes)).toEqual(["agents/", "media/", "skills/"]);
      expect(pages).toHaveLength(Math.ceil(5 / MaxKeys));
    }
  });

  it("begins after a key that need not exist", async () => {
    expect(keysOf(await list({ StartAfter: "agents/main/memory/2026-01-01.md" }))).toEqual(keys.slice(4));
    expect(keysOf(await list({ StartAfter: "b" }))).toEqual(keys.slice(7));
    const rolled = await list({ StartAfter: "agents/main/AGENTS.md", Delimiter: "/" });
    expect(rolled.CommonPrefixes?.[0]?.Prefix).toBe("agents/");
  });

  it("goes on after its page though keys come and go in between", async () => {
    const first = await list({ MaxKeys: 2, Prefix: "agents/" });
    await remove("agents/main/AGENTS.md");
    const rest = await list({ Prefix: "agents/", ContinuationToken: first.NextContinuationToken });
    expect(keysOf(rest)).toEqual(keys.slice(2, 6));
    await s3.put("agents/main/AGENTS.md", "again");
  });

  it("of no keys at all is an empty page and not the first of more", async () => {
    expect(await list({ MaxKeys: 0 })).toMatchObject({ KeyCount: 0, IsTruncated: false });
  });

  it("refuses parameters that make no sense", async () => {
    expect(await failure(list({ ContinuationToken: "nonsense" }))).toEqual({
      name: "InvalidArgument",
      status: 400,
    });
    expect((await failure(list({ MaxKeys: -1 }))).name).toBe("InvalidArgument");
    expect((await failure(list({ EncodingType: "base64" as "url" }))).name).toBe("InvalidArgument");
  });
});

describe("keys of every kind", () => {
  const odd = [
    " ",
    "%",
    "%25",
    "%2E%2E",
    "+plus and space",
    ".",
    "..",
    "../../outside",
    "../outside.txt",
    "./here",
    "/",
    "//",
    "/leading",
    "a",
    "a%",
    "a%%",
    "a%+",
    "a.b",
    "a.b/c",
    "a.b/c.d",
    "a.json",
    "a.json/b",
    "a/",
    "a//b",
    "a/b",
    "a/b/",
    "a\\b",
    "control\u0001\u0007\t\r\n\u007f",
    "emoji 😀/ﬀ.txt",
    "ﬀ (before an emoji in UTF-16, after it not)",
    "😀",
    `long/${"x".repeat(900)}`,
    `long/${"y.".repeat(300)}`,
    `long/${"é".repeat(200)}/end.txt`,
    "xml <&>\"'",
    "~!*'()",
    ".metadata/gsv-storage/a.json",
    ".staging/x",
    `slashes${"/".repeat(500)}`,
  ];
  const inOrder = [...odd].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));

  beforeAll(async () => {
    for (const key of keysOf(await list())) await remove(key);
    for (const key of odd) await s3.put(key, `body of ${key}`);
  });

  it("live beside each other, and are listed as they are in the order of their bytes", async () => {
    for (const key of odd) expect(await s3.get(key)).toBe(`body of ${key}`);
    expect(keysOf(await list())).toEqual(inOrder);
  });

  it("are listed percent-encoded when asked for", async () => {
    const page = await list({ EncodingType: "url" });
    const decoded = keysOf(page).map((key) => decodeURIComponent((key ?? "").replaceAll("+", " ")));
    expect(decoded).toEqual(inOrder);
    expect(keysOf(page)).toContain("%7E%21*%27%28%29");
    expect(keysOf(page)).toContain("%2Bplus+and+space");
    expect(keysOf(page)).toContain("a/b");
  });

  it("are found again after a restart, and leave nothing when they are deleted", async () => {
    await s3.restart();
    expect(keysOf(await list())).toEqual(inOrder);
    for (const key of odd) await remove(key);
    expect((await list()).KeyCount).toBe(0);
  });
});
