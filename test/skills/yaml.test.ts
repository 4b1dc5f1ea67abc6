import { describe, expect, it } from "vitest";
import { parseYaml } from "../../shared/skills/frontmatter.ts";

const same: Record<string, [string, unknown]> = {
  nothing: ["", null],
  "comments and Windows line ends": ["# top\r\na: b # c\r\n\r\nc: d#e\r\n", { a: "b", c: "d#e" }],
  "JSON with trailing commas and comments": [
    'm:\n  {\n    "a":\n      {\n        "b": [ "c", ], # why\n        "u": "https://x.y",\n      },\n  }\nn: 1',
    { m: { a: { b: ["c"], u: "https://x.y" } }, n: 1 },
  ],
  "dates and versions as text": ["a: 2026-01-02\nb: 1.2.3", { a: "2026-01-02", b: "1.2.3" }],
  "the last of two equal keys": ["a: 1\na: 2", { a: 2 }],
  "a colon inside a plain value": [
    'name: x\ndescription: Use when: asked to "go", see https://x.y\nb: [1,]',
    { name: "x", description: 'Use when: asked to "go", see https://x.y', b: [1] },
  ],
};

const refused: Record<string, [string, RegExp]> = {
  "a list that is not closed": ["a: [1, 2\nb: 3", /at line 2, column 1$/],
  "text after a value": ['a: "x" y', /at line 1, column 8$/],
  "a colon inside a plain value further in": ["a:\n  b: c: d", /at line 2/],
  "nesting without end": [`a: ${"[".repeat(15_000)}`, /./],
  "aliases that grow into a bomb": [
    `a: &a [x]\n${[..."bcdefgh"].map((name, i) => `${name}: &${name} [${`*${"abcdefg"[i]},`.repeat(9)}]`).join("\n")}`,
    /alias/,
  ],
};

describe("reading YAML", () => {
  for (const [what, [text, value]] of Object.entries(same)) {
    it(`reads ${what}`, () => expect(parseYaml(text)).toEqual(value));
  }
  for (const [what, [text, reason]] of Object.entries(refused)) {
    it(`refuses ${what}`, () => {
      expect(() => parseYaml(text)).toThrow(SyntaxError);
      expect(() => parseYaml(text)).toThrow(reason);
    });
  }

  it("never touches a prototype", () => {
    for (const text of ["__proto__:\n  polluted: yes", '{"__proto__": {"polluted": "yes"}}']) {
      const value = parseYaml(text) as Record<string, unknown>;
      expect(Object.hasOwn(value, "__proto__")).toBe(true);
      expect(value.polluted).toBeUndefined();
    }
  });
});
