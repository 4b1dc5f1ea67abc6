import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  canonicalJson,
  contentHash,
  metadataView,
  metadataViewHash,
  objectHash,
  staticRef,
  withHashes,
} from "../../shared/objects/hash.ts";
import type { FileFields, MemoryObject, ObjectFields } from "../../shared/protocol/objects.ts";

const lines = (name: string) =>
  readFileSync(new URL(`fixtures/${name}`, import.meta.url), "utf8")
    .trimEnd()
    .split("\n");
const objects = lines("objects.jsonl").map((line) => JSON.parse(line) as ObjectFields);
const vectors = lines("hashes.jsonl").map((line) => JSON.parse(line) as MemoryObject);
const program = new URL("object-hashes.py", import.meta.url).pathname;
const hasPython = spawnSync("python3", ["--version"]).status === 0;

const file: FileFields = {
  id: "file:gsv:SOUL.md",
  type: "file",
  content: "be kind",
  locked: false,
  provenance: { origin: "gsv", generator: "agent" },
  version_no: 1,
  at: 1,
  path: "SOUL.md",
  file_type: "md",
  char_count: 7,
};

const hashesOf = (fields: ObjectFields) => {
  const { id, content_hash, metadata_view_hash, object_hash } = withHashes(fields);
  return { id, content_hash, metadata_view_hash, object_hash };
};

describe("hashes", () => {
  it("M6, M7, M8: are those that another program computed of every type of object", () => {
    expect(new Set(objects.map(({ type }) => type)).size).toBe(5);
    expect(objects.map(hashesOf)).toEqual(vectors);
  });

  it.runIf(hasPython)("M6, M7, M8: the other program still computes the same", () => {
    const input = objects.map((one) => `${JSON.stringify(one)}\n`).join("");
    const output = execFileSync("python3", [program], { input, encoding: "utf8" });
    expect(
      output
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toEqual(vectors);
  });

  it("M6: the object's hash does not follow its time nor its hashes, and follows every other field", () => {
    const hash = objectHash(file);
    expect(objectHash({ ...file, at: 2 })).toBe(hash);
    expect(objectHash(withHashes(file))).toBe(hash);
    const changes: Partial<FileFields>[] = [
      { id: "file:gsv:USER.md" },
      { content: "be kinder" },
      { locked: true },
      { provenance: { origin: "laptop", generator: "agent" } },
      { version_no: 2 },
      { path: null },
      { file_type: "txt" },
      { char_count: 8 },
      { nickname: "soul" },
    ];
    const hashes = changes.map((change) => objectHash({ ...file, ...change }));
    expect(new Set([hash, ...hashes]).size).toBe(changes.length + 1);
  });

  it("M6: the order of the fields makes no difference", () => {
    const turned = Object.fromEntries(Object.entries(file).reverse()) as unknown as FileFields;
    expect(objectHash(turned)).toBe(objectHash(file));
  });

  it("M7: the content's hash is that of its bytes in UTF-8, and null counts as an empty text", () => {
    const text = "ü漢🐙\r\n";
    expect(contentHash(text)).toBe(createHash("sha256").update(Buffer.from(text)).digest("hex"));
    expect(contentHash(null)).toBe(contentHash(""));
    expect(objectHash({ ...file, content: null })).not.toBe(objectHash({ ...file, content: "" }));
  });

  it("M8: the metadata's hash does not follow the content", () => {
    expect(metadataViewHash({ ...file, content: "other" })).toBe(metadataViewHash(file));
    expect(metadataViewHash({ ...file, char_count: 9 })).not.toBe(metadataViewHash(file));
  });

  it("M8: the metadata is identified by its fields in a fixed order, absent ones empty", () => {
    expect(objects.map(metadataView)).toEqual([
      "file:gsv:notes/plan.md|file|notes/plan.md|md|33|the plan",
      "file:laptop:/tmp/logo.png|file||png|0|",
      'toolu_01XFDUDYJgAACzvnptvVer6R|toolcall|laptop__Bash|laptop__Bash: "ls -la"|ok',
      '019aab12-0000-7000-8000-000000000001|toolcall|gsv__ReadFile|gsv__ReadFile: "half"|pending',
      "chat:0b9e2c3a-6f1d-4c55-9f2e-7a3d5f0c1e11|chat|session:agent:main:main|1",
      "",
      "system_prompt:0b9e2c3a-6f1d-4c55-9f2e-7a3d5f0c1e11|system_prompt|chat:0b9e2c3a-6f1d-4c55-9f2e-7a3d5f0c1e11",
    ]);
  });

  it("M10: a reference inside an object is hashed with the hashes that it holds", () => {
    const [, , call] = objects;
    if (call?.type !== "toolcall") throw new Error("the third object is a call");
    const chat_ref = { ...call.chat_ref, object_hash: "0".repeat(64) };
    expect(objectHash({ ...call, chat_ref })).not.toBe(objectHash(call));
  });

  it("M43: a static reference has the id, the version, the time and the three hashes", () => {
    const object = withHashes(file);
    const { id, version_no, at, content_hash, metadata_view_hash, object_hash } = object;
    expect(staticRef(object)).toEqual({ id, version_no, at, content_hash, metadata_view_hash, object_hash });
  });
});

describe("canonical JSON", () => {
  it("writes the examples of RFC 8785 as it says", () => {
    const numbers = [Number("333333333.33333329"), 1e30, 4.5, 2e-3, 0.000000000000000000000000001];
    const value = { numbers, string: '€$\u000f\u000aA\'B"\\\\"/', literals: [null, true, false] };
    expect(canonicalJson(value)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
    const sorted = { "\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\ud83d\ude00": 5, "\u0080": 6, "\u00f6": 7 };
    expect(canonicalJson(sorted)).toBe(
      '{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\ud83d\ude00":5,"\ufb33":3}',
    );
  });

  it("refuses what JSON cannot hold", () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, [Number.NaN], undefined])
      expect(() => canonicalJson(value)).toThrow();
  });
});
