import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { pack } from "tar-stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { preview } from "../../../../cli/commands/skills/skill-preview.ts";
import { readSkill } from "../../../../cli/commands/skills/skill-source.ts";
import {
  type ArchiveServer,
  gitArchive,
  startArchiveServer,
  type Tree,
} from "../../../support/archives/archive-server.ts";
import { newFolder } from "../../../support/run/test-folders.ts";

let server: ArchiveServer;
beforeAll(async () => {
  server = await startArchiveServer();
});
afterAll(() => server.close());

const skillText = (name: string, extra = "") =>
  `---\nname: ${name}\ndescription: does ${name}\n${extra}---\n# ${name}\nDo it.\n`;
const png = Buffer.from("89504e470d0a1a0a0000000d4948445200ff00fe", "hex");
const long = `${"a-rather-long-folder-name-".repeat(5)}x`;

const read = (source: string) => readSkill(source, newFolder(), server.fetchGuarded);

/** Shapes of public skills: the tree, what a user types, and the paths that are installed. */
const shapes: [what: string, tree: Tree, source: string, paths: string[]][] = [
  ["one file at the top", { "SKILL.md": skillText("one") }, "ann/one", ["SKILL.md"]],
  [
    "scripts and references",
    {
      "SKILL.md": skillText("pdf"),
      "scripts/fill.py": "#!/usr/bin/env python3\n",
      "references/forms.md": "# Forms",
    },
    "ann/pdf",
    ["references/forms.md", "scripts/fill.py", "SKILL.md"],
  ],
  [
    "a picture and a font",
    { "SKILL.md": skillText("brand"), "assets/logo.png": png, "assets/a.ttf": Buffer.from([0, 1, 0, 0]) },
    "ann/brand",
    ["assets/a.ttf", "assets/logo.png", "SKILL.md"],
  ],
  [
    "nested folders",
    { "SKILL.md": skillText("deep"), "a/b/c/d/e.md": "deep", "a/b/c.md": "less deep" },
    "ann/deep",
    ["a/b/c.md", "a/b/c/d/e.md", "SKILL.md"],
  ],
  [
    "a repository with many skills",
    {
      "README.md": "# Skills",
      "skills/pdf/SKILL.md": skillText("pdf"),
      "skills/pdf/scripts/x.sh": "#!/bin/sh\n",
      "skills/docx/SKILL.md": skillText("docx"),
      "skills/docx/schema.xsd": "<x/>",
    },
    "ann/many/skills/pdf",
    ["scripts/x.sh", "SKILL.md"],
  ],
  [
    "the only skill of a repository, in a folder",
    { "README.md": "x", "package.json": "{}", "plugin/skills/lint/SKILL.md": skillText("lint") },
    "ann/only",
    ["SKILL.md"],
  ],
  [
    "a tag",
    { "SKILL.md": skillText("tagged"), LICENSE: "MIT" },
    "ann/tagged@v1.2.0",
    ["LICENSE", "SKILL.md"],
  ],
  [
    "a folder and a branch with a slash",
    { "tea/SKILL.md": skillText("tea"), "coffee/SKILL.md": skillText("coffee") },
    "ann/drinks/tea@feature/hot",
    ["SKILL.md"],
  ],
  [
    "lines that end in CR LF, and a byte order mark",
    {
      "SKILL.md": `\uFEFF${skillText("windows").replaceAll("\n", "\r\n")}`,
      "scripts/run.bat": "@echo off\r\n",
    },
    "ann/windows",
    ["scripts/run.bat", "SKILL.md"],
  ],
  [
    "names of more than a hundred characters, and of other scripts",
    { "SKILL.md": skillText("names"), [`${long}/${long}.md`]: "long", "références/日本.md": "x" },
    "ann/names",
    [`${long}/${long}.md`, "références/日本.md", "SKILL.md"],
  ],
  [
    "hidden files, and links outside of the skill",
    {
      ".github/x.yml": "x",
      "tea/SKILL.md": skillText("tea"),
      "tea/.env": "SECRET=1",
      "tea/node_modules/a.js": "",
    },
    "ann/hidden/tea",
    ["SKILL.md"],
  ],
];

describe("a skill on GitHub", () => {
  it.each(shapes)("with %s is read by its address", async (_what, tree, source, paths) => {
    const [, repo = "", ref = "HEAD"] = /^(\w+\/\w+)[^@]*(?:@(.*))?$/.exec(source) ?? [];
    const { body, commit } = gitArchive(tree, source.includes("hidden") ? { "docs-link": "tea" } : {});
    server.archives.set(`${repo}/tar.gz/${ref}`, body);
    const skill = await read(source);
    expect(skill.files.map(({ path }) => path)).toEqual(paths);
    expect(skill.commit).toBe(commit);
    for (const { path, body } of skill.files) {
      const given = Object.entries(tree).find(([name]) => name === path || name.endsWith(`/${path}`));
      expect(Buffer.from(body).equals(Buffer.from(given?.[1] ?? "")), path).toBe(true);
    }
    expect((await read(skill.source ?? "")).files, "its pinned address").toEqual(skill.files);
    const shown = preview({ skill, agentId: "main", name: skill.name });
    expect(shown).toContain(commit);
    expect(shown).toMatch(/\nsha256 +[0-9a-f]{64}\n/);
  });

  it("shows what it proposes, and that this gives no right; pictures only by size", async () => {
    const extra = [
      "license: Apache-2.0",
      "compatibility: needs git and the network",
      "allowed-tools: Bash(git status:*), Read Write",
    ];
    const tree = { "SKILL.md": skillText("careful", `${extra.join("\n")}\n`), "a.png": png };
    server.archives.set("ann/careful/tar.gz/HEAD", gitArchive(tree).body);
    const skill = await read("https://github.com/ann/careful");
    expect(skill.document.proposal).toEqual({
      license: "Apache-2.0",
      compatibility: "needs git and the network",
      allowedTools: ["Bash(git status:*)", "Read", "Write"],
    });
    const shown = preview({ skill, agentId: "main", name: "careful" });
    expect(shown).toMatch(
      /tools +Bash\(git status:\*\), Read, Write \(proposed by the skill; it gives no right\)/,
    );
    expect(shown).toContain("a.png: not text, 20 bytes; it is not shown");
  });

  it("is named when a repository has several, or none, or does not exist", async () => {
    const tree = { "a/tea/SKILL.md": skillText("tea"), "b/SKILL.md": skillText("b") };
    server.archives.set("ann/several/tar.gz/HEAD", gitArchive(tree).body);
    await expect(read("ann/several")).rejects.toThrow(
      "ann/several has 2 skills; add one of ann/several/a/tea, ann/several/b",
    );
    expect((await read("ann/several/a")).source).toBe("ann/several/a/tea");
    await expect(read("ann/several/c")).rejects.toThrow("ann/several/c has no SKILL.md");
    await expect(read("ann/nothing@v9")).rejects.toThrow("no such public repository, branch or tag");
    expect((await read("https://github.com/ann/several/tree/HEAD/b")).name).toBe("b");
  });
});

type Entries = [header: Parameters<ReturnType<typeof pack>["entry"]>[0], body?: string | Uint8Array][];

/** An archive with exactly these entries. */
async function hostile(entries: Entries): Promise<Buffer> {
  const packed = pack();
  for (const [header, body = ""] of entries) packed.entry(header, body);
  packed.finalize();
  const chunks: Uint8Array[] = [];
  for await (const chunk of packed) chunks.push(chunk as Uint8Array);
  return gzipSync(Buffer.concat(chunks));
}

const ok: Entries[number] = [{ name: "r-1/SKILL.md" }, skillText("evil")];

describe("an archive is refused with one sentence", () => {
  it.each<[what: string, make: () => Entries, sentence: string]>([
    [
      "a name with ..",
      () => [[{ name: "r-1/../../etc/x" }, "x"], ok],
      'the name "r-1/../../etc/x" must not contain ".."',
    ],
    [
      "an absolute name",
      () => [[{ name: "/etc/passwd" }, "x"], ok],
      'the name "/etc/passwd" must be relative',
    ],
    ["a drive", () => [[{ name: "C:/x" }, "x"], ok], 'the name "C:/x" must be relative'],
    ["a backslash", () => [[{ name: "r-1/a\\..\\b" }, "x"], ok], "must not contain a backslash"],
    ["a control character", () => [[{ name: "r-1/a\nb" }, "x"], ok], "must not contain control characters"],
    [
      "a symbolic link",
      () => [ok, [{ name: "r-1/key", type: "symlink", linkname: "/root/.ssh/id" }]],
      '"key" is a link',
    ],
    ["a hard link", () => [ok, [{ name: "r-1/b", type: "link", linkname: "r-1/SKILL.md" }]], '"b" is a link'],
    ["a device", () => [ok, [{ name: "r-1/d", type: "character-device" }]], '"r-1/d" is neither a file'],
    ["a pipe", () => [ok, [{ name: "r-1/p", type: "fifo" }]], '"r-1/p" is neither a file'],
    ["a name twice", () => [ok, [{ name: "r-1/skill.md" }, "x"]], '"skill.md" is there twice'],
    [
      "10,000 files",
      () => [ok, ...Array.from({ length: 10_000 }, (_, n): Entries[number] => [{ name: `r-1/f/${n}` }, ""])],
      "it has more than 8000 files and folders",
    ],
    [
      "more files than a skill may have",
      () => [ok, ...Array.from({ length: 200 }, (_, n): Entries[number] => [{ name: `r-1/f/${n}` }, ""])],
      "the skill has 201 files; the limit of a skill is 200",
    ],
    [
      "more bytes than a skill may have",
      () => [ok, [{ name: "r-1/big.bin" }, Buffer.alloc(5 * 1024 * 1024)]],
      "the limit is 5 MB",
    ],
    [
      "a few kilobytes that unpack to 160 MB",
      () => [[{ name: "r-1/zero" }, Buffer.alloc(160 * 1024 * 1024)], ok],
      "it unpacks to more than 150 MB",
    ],
    ["no entry", () => [], "it is empty"],
  ])("with %s", async (_what, make, sentence) => {
    server.archives.set("eve/evil/tar.gz/HEAD", await hostile(make()));
    const error = await read("eve/evil").then(
      () => new Error("was read"),
      (error: Error) => error,
    );
    expect(error.message).toContain(sentence);
    expect(error.message).not.toContain("\n");
  });

  it("that is cut off, or is no archive", async () => {
    const { body } = gitArchive({ "SKILL.md": skillText("cut"), "b.bin": randomBytes(5000) });
    for (const broken of [
      body.subarray(0, body.length - 40),
      Buffer.from("<html>"),
      gzipSync("x".repeat(600)),
    ]) {
      server.archives.set("eve/cut/tar.gz/HEAD", broken);
      await expect(read("eve/cut")).rejects.toThrow(/^the archive was refused: it is (damaged|empty)/);
    }
  });
});
