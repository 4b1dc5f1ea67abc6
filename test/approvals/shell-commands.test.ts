import { describe, expect, it } from "vitest";
import { isDevelopment, isPlainRead, wordsOf } from "../../shared/approvals/shell-commands.ts";
import { seededRandom } from "../support/random.ts";
import { executedByBash } from "./bash-words.ts";
import { pieces } from "./shell-pieces.ts";

const programs = ["ls", "cat", "head", "echo", "pwd", "printf", "true", "grep", "cd", "make", "cp", "mkdir"];
const joints = [" && ", " || ", " ; ", " | ", " 2>&1 | ", " 2>/dev/null", "\t&&\t", "\u00a0; ", " \n; ", ";"];

describe("a line of plain commands", () => {
  it("consists of the commands that bash executes, for 10,000 random lines", () => {
    const random = seededRandom(7);
    const part = () =>
      `${random.pick(programs)}${random.pick([" ", "\t", " -a ", ""])}${random.text(pieces, 3)}`;
    const lines = Array.from({ length: 10_000 }, () => {
      let line = part();
      for (let left = random.integer(4); left > 0; left--) line += random.pick(joints) + part();
      return line;
    });
    const plain = lines.filter((line) => isPlainRead(line) || isDevelopment(line));
    expect(plain.length).toBeGreaterThan(1000);
    const { commands, files } = executedByBash(plain, programs);
    expect(commands.flat().length).toBeGreaterThan(plain.length);
    const marked = (words: readonly string[]) => `\0${words.join("\0")}\0`;
    const wrong = plain.flatMap((line, i) => {
      const others = commands[i]?.filter((words) => !marked(wordsOf(line)).includes(marked(words)));
      return others?.length === 0 ? [] : [{ line, others }];
    });
    expect({ wrong, files }).toEqual({ wrong: [], files: [] });
  });

  it.each([
    ["a variable's index is evaluated", "printf 'a%n' 'a[$(id)]'"],
    ["a variable is set", "printf -v PATH . ; ls"],
    ["a number is evaluated", "printf '%d' 'a[$(id)]'"],
    ["the time is set", "date --set=2030-01-01"],
    ["a compiled file is written", "file -C -m magic"],
    ["a blank of another kind joins words", "git status\u00a0; id"],
  ])("only reads, but %s: %s", (_, command) => {
    expect([isPlainRead(command), isDevelopment(command)]).toEqual([false, false]);
  });

  it.each([
    "printf '%s 100%%' a b",
    "date -u +%F",
    "date -Iseconds",
    "file -b x.png",
    "git log --oneline | head -5",
  ])("only reads: %s", (command) => {
    expect(isPlainRead(command)).toBe(true);
  });
});
