import { describe, expect, it } from "vitest";
import {
  memoryId,
  readMemories,
  readMemoriesWithEnded,
  withMemory,
  withMemoryRestored,
  withMemoryStruck,
  withoutMemory,
} from "../../shared/memory/memory-line.ts";

const file = `# Notes

- Ada likes **tea**.
* another
  continued
1. a numbered fact
+ with a plus
    - nested deeply
- ~~old news~~
Birthdays:
\`\`\`sh
- rm -rf /
\`\`\`
The house was built
in 1931.

<!-- a comment
- within -->
Rooms
-----
| Who | Room |
|-----|------|
| Ada | attic |
| ~~Bo~~ | ~~cellar~~ |
(Nothing yet.)
- **Name:**

- User's timezone is Bogota _(score=0.42, hits=5, days=3)_
`;

describe("memories of a file", () => {
  it("are its paragraphs, list items and table rows, without what is struck out, code, headings and empty fields", () => {
    expect(readMemories("MEMORY.md", file).map(({ text, line }) => [line, text])).toEqual([
      [3, "Ada likes **tea**."],
      [4, "another continued"],
      [6, "a numbered fact"],
      [7, "with a plus"],
      [8, "nested deeply"],
      [14, "The house was built in 1931."],
      [23, "Who: Ada, Room: attic"],
      [28, "User's timezone is Bogota"],
    ]);
  });

  it("have one id however they are spaced, and whether or not dreaming has promoted them", () => {
    const [id] = ["Ada likes tea", "  ada  LIKES tea. ", "Ada\tlikes tea"].map(memoryId);
    expect(id).toMatch(/^[0-9a-f]{16}$/);
    for (const same of ["ada  LIKES tea.", "Ada\tlikes tea"]) expect(memoryId(same)).toBe(id);
    expect(memoryId("Ada likes teas")).not.toBe(id);
    expect(readMemories("", file).at(-1)?.id).toBe(memoryId("User's timezone is Bogota"));
  });

  it("are added once, struck out, and taken out, and nothing else changes", () => {
    expect(withMemory("", "x\n y ")).toBe("- x y\n");
    expect(withMemory("- a", "b")).toBe("- a\n- b\n");
    expect(withMemory(file, "ada likes **tea**")).toBe(file);
    const id = memoryId("Ada likes **tea**");
    expect(withMemoryStruck(file, id)).toBe(file.replace("- Ada likes **tea**.", "- ~~Ada likes **tea**.~~"));
    expect(withMemoryStruck(withMemoryStruck(file, id), id)).toBe(withMemoryStruck(file, id));
    expect(withoutMemory(file, id)).toBe(file.replace("- Ada likes **tea**.\n", ""));
    expect(withoutMemory(file, memoryId("rm -rf /"))).toBe(file);
    expect(withoutMemory(withMemoryStruck(file, id), id)).toBe(withoutMemory(file, id));
    const promoted = memoryId("User's timezone is Bogota");
    const [rest = ""] = file.split("- User's");
    expect(withoutMemory(withMemoryStruck(file, promoted), promoted)).toBe(rest);
  });

  it.each([
    ["another continued", "* another\n  continued\n", "* ~~another\n  continued~~\n"],
    ["nested deeply", "    - nested deeply\n", "    - ~~nested deeply~~\n"],
    [
      "The house was built in 1931.",
      "The house was built\nin 1931.\n",
      "~~The house was built\nin 1931.~~\n",
    ],
    ["Who: Ada, Room: attic", "| Ada | attic |\n", "| ~~Ada~~ | ~~attic~~ |\n"],
  ])("of every shape are struck out and removed as a whole: %s", (text, written, struck) => {
    const id = memoryId(text);
    expect(file).toContain(written);
    const after = withMemoryStruck(file, id);
    expect(after).toBe(file.replace(written, struck));
    expect(readMemories("", after).some((memory) => memory.id === id)).toBe(false);
    expect(withMemoryStruck(after, id)).toBe(after);
    expect(withoutMemory(after, id)).toBe(withoutMemory(file, id));
    expect(withoutMemory(file, id)).toBe(file.replace(written, ""));
  });

  it("are the same when they are added with a score that dreaming wrote behind them", () => {
    expect(withMemory("", "x _(score=0.42, hits=5, days=3)_")).toBe("- x\n");
    expect(withMemory("- x _(score=0.42)_\n", "x _(score=0.5)_")).toBe("- x _(score=0.42)_\n");
    expect(readMemories("", "- say _(score=1)_ to all\n- (_(score=1\n").map(({ text }) => text)).toEqual([
      "say _(score=1)_ to all",
      "(_(score=1",
    ]);
  });

  it("cost no more time the longer a line is", () => {
    for (const long of [
      " ".repeat(1_000_000),
      "_(score=".repeat(500_000),
      "-".repeat(1_000_000),
      "| ".repeat(500_000),
    ]) {
      const line = `- a${long}b`;
      const [{ id, text } = { id: "", text: "" }] = readMemories("", line);
      expect(text).toBe(`a${long}b`);
      expect(withMemoryStruck(line, id)).toBe(`- ~~a${long}b~~`);
    }
  });
});

it("a memory that ended is struck out with its month, as earlier versions read it, and restored", () => {
  const table = "| who | birthday |\n|--|--|\n| Tina | 4 May |\n";
  const files: [string, string, string][] = [
    ["- Tina lives in Bern\n", "Tina lives in Bern", "- ~~Tina lives in Bern (until 2026-11)~~\n"],
    ["Max takes\n20 mg\n", "Max takes 20 mg", "~~Max takes\n20 mg (until 2026-11)~~\n"],
    [
      table,
      "who: Tina, birthday: 4 May",
      table.replace("| Tina | 4 May |", "| ~~Tina~~ | ~~4 May (until 2026-11)~~ |"),
    ],
    ["- x _(score=0.42, hits=5, days=3)_\n", "x", "- ~~x _(score=0.42, hits=5, days=3)_ (until 2026-11)~~\n"],
  ];
  for (const [file, text, struck] of files) {
    const id = memoryId(text);
    expect(withMemoryStruck(file, id, "2026-11")).toBe(struck);
    expect(readMemories("", struck)).toEqual([]);
    expect(readMemoriesWithEnded("", struck)).toMatchObject([{ id, text, ended: "2026-11" }]);
    expect(withMemoryRestored(struck, id)).toBe(file);
  }
});
