import { describe, expect, it } from "vitest";
import { fileObject, filesOf } from "../../shared/objects/file.ts";
import { callsOf } from "../../shared/objects/toolcall.ts";
import type { Message } from "../../shared/protocol/messages.ts";

type Step = [tool: string, args: Record<string, unknown>, answer: unknown, isError?: boolean];

/** Calls one after the other, as the agent stores them. */
const transcript = (...steps: Step[]): Message[] =>
  steps.flatMap(([name, args, answer, isError = false], i): Message[] => {
    const blocks = Array.isArray(answer) ? answer : [{ type: "text", text: JSON.stringify(answer) }];
    return [
      {
        role: "assistant",
        content: [{ type: "toolCall", id: `c${i + 1}`, name, arguments: args }],
        timestamp: 2 * i,
      },
      {
        role: "toolResult",
        toolCallId: `c${i + 1}`,
        toolName: name,
        content: blocks,
        isError,
        timestamp: 2 * i + 1,
      },
    ];
  });

const filesIn = (...steps: Step[]) => filesOf(callsOf(transcript(...steps)));
const versionsIn = (...steps: Step[]) =>
  filesIn(...steps).map((file) => [
    file.id,
    file.versions.map((version) => {
      const { path, content, char_count, version_no, provenance } = fileObject(file, version);
      return [version_no, path, content, char_count, provenance.parent_refs?.[0]];
    }),
  ]);

const path = "notes/plan.md";
const read = (content: string): Step => [
  "gsv__ReadFile",
  { path },
  { ok: true, result: { path, content, size: 1, lastModified: "" } },
];
const write = (content: string): Step => [
  "gsv__WriteFile",
  { path, content },
  { ok: true, result: { path, size: 1, written: true } },
];
const edit = (oldString: string, newString: string, replaceAll?: boolean): Step => [
  "gsv__EditFile",
  { path, oldString, newString, replaceAll },
  { ok: true, result: { path, size: 1, replacements: 1 } },
];
const remove: Step = ["gsv__DeleteFile", { path }, { ok: true, result: { path, deleted: true } }];

describe("files of the workspace", () => {
  it("M42: reading, editing, writing and deleting a file make versions of one object, each by its content", () => {
    const id = "file:gsv:notes/plan.md";
    expect(
      versionsIn(
        read("a b a\n"),
        edit("a", "$&"),
        edit("b", "c", true),
        read("$& c a\n"),
        write("new"),
        remove,
      ),
    ).toEqual([
      [
        id,
        [
          [1, path, "a b a\n", 6, "c1"],
          [2, path, "$& b a\n", 7, "c2"],
          [3, path, "$& c a\n", 7, "c3"],
          [4, path, "new", 3, "c5"],
          [5, null, null, 0, "c6"],
        ],
      ],
    ]);
  });

  it("M38: the same content read again is no new version", () => {
    expect(versionsIn(read("same"), read("same"), write("same"))).toEqual([
      ["file:gsv:notes/plan.md", [[1, path, "same", 4, "c1"]]],
    ]);
  });

  it("M42: an edit of a file whose text is not known has no content until it is read", () => {
    expect(versionsIn(edit("a", "b"), read("b"))).toEqual([
      [
        "file:gsv:notes/plan.md",
        [
          [1, path, null, 0, "c1"],
          [2, path, "b", 1, "c2"],
        ],
      ],
    ]);
  });

  it("M42: what failed changes nothing", () => {
    const refused: Step = ["gsv__WriteFile", { path, content: "x" }, { ok: false, error: "no" }, true];
    const failed: Step = ["laptop__Write", { path, content: "x" }, "Error: EACCES", true];
    expect(filesIn(refused, failed)).toEqual([]);
  });

  it("M42: a file that a list names is an object without content", () => {
    const listing = { ok: true, result: { path: "/", files: ["SOUL.md"], directories: ["memory/"] } };
    expect(versionsIn(["gsv__ReadFile", { path: "" }, listing])).toEqual([
      ["file:gsv:SOUL.md", [[1, "SOUL.md", null, 0, "c1"]]],
    ]);
  });

  it("M2: a file says its type, who made it and where it is", () => {
    const [file] = filesIn(read("x"), write("y"));
    const objects = file!.versions.map((version) => fileObject(file!, version));
    expect(
      objects.map(({ file_type, provenance: { origin, generator } }) => [file_type, origin, generator]),
    ).toEqual([
      ["md", "gsv", "tool"],
      ["md", "gsv", "agent"],
    ]);
  });
});

describe("files of nodes", () => {
  it("M42: a file that was read whole has its lines without their numbers, and one that was read in part has none", () => {
    const whole = { path: "/w/a.txt", content: "1\tone\n2\t2\ttwo", lines: 2, totalLines: 2 };
    const part = { path: "/w/b.txt", content: "2\ttwo", lines: 1, totalLines: 2 };
    const cut = { path: "/w/c.txt", content: "1\tone", lines: 1, truncated: true, nextOffset: 1 };
    expect(
      versionsIn(
        ["laptop__Read", { path: "a.txt" }, whole],
        ["laptop__Read", { path: "b.txt", offset: 1 }, part],
        ["laptop__Read", { path: "c.txt" }, cut],
        [
          "laptop__Edit",
          { path: "a.txt", oldString: "one", newString: "1" },
          { path: "/w/a.txt", replacements: 1 },
        ],
      ),
    ).toEqual([
      [
        "file:laptop:/w/a.txt",
        [
          [1, "/w/a.txt", "one\n2\ttwo", 9, "c1"],
          [2, "/w/a.txt", "1\n2\ttwo", 7, "c4"],
        ],
      ],
      ["file:laptop:/w/b.txt", [[1, "/w/b.txt", null, 0, "c2"]]],
      ["file:laptop:/w/c.txt", [[1, "/w/c.txt", null, 0, "c3"]]],
    ]);
  });

  it("M42: the same path of two nodes is two files, and an image has no content", () => {
    const image = [
      { type: "text", text: "/w/x.png (image/png, 9 bytes)" },
      { type: "image", mimeType: "image/png", r2Key: "media/x.png", size: 9 },
    ];
    const files = filesIn(
      ["laptop__Read", { path: "/w/x.png" }, image],
      ["server__Write", { path: "/w/x.png", content: "x" }, { path: "/w/x.png", bytes: 1 }],
    );
    expect(files.map(({ id, versions }) => [id, versions[0]?.content])).toEqual([
      ["file:laptop:/w/x.png", null],
      ["file:server:/w/x.png", "x"],
    ]);
  });

  it("M42: a search names files where their whole paths are known", () => {
    const glob = (args: object, matches: string[]): Step => [
      "laptop__Glob",
      { ...args },
      { basePath: "/w", matches, count: matches.length },
    ];
    const found = filesIn(
      glob({ pattern: "**/*.ts" }, ["src/a.ts", "/tmp/b.ts"]),
      glob({ pattern: "*.md", path: "docs" }, ["docs/c.md"]),
      [
        "laptop__Grep",
        { pattern: "x" },
        {
          matches: [
            { path: "/w/d.ts", line: 1 },
            { path: "/w/d.ts", line: 2 },
          ],
          count: 2,
        },
      ],
    );
    expect(found.map(({ id }) => id)).toEqual([
      "file:laptop:/w/src/a.ts",
      "file:laptop:/tmp/b.ts",
      "file:laptop:/w/d.ts",
    ]);
  });
});
