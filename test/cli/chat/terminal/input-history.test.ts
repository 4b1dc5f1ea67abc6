import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { InputHistory } from "../../../../cli/chat/terminal/input-history.ts";
import { newFolder } from "../../../support/run/test-folders.ts";

describe("the input history", () => {
  it("reads the newest 1000 lines of a file of earlier versions, and shortens the file", async () => {
    const file = join(newFolder(), "history");
    writeFileSync(file, Array.from({ length: 2001 }, (_, line) => `line ${line}\n`).join(""));
    const history = await InputHistory.read(file);
    expect(history.older("")).toBe("line 2000");
    expect(history.find("line 1001", 0)).toEqual({ number: 999, entry: "line 1001" });
    expect(history.find("line 1000", 0)).toBeUndefined();
    expect(readFileSync(file, "utf8").split("\n")).toHaveLength(1001);
  });

  it("moves to older entries and back to the draft, and adds the newest entry once", async () => {
    const file = join(newFolder(), "of", "the", "user", "history");
    const history = await InputHistory.read(file);
    history.add("one");
    history.add("two\nlines");
    history.add("two\nlines");
    expect(history.older("a draft")).toBe("two\nlines");
    expect(history.isAt("two\nlines")).toBe(true);
    expect(history.older("two\nlines")).toBe("one");
    expect(history.older("one")).toBeUndefined();
    expect([history.newer(), history.newer(), history.newer()]).toEqual(["two\nlines", "a draft", undefined]);
    await history.written;
    expect(readFileSync(file, "utf8")).toBe("one\ntwo\u2028lines\n");
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it("finds entries by a part, ignoring case unless the part has capital letters", async () => {
    const history = await InputHistory.read(join(newFolder(), "none"));
    for (const entry of ["Make tea", "make coffee", "drink tea"]) history.add(entry);
    expect(history.find("make", 0)).toEqual({ number: 1, entry: "make coffee" });
    expect(history.find("make", 2)).toEqual({ number: 2, entry: "Make tea" });
    expect(history.find("Make", 0)?.entry).toBe("Make tea");
    await history.written;
  });
});
