import { describe, expect, it } from "vitest";
import { fitResult } from "../../../cli/node/fit-result.ts";
import { LogBuffer } from "../../../cli/node/log-buffer.ts";
import { CallLog } from "../../../cli/node/running-calls.ts";
import { headOf, jsonBytes, tailOf } from "../../../cli/node/truncate.ts";

const limit = 120 * 1024;
const note = /\n\[… \d+ characters left out here: the result is too large for one message …\]\n/;

describe("a result that is too large for a frame", () => {
  it("is unchanged when it fits", () => {
    const result = { output: "x".repeat(100_000), truncated: false };
    expect(fitResult(result, limit)).toBe(result);
    expect(fitResult("short", limit)).toBe("short");
  });

  it("keeps the head and the tail of a string, using nearly all the space", () => {
    const text = `BEGIN${"x".repeat(400_000)}END`;
    const fitted = fitResult(text, limit) as string;
    expect(jsonBytes(fitted)).toBeLessThanOrEqual(limit);
    expect(jsonBytes(fitted)).toBeGreaterThan(limit - 1000);
    expect(fitted).toMatch(note);
    expect(fitted.startsWith("BEGINx") && fitted.endsWith("xEND")).toBe(true);
    const left = Number(/… (\d+) characters/.exec(fitted)?.[1]);
    expect(fitted.replace(note, "").length + left).toBe(text.length);
  });

  it("counts escapes and multi-byte characters, and splits none of them", () => {
    for (const piece of ["\u0001", "€", "😀", '"\\\n']) {
      const fitted = fitResult(piece.repeat(90_000), limit) as string;
      expect(jsonBytes(fitted)).toBeLessThanOrEqual(limit);
      expect(fitted).toBe(fitted.toWellFormed());
    }
  });

  it("shortens the longest strings of an object, keeps the others and sets truncated", () => {
    const result = { status: "completed", exitCode: 0, output: "o".repeat(200_000), tail: "t".repeat(4000) };
    const fitted = fitResult(result, limit) as typeof result & { truncated: boolean };
    expect(jsonBytes(fitted)).toBeLessThanOrEqual(limit);
    expect(fitted).toMatchObject({ status: "completed", exitCode: 0, tail: result.tail, truncated: true });
    expect(fitted.output).toMatch(note);
    expect(fitted.output.length).toBeGreaterThan(110_000);
  });

  it("shortens lists when the strings are already short", () => {
    const matches = Array.from({ length: 5000 }, (_, n) => `some/longer/folder/name/for/file-${n}.txt`);
    const fitted = fitResult({ matches, count: 5000 }, limit) as { matches: string[] };
    expect(jsonBytes(fitted)).toBeLessThanOrEqual(limit);
    expect(fitted).toMatchObject({ count: 5000, truncated: true });
    expect(fitted.matches.length).toBeGreaterThan(2000);
    expect(fitted.matches).toEqual(matches.slice(0, fitted.matches.length));
  });

  it("replaces an image by a note instead of truncating its data", () => {
    const fitted = fitResult(
      {
        content: [
          { type: "text", text: "dot.png" },
          { type: "image", data: "A".repeat(400_000), mimeType: "image/png" },
        ],
      },
      limit,
    );
    expect(fitted).toEqual({
      content: [
        { type: "text", text: "dot.png" },
        {
          type: "text",
          text: "[image left out: image/png, 300000 bytes is too large for one message; make it smaller]",
        },
      ],
      truncated: true,
    });
  });

  it("becomes text when nothing else helps", () => {
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`key-${n}`, n]));
    expect(jsonBytes(many)).toBeGreaterThan(limit);
    const fitted = fitResult(many, limit);
    expect(typeof fitted).toBe("string");
    expect(jsonBytes(fitted)).toBeLessThanOrEqual(limit);
  });
});

describe("cutting text", () => {
  it("never leaves half a character", () => {
    expect([headOf("a😀b", 2), headOf("a😀b", 3), headOf("a😀b", 9), headOf("ab", 0)]).toEqual([
      "a",
      "a😀",
      "a😀b",
      "",
    ]);
    expect([tailOf("a😀b", 2), tailOf("a😀b", 3), tailOf("a😀b", 9), tailOf("ab", 0)]).toEqual([
      "b",
      "😀b",
      "a😀b",
      "",
    ]);
  });
});

describe("the log of a node", () => {
  it("returns the newest lines, oldest first, up to the 5,000 it keeps", () => {
    const logs = new LogBuffer();
    for (let n = 1; n <= 12_345; n++) logs.add(`line ${n}`);
    expect(logs.newest(2, limit)).toEqual({ lines: ["line 12344", "line 12345"], truncated: false });
    const all = logs.newest(100_000, Number.POSITIVE_INFINITY);
    expect(all.lines).toHaveLength(5000);
    expect(all.lines[0]).toBe("line 7346");
  });

  it("omits the oldest lines when they do not fit, and sets truncated", () => {
    const logs = new LogBuffer();
    for (let n = 0; n < 5000; n++) logs.add(`${n} ${"€".repeat(5000)}`);
    const { lines, truncated } = logs.newest(5000, limit);
    expect(truncated).toBe(true);
    expect(jsonBytes(lines)).toBeLessThanOrEqual(limit);
    expect(lines.at(-1)?.startsWith("4999 ")).toBe(true);
  });
});

describe("the calls a node remembers", () => {
  it("are claimed once, and answered from memory when they have ended", () => {
    const calls = new CallLog();
    expect(calls.claim("a")).toBe("new");
    expect(calls.claim("a")).toBe("running");
    calls.finish("a", { result: 1 });
    expect(calls.claim("a")).toEqual({ result: 1 });
  });

  it("are bounded in number and in size, while running ones are never forgotten", () => {
    const calls = new CallLog();
    calls.claim("running");
    for (let n = 0; n <= 1000; n++) {
      calls.claim(`call ${n}`);
      calls.finish(`call ${n}`, { result: n });
    }
    expect(calls.claim("call 1000")).toEqual({ result: 1000 });
    expect(calls.claim("call 1")).toEqual({ result: 1 });
    expect(calls.claim("call 0")).toBe("new");
    expect(calls.claim("running")).toBe("running");
    for (let n = 0; n < 40; n++) calls.finish(`large ${n}`, { result: "x".repeat(1024 * 1024) });
    expect(calls.claim("large 0")).toBe("new");
    expect(calls.claim("large 39")).toMatchObject({ result: expect.any(String) });
  });
});
