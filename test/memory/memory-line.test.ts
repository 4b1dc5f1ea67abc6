import { describe, expect, it } from "vitest";
import {
  memoryId,
  readMemories,
  withMemory,
  withMemoryStruck,
  withoutMemory,
} from "../../shared/memory/memory-line.ts";

const file = `# Notes

- Ada likes **tea**.
* another
  not an item of its own
1. not a list of dashes
- ~~old news~~
\`\`\`sh
- rm -rf /
\`\`\`
- User's timezone is Bogota _(score=0.42, hits=5, days=3)_
`;

describe("memories of a file", () => {
  it("are the items of its lists, without what is struck out or code", () => {
    expect(readMemories("MEMORY.md", file).map(({ text, line }) => [line, text])).toEqual([
      [3, "Ada likes **tea**."],
      [4, "another"],
      [11, "User's timezone is Bogota"],
    ]);
  });

  it("have one id however they are spaced, and whether or not dreaming has promoted them", () => {
    const [id] = ["Ada likes tea", "  ada  LIKES tea. ", "Ada\tlikes tea"].map(memoryId);
    expect(id).toMatch(/^[0-9a-f]{16}$/);
    for (const same of ["ada  LIKES tea.", "Ada\tlikes tea"]) expect(memoryId(same)).toBe(id);
    expect(memoryId("Ada likes teas")).not.toBe(id);
    expect(readMemories("", file)[2]?.id).toBe(memoryId("User's timezone is Bogota"));
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

  it("are the same when they are added with a score that dreaming wrote behind them", () => {
    expect(withMemory("", "x _(score=0.42, hits=5, days=3)_")).toBe("- x\n");
    expect(withMemory("- x _(score=0.42)_\n", "x _(score=0.5)_")).toBe("- x _(score=0.42)_\n");
    expect(readMemories("", "- say _(score=1)_ to all\n- (_(score=1\n").map(({ text }) => text)).toEqual([
      "say _(score=1)_ to all",
      "(_(score=1",
    ]);
  });

  it("cost no more time the longer a line is", () => {
    for (const long of [" ".repeat(1_000_000), "_(score=".repeat(500_000)]) {
      const line = `- a${long}b`;
      const [{ id, text } = { id: "", text: "" }] = readMemories("", line);
      expect(text).toBe(`a${long}b`);
      expect(withMemoryStruck(line, id)).toBe(`- ~~a${long}b~~`);
    }
  });
});
