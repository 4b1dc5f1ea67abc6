import { describe, expect, it } from "vitest";
import { parseSimple, possibleCommands } from "../../shared/approvals/simple-command.ts";
import { seededRandom } from "../support/random.ts";
import { executedByBash } from "./bash-words.ts";
import { pieces } from "./shell-pieces.ts";

describe("a simple command", () => {
  it("has the words that bash passes, for 10,000 random command lines", () => {
    const random = seededRandom(28);
    const lines = Array.from(
      { length: 10_000 },
      () => `${random.pick(["", "ls ", "git ", "a b.txt"])}${random.text(pieces, 6)}`,
    );
    const simple = lines.filter((line) => parseSimple(line) !== undefined && !/^\s*\S*\//.test(line));
    expect(simple.length).toBeGreaterThan(1000);
    const programs = new Set(simple.map((line) => parseSimple(line)?.[0] ?? ""));
    const { commands } = executedByBash(simple, programs);
    const wrong = simple.flatMap((line, i) => {
      const [ours, theirs] = [[parseSimple(line)], commands[i]];
      return JSON.stringify(ours) === JSON.stringify(theirs) ? [] : [{ line, ours, theirs }];
    });
    expect(wrong).toEqual([]);
  });

  it.each([
    ["CVE-2026-29607: a wrapper", "env rm -rf x"],
    ["CVE-2026-32065: a blank that is not shown", "ls\u00a0-la"],
    ["CVE-2026-32065: a program's name that ends in a blank", "'rm ' x"],
    ["GHSA-xvhf-x56f-2hpp: an expansion", "ls $HOME"],
    ["GHSA-796m-2973-wc5q: env -S", "env -S 'rm x'"],
    ["GHSA-hjvp-qhm6-wrh2: an assignment", "LD_PRELOAD=x ls"],
    ["OpenClaw 128470: a pipe", "ls | sh"],
    ["text of another direction", "ls '\u202Etxt'"],
    ["a second line", "ls\nrm x"],
    ["a path to a wrapper", "/usr/bin/sudo ls"],
    ["nothing", "  "],
  ])("is not: %s", (_, command) => {
    expect(parseSimple(command)).toBeUndefined();
  });

  it("keeps what quotes hold together", () => {
    expect(parseSimple(`git commit -m 'a b' --author="c d"`)).toEqual([
      ...["git", "commit", "-m", "a b", "--author=c d"],
    ]);
  });
});

it.each([
  "sudo rm -rf x",
  "echo a; rm -rf x",
  "ls $(rm -rf x)",
  "r\\m -rf x",
  "'rm' -rf x",
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's variable
  "rm${IFS}-rf x",
  "a || rm\t-rf x",
])("finds a command in: %s", (command) => {
  expect(possibleCommands(command).some((one) => /^rm -rf x/.test(one))).toBe(true);
});
