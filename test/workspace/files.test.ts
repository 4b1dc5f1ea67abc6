import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { maxFileBytes, openWorkspace } from "../../shared/workspace/workspace-files.ts";
import { type Bucket, PreconditionFailed } from "../../shared/world/world.ts";
import { createMemoryBucket } from "../support/memory-bucket.ts";

const open = (initial: Record<string, string | Uint8Array> = {}) => {
  const bucket = createMemoryBucket(initial);
  return { bucket, workspace: openWorkspace(bucket) };
};

describe("reading a workspace", () => {
  it("reads a file with its size in bytes and its time", async () => {
    const { workspace } = open({ "agents/main/SOUL.md": "größer" });
    const file = await workspace.read("main", "SOUL.md");
    expect(file).toMatchObject({ path: "SOUL.md", content: "größer", size: 8 });
    expect(Date.parse(file.lastModified)).toBeGreaterThan(1.6e12);
  });

  it("writes any bytes of up to 5 MB, except to files that prompts use", async () => {
    const { bucket, workspace } = open();
    const bytes = new Uint8Array(5 * 1024 * 1024).fill(200);
    await workspace.write("main", "skills/a/logo.png", bytes);
    const stored = await bucket.get("agents/main/skills/a/logo.png");
    expect(Buffer.from(bytes).equals(stored?.body ?? Buffer.of())).toBe(true);
    expect(stored?.contentType).toBe("application/octet-stream");
    await expect(workspace.write("main", "a.png", new Uint8Array(bytes.length + 1))).rejects.toThrow("5 MB");
    for (const path of ["MEMORY.md", "skills/a/SKILL.md"])
      await expect(workspace.write("main", path, bytes)).rejects.toThrow(
        "the limit for a workspace file is 2 MB",
      );
  });

  it("says which file is not there", async () => {
    const { workspace } = open({ "agents/other/SOUL.md": "x" });
    await expect(workspace.read("main", "SOUL.md")).rejects.toMatchObject({
      code: 404,
      message: "workspace file not found: SOUL.md",
    });
  });

  it("lists one level, whole paths, folders with a trailing slash", async () => {
    const { workspace } = open({
      "agents/main/SOUL.md": "",
      "agents/main/memory/2026-01-02.md": "",
      "agents/main/memory/2026-01-01.md": "",
      "agents/main/skills/a/SKILL.md": "",
      "agents/mainly/X.md": "",
    });
    const root = { path: "/", files: ["SOUL.md"], directories: ["memory/", "skills/"] };
    expect(await workspace.list("main", "")).toEqual(root);
    expect(await workspace.list("main", "/")).toEqual(root);
    const memory = {
      path: "memory",
      files: ["memory/2026-01-01.md", "memory/2026-01-02.md"],
      directories: [],
    };
    expect(await workspace.list("main", "memory")).toEqual(memory);
    expect(await workspace.list("main", "memory/")).toEqual(memory);
    expect(await workspace.list("main", "nothing")).toEqual({ path: "nothing", files: [], directories: [] });
  });

  it("does not list the empty object with which S3 consoles mark a folder", async () => {
    const { workspace } = open({
      "agents/main/": "",
      "agents/main/notes/": "",
      "agents/main/notes/a.md": "",
    });
    expect(await workspace.list("main", "")).toMatchObject({ files: [], directories: ["notes/"] });
    expect(await workspace.list("main", "notes")).toMatchObject({ files: ["notes/a.md"], directories: [] });
  });

  it("refuses a binary file, and one that is too large", async () => {
    const { workspace } = open({
      "agents/main/photo": new Uint8Array([0xff, 0xd8, 0xff]),
      "agents/main/large.txt": "x".repeat(maxFileBytes + 1),
    });
    await expect(workspace.read("main", "photo")).rejects.toMatchObject({
      code: 400,
      message: "path: photo is a binary file, not UTF-8 text",
    });
    await expect(workspace.read("main", "large.txt")).rejects.toMatchObject({ code: 413 });
  });

  it("points from a compressed session archive to where sessions are read", async () => {
    const { bucket, workspace } = open();
    await expect(workspace.read("main", "sessions/1.jsonl.gz")).rejects.toMatchObject({
      code: 400,
      message: expect.stringContaining("session.transcript"),
    });
    expect(bucket.requests).toEqual([]);
  });
});

describe("writing a workspace", () => {
  it("writes with the content type of the file's name", async () => {
    const { bucket, workspace } = open();
    const types = {
      "a.md": "text/markdown; charset=utf-8",
      "a.json": "application/json",
      "a.sh": /^text\/plain/,
    };
    for (const [path, type] of Object.entries(types)) {
      expect(await workspace.write("main", path, "größe")).toEqual({ path, size: 7, written: true });
      expect((await bucket.get(`agents/main/${path}`))?.contentType).toMatch(type);
    }
  });

  it("refuses what is larger than a workspace file may be", async () => {
    const { bucket, workspace } = open({ "agents/main/a.md": "x".repeat(maxFileBytes) });
    await expect(workspace.write("main", "b.md", "ü".repeat(maxFileBytes / 2 + 1))).rejects.toMatchObject({
      code: 413,
    });
    await expect(workspace.append("main", "a.md", "y")).rejects.toMatchObject({ code: 413 });
    expect(bucket.calls.put).toBe(0);
  });

  it("leaves session archives to the gateway", async () => {
    const { bucket, workspace } = open();
    await expect(workspace.write("main", "sessions/x.jsonl.gz", "")).rejects.toMatchObject({ code: 400 });
    await expect(workspace.append("main", "sessions/x.txt", "y")).rejects.toMatchObject({ code: 400 });
    for (const path of [".git/HEAD", "/.GIT/config", "objects/ab", "recall/m/2026-05.json.gz"]) {
      await expect(workspace.write("main", path, ""), path).rejects.toMatchObject({ code: 403 });
      await expect(workspace.delete("main", path), path).rejects.toMatchObject({ code: 403 });
    }
    expect(bucket.requests).toEqual([]);
  });

  it("deletes a file, and says when there is none", async () => {
    const { bucket, workspace } = open({
      "agents/main/a.md": "",
      "agents/main/a.md.bak": "",
      "agents/main/d/x": "",
    });
    expect(await workspace.delete("main", "a.md")).toEqual({ path: "a.md", deleted: true });
    expect(bucket.keys()).toEqual(["agents/main/a.md.bak", "agents/main/d/x"]);
    await expect(workspace.delete("main", "a.md")).rejects.toMatchObject({ code: 404 });
    await expect(workspace.delete("main", "d")).rejects.toMatchObject({ code: 404 });
    expect(bucket.downloads).toEqual([]);
  });
});

describe("editing a file", () => {
  const edit = async (content: string, oldString: string, newString: string, replaceAll?: boolean) => {
    const { bucket, workspace } = open({ "agents/main/a.md": content });
    const result = await workspace.edit("main", "a.md", { oldString, newString, replaceAll });
    return { ...result, content: bucket.peek("agents/main/a.md") };
  };

  it("replaces the one occurrence, character by character", async () => {
    expect(await edit("price: 5", "5", "$& $1 $$")).toEqual({
      path: "a.md",
      replacements: 1,
      size: 15,
      content: "price: $& $1 $$",
    });
  });

  it("keeps a byte order mark", async () => {
    expect((await edit("\uFEFFa", "a", "b")).content).toBe("\uFEFFb");
  });

  it("replaces all when asked to", async () => {
    expect(await edit("a a a", "a", "b", true)).toMatchObject({ replacements: 3, content: "b b b" });
  });

  it("refuses several occurrences, and none, with their count", async () => {
    await expect(edit("a a a", "a", "b")).rejects.toMatchObject({
      code: 400,
      message: expect.stringMatching(/oldString.*3 occurrences/),
    });
    await expect(edit("a", "x", "b", true)).rejects.toMatchObject({
      code: 400,
      message: expect.stringMatching(/oldString.*0 occurrences/),
    });
  });

  it("refuses an edit that says nothing", async () => {
    await expect(edit("a", "", "b")).rejects.toMatchObject({ code: 400 });
    await expect(edit("a", "a", "a")).rejects.toMatchObject({ code: 400 });
  });

  it("says which file is not there", async () => {
    const { workspace } = open();
    await expect(workspace.edit("main", "a.md", { oldString: "a", newString: "b" })).rejects.toMatchObject({
      code: 404,
    });
  });
});

describe("writers at the same moment", () => {
  it("two edits of one file both land", async () => {
    const { bucket, workspace } = open({ "agents/main/a.md": "one two" });
    await Promise.all([
      workspace.edit("main", "a.md", { oldString: "one", newString: "1" }),
      workspace.edit("main", "a.md", { oldString: "two", newString: "2" }),
    ]);
    expect(bucket.peek("agents/main/a.md")).toBe("1 2");
    expect(bucket.calls.put).toBeGreaterThan(2);
  });

  it("88 edits of one file all land", async () => {
    const words = Array.from({ length: 88 }, (_, i) => `word${i}`);
    const { bucket } = open({ "agents/main/a.md": words.map((word) => `${word};`).join("") });
    const workspace = openWorkspace(bucket, (ms) => delay(ms / 25));
    await Promise.all(
      words.map((word) => workspace.edit("main", "a.md", { oldString: `${word};`, newString: "." })),
    );
    expect(bucket.peek("agents/main/a.md")).toBe(".".repeat(88));
  });

  it("appends to a file that is not there yet all land, each on its own line", async () => {
    const { bucket, workspace } = open();
    await Promise.all(["a", "b", "c"].map((text) => workspace.append("main", "memory/2026-01-01.md", text)));
    expect(bucket.peek("agents/main/memory/2026-01-01.md")?.split("\n").sort()).toEqual(["a", "b", "c"]);
  });

  it("an edit whose text another has changed meanwhile is refused, and overwrites nothing", async () => {
    const { bucket, workspace } = open({ "agents/main/a.md": "one" });
    const results = await Promise.allSettled([
      workspace.edit("main", "a.md", { oldString: "one", newString: "1" }),
      workspace.edit("main", "a.md", { oldString: "one", newString: "I" }),
    ]);
    expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(["1", "I"]).toContain(bucket.peek("agents/main/a.md"));
  });

  it("a change that loses every time ends in a conflict that may be tried again", async () => {
    const bucket = createMemoryBucket({ "agents/main/a.md": "start" });
    let others = 0;
    const busy: Bucket = {
      ...bucket,
      async put(key, body, options) {
        await bucket.put(key, `other ${others++}`);
        return bucket.put(key, body, options);
      },
    };
    const patient = openWorkspace(busy, async () => {});
    await expect(patient.append("main", "a.md", "mine")).rejects.toMatchObject({
      code: 409,
      retryable: true,
    });
    expect(others).toBe(100);
    expect(bucket.peek("agents/main/a.md")).toBe("other 99");
  });

  it("a change that landed although its answer was lost is not made twice", async () => {
    const bucket = createMemoryBucket({ "agents/main/a.md": "one" });
    let lost = false;
    const flaky: Bucket = {
      ...bucket,
      async put(key, body, options) {
        const etag = await bucket.put(key, body, options);
        if (lost) return etag;
        lost = true;
        throw new PreconditionFailed(key); // What a client that repeats such a request gets to see.
      },
    };
    await openWorkspace(flaky).append("main", "a.md", "two");
    expect(bucket.peek("agents/main/a.md")).toBe("one\ntwo");
  });

  it("a failure of the bucket is passed on, not tried again", async () => {
    const bucket = createMemoryBucket({ "agents/main/a.md": "one" });
    const failing: Bucket = { ...bucket, put: () => Promise.reject(new Error("access denied")) };
    await expect(openWorkspace(failing).append("main", "a.md", "two")).rejects.toThrow("access denied");
    expect(bucket.calls.get).toBe(1);
  });
});

describe("skills in the workspace", () => {
  const shared = "skills/tea/SKILL.md";
  const own = "agents/main/skills/tea/SKILL.md";

  it("are read from the agent's copy, and else from the one all agents share", async () => {
    const { bucket, workspace } = open({ [shared]: "shared" });
    expect((await workspace.read("main", shared)).content).toBe("shared");
    await bucket.put(own, "own");
    expect((await workspace.read("main", shared)).content).toBe("own");
    expect((await workspace.read("other", shared)).content).toBe("shared");
  });

  it("are listed together", async () => {
    const { workspace } = open({
      [shared]: "",
      [own]: "",
      "skills/coffee/SKILL.md": "",
      "agents/main/skills/cake/SKILL.md": "",
      "skills/tea/kettle.md": "",
    });
    expect((await workspace.list("main", "skills")).directories).toEqual([
      "skills/cake/",
      "skills/coffee/",
      "skills/tea/",
    ]);
    expect((await workspace.list("main", "skills/tea")).files).toEqual([
      "skills/tea/SKILL.md",
      "skills/tea/kettle.md",
    ]);
  });

  it("are written and edited as the agent's copy only", async () => {
    const { bucket, workspace } = open({ [shared]: "steep 3 minutes", "skills/coffee/SKILL.md": "grind" });
    await workspace.edit("main", shared, { oldString: "3", newString: "5" });
    await workspace.write("main", "skills/coffee/SKILL.md", "boil");
    expect(bucket.peek(own)).toBe("steep 5 minutes");
    expect(bucket.peek(shared)).toBe("steep 3 minutes");
    expect(bucket.peek("skills/coffee/SKILL.md")).toBe("grind");
  });

  it("are deleted as the agent's copy only", async () => {
    const { bucket, workspace } = open({ [shared]: "shared", [own]: "own" });
    await workspace.delete("main", shared);
    await expect(workspace.delete("main", shared)).rejects.toMatchObject({
      code: 404,
      message: expect.stringContaining("agent has no copy"),
    });
    expect(bucket.keys()).toEqual([shared]);
  });
});

describe("paths", () => {
  const bad: [string, string, RegExp][] = [
    ["nothing", "", /expected the path of a file/],
    ["two slashes before it", "//etc/passwd", /empty segment/],
    ["a step up", "../other/SOUL.md", /"\.\."/],
    ["a step up in the middle", "memory/../../other/SOUL.md", /"\.\."/],
    ["a step nowhere", "./SOUL.md", /"\."/],
    ["a backslash", "..\\other", /backslash/],
    ["a control character", "a\u0000.md", /control/],
    ["a line break", "a\n.md", /control/],
    ["an empty segment", "memory//a.md", /empty segment/],
    ["a trailing slash", "memory/", /empty segment/],
    ["half a surrogate pair", "a\ud83d.md", /Unicode/],
    ["a segment over 200 bytes", `${"ü".repeat(101)}.md`, /200 bytes/],
    ["a key over 1,024 bytes", Array(10).fill("x".repeat(150)).join("/"), /too long/],
  ];

  for (const [what, path, reason] of bad) {
    it(`refuses ${what}, in every operation, without a request`, async () => {
      const { bucket, workspace } = open();
      const calls = [
        () => workspace.read("main", path),
        () => workspace.write("main", path, "x"),
        () => workspace.edit("main", path, { oldString: "a", newString: "b" }),
        () => workspace.append("main", path, "x"),
        () => workspace.delete("main", path),
      ];
      for (const call of calls) {
        await expect(call()).rejects.toMatchObject({ code: 400, message: expect.stringMatching(/^path: /) });
        await expect(call()).rejects.toThrow(reason);
      }
      expect(bucket.requests).toEqual([]);
    });
  }

  it("refuses a folder outside the workspace", async () => {
    const { bucket, workspace } = open();
    for (const path of ["..", "../", "//etc", "a/../..", "//", "."]) {
      await expect(workspace.list("main", path)).rejects.toMatchObject({ code: 400 });
    }
    expect(bucket.requests).toEqual([]);
  });

  it("takes names in any script, with spaces and dots", async () => {
    const { bucket, workspace } = open();
    for (const path of ["notes/über uns.md", "日記/..今日..md", ".hidden"])
      await workspace.write("main", path, "x");
    expect(bucket.keys()).toContain("agents/main/日記/..今日..md");
  });

  it("refuses an agent id that is not normalized", async () => {
    const { bucket, workspace } = open();
    for (const agentId of ["", "Main", "../x", "a/b", "-a", "a".repeat(65), "main\n"]) {
      await expect(workspace.read(agentId, "a.md")).rejects.toMatchObject({
        code: 400,
        message: expect.stringMatching(/^agentId: /),
      });
    }
    expect(bucket.requests).toEqual([]);
  });
});
