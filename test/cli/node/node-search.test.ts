import { mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { toolBench } from "./tool-bench.ts";

const bench = toolBench();
const { call, put } = bench;

describe("Glob", () => {
  const aged = (path: string, seconds: number): void => {
    utimesSync(put(path, "x"), 1_700_000_000 + seconds, 1_700_000_000 + seconds);
  };

  it("lists files newest first, as paths that the other tools accept", async () => {
    aged("src/old.ts", 1);
    aged("src/deep/new.ts", 3);
    aged("src/middle.ts", 2);
    aged("src/other.js", 9);
    expect(await call("Glob", { pattern: "**/*.ts" })).toEqual({
      pattern: "**/*.ts",
      basePath: bench.workspace,
      matches: ["src/deep/new.ts", "src/middle.ts", "src/old.ts"],
      count: 3,
    });
    expect(await call("Glob", { pattern: "*.{ts,js}", path: "src" })).toMatchObject({
      basePath: join(bench.workspace, "src"),
      matches: ["src/other.js", "src/middle.ts", "src/old.ts"],
    });
    expect(await call("Glob", { pattern: "src/deep/new.ts" })).toMatchObject({ count: 1 });
    expect(await call("Glob", { pattern: "*.ts" })).toMatchObject({ matches: [], count: 0 });
  });

  it("skips node_modules, .git and .gsv unless the pattern names them, and finds other hidden files", async () => {
    for (const path of [
      "node_modules/a/i.js",
      ".git/config",
      ".gsv/ssm.json",
      ".env",
      "lib/node_modules/b.js",
    ])
      put(path, "x");
    expect(await call("Glob", { pattern: "**" })).toMatchObject({ matches: [".env"], count: 1 });
    expect(await call("Glob", { pattern: "node_modules/**/*.js" })).toMatchObject({
      matches: ["node_modules/a/i.js"],
    });
  });

  it("searches above the workspace and by absolute pattern", async () => {
    const path = put("here.txt", "x");
    put("inner/x", "x");
    expect(await call("Glob", { pattern: "../*.txt", path: "inner" })).toMatchObject({
      matches: ["here.txt"],
    });
    expect(await call("Glob", { pattern: `${bench.workspace}/*.txt` })).toMatchObject({
      matches: ["here.txt"],
    });
    const outside = mkdtempSync(join(tmpdir(), "gsv-outside-"));
    writeFileSync(join(outside, "there.txt"), "x");
    expect(await call("Glob", { pattern: `${outside}/*.txt` })).toMatchObject({
      matches: [join(outside, "there.txt")],
    });
    rmSync(outside, { recursive: true });
    await expect(call("Glob", { pattern: "*", path })).rejects.toThrow("is not a folder");
  });

  it("does not follow links that form a cycle", async () => {
    put("a/file.txt", "x");
    symlinkSync(bench.workspace, join(bench.workspace, "a/loop"));
    symlinkSync(join(bench.workspace, "a/file.txt"), join(bench.workspace, "link.txt"));
    const result = await call("Glob", { pattern: "**/*.txt" });
    expect((result.matches as string[]).sort()).toEqual(["a/file.txt", "link.txt"]);
  });

  it("lists at most 1,000 files and counts all", async () => {
    for (let n = 0; n < 1003; n++) put(`many/${n}`, "");
    const result = await call("Glob", { pattern: "many/*" });
    expect(result).toMatchObject({ count: 1003, truncated: true });
    expect(result.matches).toHaveLength(1000);
  });
});

describe("Grep", () => {
  it("finds lines by regular expression, with path and line number", async () => {
    put("a.ts", "first\nfoo(1)\r\nlast foo(22)");
    put("b/c.md", "foo(x)\nFOO(3)");
    expect(await call("Grep", { pattern: "foo\\(\\d+\\)$" })).toEqual({
      matches: [
        { path: "a.ts", line: 2, content: "foo(1)" },
        { path: "a.ts", line: 3, content: "last foo(22)" },
      ],
      count: 2,
    });
    expect(await call("Grep", { pattern: "(?i)^foo", include: "*.md" })).toMatchObject({
      matches: [
        { path: "b/c.md", line: 1 },
        { path: "b/c.md", line: 2, content: "FOO(3)" },
      ],
    });
    expect(await call("Grep", { pattern: "foo", include: "b/*.{md,txt}" })).toMatchObject({ count: 1 });
    expect(await call("Grep", { pattern: "foo", path: "a.ts" })).toMatchObject({ count: 2 });
    expect(await call("Grep", { pattern: "absent" })).toEqual({ matches: [], count: 0 });
  });

  it("skips binary files, node_modules, .git and .gsv", async () => {
    put("bin", Buffer.from("needle\0needle"));
    put("node_modules/x.js", "needle");
    put(".git/x", "needle");
    put(".gsv/gateway.json", "needle");
    put("ok.txt", "needle");
    expect(await call("Grep", { pattern: "needle" })).toMatchObject({
      matches: [{ path: "ok.txt" }],
      count: 1,
    });
  });

  it("stops at 100 matches and says so", async () => {
    put("a.txt", "hit\n".repeat(100));
    expect(await call("Grep", { pattern: "hit" })).not.toHaveProperty("truncated");
    put("b.txt", "hit\n");
    const result = await call("Grep", { pattern: "hit" });
    expect(result).toMatchObject({ count: 100, truncated: true });
    expect(result.matches).toHaveLength(100);
  });

  it("shows at most 200 characters of a line, including the match, and splits no character", async () => {
    put("long.txt", `${"😀".repeat(2000)}needle${"😀".repeat(2000)}\n${"n".repeat(199)}😀`);
    const { matches } = (await call("Grep", { pattern: "needle|nnn" })) as { matches: { content: string }[] };
    expect(matches[0]!.content).toContain("needle");
    for (const { content } of matches) {
      expect(content.length).toBeLessThanOrEqual(200);
      expect(content).toBe(content.toWellFormed());
    }
  });

  it("aborts a pattern that would run forever", async () => {
    put("evil.txt", `${"a".repeat(60)}!`);
    await expect(call("Grep", { pattern: "(a+)+$" })).rejects.toThrow(
      "Grep: the pattern takes too long on evil.txt",
    );
  });

  it("skips unreadable files, but reports one that was named", async () => {
    put("ok.txt", "needle");
    symlinkSync(join(bench.workspace, "gone"), join(bench.workspace, "dangling"));
    expect(await call("Grep", { pattern: "needle" })).toMatchObject({ count: 1 });
    await expect(call("Grep", { pattern: "needle", path: "dangling" })).rejects.toThrow(
      "no such file or folder",
    );
  });
});
