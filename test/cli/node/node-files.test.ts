import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { toolBench } from "./tool-bench.ts";

const bench = toolBench();
const { call, put } = bench;

describe("Read", () => {
  it("numbers lines from 1 and skips offset lines", async () => {
    const path = put("a.txt", "one\ntwo\r\nthree\n");
    expect(await call("Read", { path: "a.txt" })).toEqual({
      path,
      content: "1\tone\n2\ttwo\r\n3\tthree",
      lines: 3,
      totalLines: 3,
    });
    expect(await call("Read", { path, offset: 1, limit: 1 })).toEqual({
      path,
      content: "2\ttwo\r",
      lines: 1,
      truncated: true,
      nextOffset: 2,
    });
    expect(await call("Read", { path, offset: 9 })).toMatchObject({ content: "", lines: 0, totalLines: 3 });
  });

  it("accepts paths outside of the workspace and in the home folder: the node gives access to the machine", async () => {
    const path = put("b.txt", "x");
    const up = join("..", bench.workspace.split("/").at(-1) ?? "", "b.txt");
    expect(await call("Read", { path: up })).toMatchObject({ path, content: "1\tx" });
    await expect(call("Read", { path: "~/no-such-file-of-gsv" })).rejects.toThrow(
      `Read: ${join(homedir(), "no-such-file-of-gsv")}: no such file or folder`,
    );
  });

  it("reads a file larger than one answer in parts that join to the whole file", async () => {
    const lines = Array.from({ length: 9000 }, (_, n) => `line ${n} ${"€".repeat(n % 40)}`);
    const path = put("large.txt", lines.join("\n"));
    const seen: string[] = [];
    let offset: number | undefined = 0;
    while (offset !== undefined) {
      const part = await call("Read", { path, offset, limit: 100_000 });
      expect(Buffer.byteLength(JSON.stringify(part))).toBeLessThan(120_000);
      seen.push(...String(part.content).split("\n"));
      offset = part.nextOffset as number | undefined;
    }
    expect(seen).toEqual(lines.map((line, n) => `${n + 1}\t${line}`));
  });

  it("shortens an endless line instead of buffering it", async () => {
    const path = put("one-line.txt", `${"😀".repeat(300_000)}\nnext`);
    const result = await call("Read", { path });
    const [first, second] = String(result.content).split("\n");
    expect(first).toBe(`1\t${"😀".repeat(5000)}…`);
    expect(second).toBe("2\tnext");
  });

  it("shows an image as blocks of text and image", async () => {
    const bytes = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), randomBytes(64)]);
    const path = put("dot.png", bytes);
    expect(await call("Read", { path })).toEqual({
      content: [
        { type: "text", text: `${path} (image/png, 72 bytes)` },
        { type: "image", data: bytes.toString("base64"), mimeType: "image/png" },
      ],
    });
    const big = put("big.gif", Buffer.concat([Buffer.from("GIF89a"), Buffer.alloc(10 * 1024 * 1024)]));
    await expect(call("Read", { path: big })).rejects.toThrow("images up to 10485760 bytes can be shown");
  });

  it("refuses a binary file, a folder or a device with the reason", async () => {
    const binary = put("data.bin", Buffer.from([1, 2, 0, 3]));
    await expect(call("Read", { path: binary })).rejects.toThrow(
      `Read: ${binary} is a binary file (4 bytes) and cannot be shown as text`,
    );
    await expect(call("Read", { path: "." })).rejects.toThrow("is a folder");
    await expect(call("Read", { path: "/dev/zero" })).rejects.toThrow("is not a regular file");
  });

  it("reads an empty file as no lines", async () => {
    put("empty", "");
    expect(await call("Read", { path: "empty" })).toMatchObject({ content: "", lines: 0, totalLines: 0 });
  });
});

describe("Write", () => {
  it("creates missing folders and counts bytes", async () => {
    const result = await call("Write", { path: "new/deep/file.txt", content: "héllo" });
    expect(result).toEqual({ path: join(bench.workspace, "new/deep/file.txt"), bytes: 6 });
    expect(readFileSync(join(bench.workspace, "new/deep/file.txt"), "utf8")).toBe("héllo");
  });

  it("says why it cannot write", async () => {
    put("file", "");
    await expect(call("Write", { path: ".", content: "" })).rejects.toThrow("is a folder");
    await expect(call("Write", { path: "file/below", content: "" })).rejects.toThrow("Write: ");
  });
});

describe("Edit", () => {
  it("replaces the one occurrence, literally", async () => {
    const path = put("code.ts", "const a = 1;\nconst b = 2;\n");
    const result = await call("Edit", { path: "code.ts", oldString: "b = 2", newString: "b = $& $1 $$" });
    expect(result).toEqual({ path, replacements: 1 });
    expect(readFileSync(path, "utf8")).toBe("const a = 1;\nconst b = $& $1 $$;\n");
  });

  it("refuses a missing or ambiguous text with the count, and changes nothing", async () => {
    const path = put("code.ts", "x y x y x");
    await expect(call("Edit", { path, oldString: "z", newString: "" })).rejects.toThrow("(0 occurrences)");
    await expect(call("Edit", { path, oldString: "x", newString: "" })).rejects.toThrow("occurs 3 times");
    expect(readFileSync(path, "utf8")).toBe("x y x y x");
    expect(await call("Edit", { path, oldString: "x", newString: "", replaceAll: true })).toMatchObject({
      replacements: 3,
    });
    expect(readFileSync(path, "utf8")).toBe(" y  y ");
  });

  it("keeps a byte order mark and line endings, and refuses bytes that are not UTF-8", async () => {
    const path = put("mark.txt", "\uFEFFa\r\nb\r\n");
    await call("Edit", { path, oldString: "b", newString: "c" });
    expect(readFileSync(path, "utf8")).toBe("\uFEFFa\r\nc\r\n");
    const latin = put("latin.txt", Buffer.from("caf\xe9", "latin1"));
    await expect(call("Edit", { path: latin, oldString: "caf", newString: "x" })).rejects.toThrow(
      "is not UTF-8 text",
    );
  });

  it("loses none of several concurrent edits of a file", async () => {
    const names = Array.from({ length: 20 }, (_, n) => `<${n}>`);
    const path = put("many.txt", names.join(" "));
    await Promise.all(names.map((name) => call("Edit", { path, oldString: name, newString: `${name}done` })));
    expect(readFileSync(path, "utf8")).toBe(names.map((name) => `${name}done`).join(" "));
  });
});
