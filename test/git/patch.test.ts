import { applyPatch } from "diff";
import { describe, expect, it } from "vitest";
import { patchOf } from "../../shared/git/patch.ts";

const lines = (name: string, count: number) => Array.from({ length: count }, (_, i) => `${name} ${i}`);
const patch = (before: string, after: string) =>
  patchOf({ path: "a.md", change: "changed" }, { before: Buffer.from(before), after: Buffer.from(after) });

describe("the change of a file", () => {
  it("is shown with the lines around it", () => {
    const before = lines("same", 2000);
    const shown = patch(`${before.join("\n")}\n`, `${before.with(1000, "new").join("\n")}\n`);
    expect(shown.split("\n")).toEqual([
      "diff --git a/a.md b/a.md",
      "--- a/a.md",
      "+++ b/a.md",
      "@@ -998,7 +998,7 @@",
      ...[
        " same 997",
        " same 998",
        " same 999",
        "-same 1000",
        "+new",
        " same 1001",
        " same 1002",
        " same 1003",
      ],
      "",
    ]);
  });

  // Compared line by line, these take minutes.
  it("of two texts that have nothing in common is the one in the place of the other", () => {
    const [before, after] = [lines("old", 50_000).join("\n"), `${lines("new", 50_000).join("\n")}\n`];
    const shown = patch(before, after);
    expect(shown).toContain("\n@@ -1,50000 +1,50000 @@\n-old 0\n");
    expect(applyPatch(before, shown)).toBe(after);
    const added = patchOf(
      { path: "a.md", change: "added" },
      { before: undefined, after: Buffer.from(after) },
    );
    expect(applyPatch("", added)).toBe(after);
  });
});
