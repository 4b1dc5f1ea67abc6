import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

/** Expressions that a reader stumbles over, and what to write instead. */
const dialect: readonly (readonly [RegExp, string])[] = [
  [/\b(?:is|are|be|was|were|been|being) told\b/gi, "name the act: receives, sees, is notified"],
  [/\b(?:told|tells?) of\b/gi, "reports, announces, mentions"],
  [/\bwhoever\b/gi, "name the person: the sender, the caller"],
  [/\bwhat of (?:it|them|this)\b/gi, "name the thing"],
  [/\bstands? (?!for\b|still\b)/gi, "is"],
  [/\banew\b/gi, "again"],
  [/\bfor ever\b/gi, "forever, or the bound"],
  [/\b(?:lets?|letting) go of\b/gi, "releases"],
  [/\bhears? (?:of|no)\b/gi, "receives"],
  [/\bmend(?:s|ed|ing)?\b/gi, "fix"],
  [/\bof ours\b/gi, "our"],
  [/\bat the most\b/gi, "at most"],
  [/\bworks? off\b/gi, "processes"],
  [/\btakes? (?:up|over) (?:what|where)\b/gi, "resumes"],
  [/\bnotes? (?:that|which|what|how|when|down)\b/gi, "records"],
  [
    /\bwhat is (?:left|written|said|read|sent|kept|asked|shown|stored|known|meant|counted)\b/gi,
    "name the thing",
  ],
  [/\bcomes? to an end\b/gi, "ends"],
  [/\b(?:most|least)(?!Characters\b|Recent)[A-Z]\w*/g, "max…, min…"],
  [/\bfunction take[A-Z]\w*/g, "accept, consume, acquire, handle"],
];

/** Maximum number in the whole project. It may only shrink. */
const budget = 50;

const list = ["ls-files", "--cached", "--others", "--exclude-standard"];
const files = execFileSync("git", list, { encoding: "utf8" })
  .split("\n")
  .filter((file) => /\.(?:ts|mjs|md)$/.test(file) && file !== "test/words.test.ts" && existsSync(file));

it("comments, messages and documents are written in plain English", () => {
  const found = files.flatMap((file) => {
    const lines = readFileSync(file, "utf8").split("\n");
    return lines.flatMap((line, index) =>
      dialect.flatMap(([pattern, instead]) =>
        (line.match(pattern) ?? []).map((word) => `${file}:${index + 1}: ${word} (${instead})`),
      ),
    );
  });
  expect(files.length).toBeGreaterThan(1000);
  expect(found.length, found.join("\n")).toBeLessThanOrEqual(budget);
});
