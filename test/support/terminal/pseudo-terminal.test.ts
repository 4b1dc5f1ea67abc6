import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { killTerminals, startAtTerminal, startShellAtTerminal } from "./pseudo-terminal.ts";

const cwd = mkdtempSync(join(tmpdir(), "gsv-terminal-"));
afterEach(killTerminals);
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

/** Runs a line of JavaScript at a terminal. */
const script = (source: string, size = {}) =>
  startAtTerminal(process.execPath, ["-e", source], { cwd, ...size });

describe("a terminal for tests", () => {
  it("is a terminal for a program, which reads keys and writes to a screen", async () => {
    const terminal = script(
      'console.log(process.stdin.isTTY, process.stdout.columns); process.stdin.once("data", (d) => { console.log("got", String(d).trim()); process.exit(3); })',
    );
    await terminal.sees("true 80");
    terminal.type("a key\r");
    await terminal.sees("got a key");
    expect(await terminal.ended).toBe(3);
  });

  it("interprets escape sequences, and counts two columns for a wide character", async () => {
    const terminal = script('process.stdout.write("abc\\rX\\n日本🙂"); setInterval(() => {}, 1000)');
    await terminal.sees("日本🙂");
    expect(terminal.rows()).toEqual(["Xbc", "日本🙂"]);
    expect(terminal.cursor()).toEqual({ row: 1, column: 6 });
  });

  it("notifies the program of its new size", async () => {
    const terminal = script(
      'process.stdout.on("resize", () => console.log(process.stdout.columns, process.stdout.rows)); console.log("ready"); setInterval(() => {}, 1000)',
      { columns: 40, rows: 10 },
    );
    await terminal.sees("ready");
    terminal.resize(60, 20);
    await terminal.sees("60 20");
  });

  it("keeps rows that have scrolled out of view", async () => {
    const terminal = script("for (let i = 0; i < 50; i++) console.log('row', i)", { rows: 5 });
    await terminal.ended;
    expect(terminal.rows()).toEqual(Array.from({ length: 50 }, (_, row) => `row ${row}`));
  });

  it("reports the screen when a program ends before the expected text", async () => {
    const terminal = script('console.log("something else")');
    await expect(terminal.sees("the right thing")).rejects.toThrow(/ended with 0[\s\S]*something else/);
  });

  it("has job control: Ctrl-Z suspends a program of the shell, and fg continues it", async () => {
    const terminal = startShellAtTerminal({ cwd });
    terminal.type("gsv --help | cat; cat\r");
    await terminal.sees("gsv deploy");
    terminal.type("before\r");
    await terminal.sees("before\nbefore");
    terminal.type("\u001a");
    await terminal.sees(/stopped/i);
    terminal.type("fg\r");
    await terminal.sees("fg\ncat");
    terminal.type("after\r");
    await terminal.sees("after\nafter");
  });
});
