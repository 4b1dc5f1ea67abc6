import { describe, expect, it } from "vitest";
import { compileGlob, hasGlobSyntax } from "../../../cli/node/files/glob-pattern.ts";

const cases: [string, string[], string[]][] = [
  ["*.ts", ["a.ts", ".ts", "a.b.ts"], ["a.tsx", "d/a.ts", "ats"]],
  ["?.ts", ["a.ts", "é.ts"], [".ts", "ab.ts", "/.ts"]],
  ["**/*.ts", ["a.ts", "d/a.ts", "d/e/a.ts"], ["a.js"]],
  ["src/**", ["src/a", "src/d/e"], ["src", "srcs/a", "a/src/b"]],
  ["**", ["a", "d/e/f"], []],
  ["a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["ab", "a/xb", "x/a/b"]],
  ["**/**/x", ["x", "a/x", "a/b/x"], ["ax"]],
  ["a**b", ["ab", "axxb"], ["a/b"]],
  ["*.{ts,tsx}", ["a.ts", "a.tsx"], ["a.js", "a.{ts,tsx}"]],
  ["{src,test}/{a,b{1,2}}.ts", ["src/a.ts", "test/b1.ts", "src/b2.ts"], ["src/b.ts", "a.ts"]],
  ["{a}.ts", ["{a}.ts"], ["a.ts"]],
  ["{a,}b", ["ab", "b"], ["bb"]],
  ["[a-c]1", ["a1", "c1"], ["d1", "/1"]],
  ["[!a-c]1", ["d1"], ["a1", "/1"]],
  ["[]x]", ["]", "x"], ["["]],
  ["a\\*b", ["a*b"], ["axb"]],
  ["app/(group)/@(a|b).*", ["app/(group)/@(a|b).ts"], ["app/group/a.ts", "app/group/@a.ts"]],
  ["{a,b}".repeat(30), ["ab".repeat(15)], ["ab".repeat(14), "ac".repeat(15)]],
  ["a.b+(c)^$|", ["a.b+(c)^$|"], ["aXb+(c)^$|"]],
];

describe("a glob", () => {
  it.each(cases)("%s matches %j and not %j", (glob, matching, others) => {
    const pattern = compileGlob(glob);
    expect(matching.filter((path) => !pattern.test(path))).toEqual([]);
    expect(others.filter((path) => pattern.test(path))).toEqual([]);
  });

  it("is refused when a brace or bracket is not closed", () => {
    expect(() => compileGlob("{a,b")).toThrow('Missing closing: "}"');
    expect(() => compileGlob("[ab")).toThrow('Missing closing: "]"');
  });

  it("is distinguished from a literal path", () => {
    expect(["a*", "a?", "[a]", "{a,b}", "a\\b"].every(hasGlobSyntax)).toBe(true);
    expect(["a.ts", "src", "..", "a (1)"].some(hasGlobSyntax)).toBe(false);
  });
});
