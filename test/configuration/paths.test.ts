import { describe, expect, it } from "vitest";
import {
  checkValue,
  formatPath,
  parsePath,
  valueAt,
  withoutValue,
  withValue,
} from "../../shared/configuration/configuration-paths.ts";

describe("a configuration path", () => {
  it("is names separated by dots, quoted where a name holds dots, brackets or quotes", () => {
    expect(parsePath("model")).toEqual(["model"]);
    expect(parsePath("session.defaultResetPolicy.mode")).toEqual(["session", "defaultResetPolicy", "mode"]);
    expect(parsePath('skills.entries["my.skill"].enabled')).toEqual([
      "skills",
      "entries",
      "my.skill",
      "enabled",
    ]);
    expect(parsePath('["skills"]["entries"]')).toEqual(["skills", "entries"]);
    expect(parsePath('a["say \\"hi\\" [x]"].b')).toEqual(["a", 'say "hi" [x]', "b"]);
  });

  it("is written so that it reads back the same", () => {
    for (const path of [["a"], ["a", "b.c", "d"], ['"', "]", "\\"], ["my skill", "über", "a\nb"]])
      expect(parsePath(formatPath(path))).toEqual(path);
  });

  it.each([
    "",
    ".",
    "a.",
    ".a",
    "a..b",
    "a[",
    "a[0]",
    "a['b']",
    'a["b"',
    'a["b"]c',
    'a.["b"]',
    'a["\\x"]',
    'a[""]',
  ])("that is %j is refused with 400", (text) => {
    expect(() => parsePath(text)).toThrow(expect.objectContaining({ code: 400 }));
  });

  it.each(["__proto__.x", "channels.constructor", 'a["prototype"].b', "a.__proto__"])(
    "through a prototype, %j, is refused with 400",
    (text) => {
      expect(() => parsePath(text)).toThrow(expect.objectContaining({ code: 400 }));
    },
  );

  it("of more than sixteen names is refused with 400", () => {
    expect(parsePath(Array(16).fill("a").join("."))).toHaveLength(16);
    expect(() => parsePath(Array(17).fill("a").join("."))).toThrow(/deeper than 16/);
  });
});

describe("a value at a path", () => {
  it("is found among own names alone", () => {
    expect(valueAt({ a: { b: 1 } }, ["a", "b"])).toBe(1);
    expect(valueAt({ a: { b: 1 } }, ["a", "toString"])).toBeUndefined();
    expect(valueAt({ a: "text" }, ["a", "length", "x"])).toBeUndefined();
  });

  it("is set in a copy", () => {
    const root = { a: { b: 1 }, c: 2 };
    expect(withValue(root, ["a", "d", "e"], 3)).toEqual({ a: { b: 1, d: { e: 3 } }, c: 2 });
    expect(root).toEqual({ a: { b: 1 }, c: 2 });
  });

  it("is removed together with the objects that this leaves empty", () => {
    expect(withoutValue({ a: { b: { c: 1 } }, d: 2 }, ["a", "b", "c"])).toEqual({ d: 2 });
    expect(withoutValue({ a: { b: { c: 1 }, e: 3 } }, ["a", "b", "c"])).toEqual({ a: { e: 3 } });
    expect(withoutValue({ a: 1 }, ["x", "y"])).toEqual({ a: 1 });
    expect(withoutValue({ a: 1 }, ["a", "y"])).toEqual({ a: 1 });
  });

  it("that holds a prototype's name anywhere is refused", () => {
    const value = JSON.parse('{"a":[{"__proto__":{"polluted":true}}]}') as unknown;
    expect(() => checkValue(value, ["channels"])).toThrow(/^channels\.a\.0: the name __proto__/);
  });

  it("that nests endlessly deep is refused", () => {
    let value: unknown = 1;
    for (let depth = 0; depth < 50_000; depth++) value = [value];
    expect(() => checkValue(value, ["channels"])).toThrow(/nests deeper/);
  });
});
