import { describe, expect, it } from "vitest";
import { parseYaml } from "../../shared/workspace/yaml.ts";

const same: Record<string, [string, unknown]> = {
  nothing: ["", null],
  "only comments": ["# a\n  # b\n", null],
  "plain values by type": [
    "a: text\nb: true\nc: false\nd: 12\ne: -1.5\nf: null\ng: ~\nh:\ni: 1.2.3\nj: 007",
    { a: "text", b: true, c: false, d: 12, e: -1.5, f: null, g: null, h: null, i: "1.2.3", j: "007" },
  ],
  "quoted values": [
    `a: "x: \\"y\\" #\\n🐙"\nb: 'it''s # fine'\nc: "12"\n"quoted key": 1\n'd' : 2`,
    { a: 'x: "y" #\n🐙', b: "it's # fine", c: "12", "quoted key": 1, d: 2 },
  ],
  "comments and Windows line ends": ["# top\r\na: b # c\r\n\r\nc: d#e\r\n", { a: "b", c: "d#e" }],
  "a colon inside a plain value": [
    "description: Use when: asked, see https://x.y",
    {
      description: "Use when: asked, see https://x.y",
    },
  ],
  "a plain value over several lines": ["a: one\n  two\n  three\nb: 1", { a: "one two three", b: 1 }],
  "a literal block": ["a: |\n  one\n    two\n\n  three\nb: 1", { a: "one\n  two\n\nthree", b: 1 }],
  "a folded block": ["a: >-\n  one\n  two\n\n  three\nb: 1", { a: "one two\nthree", b: 1 }],
  "nested mappings": ["a:\n  b:\n    c: 1\n  d: 2\ne: 3", { a: { b: { c: 1 }, d: 2 }, e: 3 }],
  "lists, indented and not": ["a:\n- x\n- y\nb:\n  - z\nc: 1", { a: ["x", "y"], b: ["z"], c: 1 }],
  "lists of mappings": ["a:\n  - id: 1\n    kind: x\n  - id: 2\n", { a: [{ id: 1, kind: "x" }, { id: 2 }] }],
  "lists of lists": ["- - 1\n  - 2\n- 3", [[1, 2], 3]],
  "flow collections": [
    "a: [x, 'y', 3,]\nb: {c: d, e: [f]}\nc: []\nd: {}",
    {
      a: ["x", "y", 3],
      b: { c: "d", e: ["f"] },
      c: [],
      d: {},
    },
  ],
  "JSON in one line": [
    'm: {"a":{"b":["c"],"d":true,"e":"f:g"}}',
    { m: { a: { b: ["c"], d: true, e: "f:g" } } },
  ],
  "JSON over several lines, with trailing commas and comments": [
    'm:\n  {\n    "a":\n      {\n        "b": [ "c", ], # why\n        "u": "https://x.y",\n      },\n  }\nn: 1',
    { m: { a: { b: ["c"], u: "https://x.y" } }, n: 1 },
  ],
  "JSON that closes at the margin": ['m: {\n"a": 1,\n}\nn: 2', { m: { a: 1 }, n: 2 }],
  "a text in quotes over two lines": ['a: "one\n  two"\nb: 1', { a: "one two", b: 1 }],
};

const refused: Record<string, [string, RegExp]> = {
  "a list that is not closed": ["a: [1, 2\nb: 3", /expected/],
  "a text in quotes that is not closed": ['a: "x\nb: 1', /expected a value/],
  "text after a value": ['a: "x" y', /end of the line/],
  "a line that is no key": ["a: 1\nb", /line 2/],
  "indentation that belongs to nothing": ["  a: 1\nb: 2", /line 2/],
  "an escape that JSON does not know": ['a: "\\q"', /escape/],
  "two commas": ["a: [1,,2]", /expected a value/],
  "nesting without end": [`a: ${"[".repeat(10_000)}`, /deeper/],
  "indentation without end": [
    Array.from({ length: 50 }, (_, n) => `${" ".repeat(n)}a:`).join("\n"),
    /deeper/,
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

  it("ends for any text, with a value or a SyntaxError", () => {
    const pieces = [
      "a",
      "key: ",
      "- ",
      "-",
      "\n",
      "\n  ",
      "\n    ",
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      '"',
      "'",
      "|",
      ">",
      "# ",
      "\t",
      "\\",
      " ",
    ];
    let seed = 1;
    const next = (bound: number) => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % bound;
    };
    let read = 0;
    for (let run = 0; run < 20_000; run++) {
      const text = Array.from({ length: 1 + next(14) }, () => pieces[next(pieces.length)]).join("");
      try {
        parseYaml(text);
        read++;
      } catch (error) {
        expect(error, JSON.stringify(text)).toBeInstanceOf(SyntaxError);
      }
    }
    expect(read).toBeGreaterThan(1000);
  });
});
