import { describe, expect, it } from "vitest";
import { blobsOf, changesOf, findCommit, listCommits } from "../../shared/git/commits.ts";
import { encodeObject, treeBody } from "../../shared/git/git-object.ts";
import { openRepository } from "../../shared/git/repository.ts";
import { commitWorkspace } from "../../shared/git/workspace-commit.ts";
import type { Bucket } from "../../shared/world/world.ts";
import { createMemoryBucket, type MemoryBucket } from "../support/memory-bucket.ts";
import { hasGit, withClone } from "./git-folder.ts";

const at = Date.parse("2026-05-05T08:00:00Z");
const files = {
  "agents/main/SOUL.md": "be kind\n",
  "agents/main/memory/2026-05-04.md": "- tea, not coffee\n",
  "agents/main/memory.md": "sorts between the folder and its files\n",
  "agents/main/notes/größe.md": "äöü\n",
};
const commit = (bucket: Bucket, message = "checkpoint: x") =>
  commitWorkspace(bucket, "main", { message, at });
const put = (bucket: Bucket, path: string, text: string) => bucket.put(`agents/main/${path}`, text);

/** The newest commit's message and files. */
async function newest(bucket: MemoryBucket) {
  const repository = openRepository(bucket, "main");
  const [last] = await listCommits(repository, 1);
  return { message: last?.message, files: last ? [...(await blobsOf(repository, last.tree)).keys()] : [] };
}

/** Git takes the repository, and its log holds these messages, newest first. */
async function expectSound(bucket: MemoryBucket, messages: readonly string[]): Promise<void> {
  const repository = openRepository(bucket, "main");
  const commits = await listCommits(repository, 100);
  expect(commits.map(({ message }) => message)).toEqual(messages);
  for (const { tree } of commits)
    for (const blob of (await blobsOf(repository, tree)).values())
      expect((await repository.readBlob(blob)).length).toBeGreaterThan(0);
  if (!hasGit) return;
  await withClone(bucket, "main", (git) => {
    expect(git("fsck", "--strict", "--no-dangling")).toBe("");
    expect(git("log", "--format=%s").trim().split("\n").filter(Boolean)).toEqual(messages);
  });
}

/** A bucket that dies before its call number `left`. */
function mortal(bucket: MemoryBucket, left: number): { bucket: Bucket; isDead: () => boolean } {
  let calls = left;
  const entries = Object.entries(bucket).map(([name, call]) => [
    name,
    (...args: unknown[]) => {
      if (calls-- <= 0) return Promise.reject(new Error("killed"));
      return (call as (...given: unknown[]) => unknown)(...args);
    },
  ]);
  return { bucket: Object.fromEntries(entries) as Bucket, isDead: () => calls < 0 };
}

describe("the objects of the history", () => {
  // Recorded with git 2.39: hash-object, mktree.
  it("I41: have the names that git gives them", () => {
    expect(encodeObject("blob", Buffer.from("be kind\n")).sha).toBe(
      "b722f4540bf3ca13fa27aa1bcc01f52db8f5c57e",
    );
    const sha = "b722f4540bf3ca13fa27aa1bcc01f52db8f5c57e";
    const tree = treeBody([
      { name: "a", kind: "tree", sha: "4b825dc642cb6eb9a060e54bf8d69288fbee4904" },
      { name: "a.md", kind: "blob", sha },
      { name: "a0", kind: "blob", sha },
    ]);
    expect(encodeObject("tree", tree).sha).toBe("2b4d07114b9f5d1b1dc6465bad9e2b778bd0cff5");
  });
});

describe("a commit of the workspace", () => {
  it("I41: is a repository that git finds sound, with every file as it is", async () => {
    const bucket = createMemoryBucket(files);
    expect(await commit(bucket)).toMatchObject({ skipped: false });
    await expectSound(bucket, ["checkpoint: x"]);
    expect((await newest(bucket)).files).toEqual([
      "SOUL.md",
      "memory.md",
      "memory/2026-05-04.md",
      "notes/größe.md",
    ]);
    if (hasGit)
      await withClone(bucket, "main", (git) => {
        expect(git("show", "HEAD:memory/2026-05-04.md")).toBe("- tea, not coffee\n");
        expect(git("log", "--format=%an <%ae> %aI")).toBe(
          "main <agent@localhost> 2026-05-05T08:00:00+00:00\n",
        );
        git("checkout", "-q", "main", "--", ".");
        expect(git("status", "--porcelain").trim()).toBe("");
      });
  });

  it("I43: of a workspace that has not changed makes none", async () => {
    const bucket = createMemoryBucket();
    expect(await commit(bucket)).toEqual({ skipped: true });
    await put(bucket, "SOUL.md", "be kind\n");
    const first = await commit(bucket);
    expect(await commit(bucket, "again")).toEqual({ skipped: true, sha: first.sha });
    await put(bucket, "SOUL.md", "be kind\n");
    expect(await commit(bucket, "again")).toEqual({ skipped: true, sha: first.sha });
    await expectSound(bucket, ["checkpoint: x"]);
  });

  it("I43: leaves out large files, archives, media, and what is being written", async () => {
    const bucket = createMemoryBucket({
      "agents/main/SOUL.md": "x",
      "agents/mainly/SOUL.md": "another agent's",
    });
    await put(bucket, "large.bin", "x".repeat(1024 * 1024 + 1));
    await put(bucket, "exact.bin", "x".repeat(1024 * 1024));
    for (const path of [
      "sessions/a.jsonl.gz",
      "media/a.png",
      "transcripts/a",
      "a.tmp",
      "objects/ab",
      "recall/s",
    ])
      await put(bucket, path, "no");
    for (const path of ["deep/.git/config", "dir", "dir/file"]) await put(bucket, path, "x");
    await commit(bucket);
    expect((await newest(bucket)).files).toEqual(["SOUL.md", "dir/file", "exact.bin"]);
    await expectSound(bucket, ["checkpoint: x"]);
  });

  it("holds a file of any name, but for those that git takes for its own folder on some file system", async () => {
    const bucket = createMemoryBucket();
    const kept = ["__proto__", "constructor", "git~2", ".gitignore"];
    const refused = [".GIT/x", "git~1", "a/.git ", "a/.git.", ".git::$INDEX/x", ".g\u200cit/x", "\ufeff/x"];
    for (const path of [...kept, ...refused]) await put(bucket, path, path);
    await commit(bucket, "a\0b");
    expect((await newest(bucket)).files.sort()).toEqual(kept.sort());
    await put(bucket, "second", "x");
    await commit(bucket, "second");
    expect((await newest(bucket)).files).toContain("__proto__");
    await expectSound(bucket, ["second", "ab"]);
  });

  it("reads and stores only what has changed", async () => {
    const bucket = createMemoryBucket(files);
    await commit(bucket);
    await put(bucket, "memory/2026-05-05.md", "- new\n");
    bucket.resetCounters();
    await commit(bucket, "second");
    const stored = bucket.requests.filter(({ operation }) => operation === "put").map(({ key }) => key);
    // The blob, the tree of the folder and the root, the commit, the branch, the index.
    expect(stored).toHaveLength(6);
    expect(bucket.downloads.filter((key) => !key.includes("/.git/"))).toEqual([
      "agents/main/memory/2026-05-05.md",
    ]);
    const repository = openRepository(bucket, "main");
    const head = await findCommit(repository, "HEAD");
    expect(await changesOf(repository, head)).toMatchObject([
      { path: "memory/2026-05-05.md", change: "added" },
    ]);
    expect((await findCommit(repository, "HEAD~1")).message).toBe("checkpoint: x");
    expect(await findCommit(repository, head.sha.slice(0, 7))).toEqual(head);
    await expect(findCommit(repository, "HEAD~2")).rejects.toThrow("no commit");
  });

  it("I45: loses the race to another without losing either", async () => {
    const bucket = createMemoryBucket(files);
    const messages = Array.from({ length: 8 }, (_, i) => `note ${i}`);
    const made = await Promise.all(
      messages.map(async (message, i) => {
        await put(bucket, `n${i}.md`, message);
        return (await commit(bucket, message)).sha;
      }),
    );
    expect((await newest(bucket)).files).toEqual(expect.arrayContaining(messages.map((_, i) => `n${i}.md`)));
    const commits = await listCommits(openRepository(bucket, "main"), 100);
    expect(commits.map(({ sha }) => sha)).toEqual(expect.arrayContaining(made));
    await expectSound(
      bucket,
      commits.map(({ message }) => message),
    );
  });

  it("I45: killed before whichever call leaves a sound repository, and is made whole by the next", async () => {
    for (let calls = 0; ; calls++) {
      const bucket = createMemoryBucket(files);
      await commit(bucket, "first");
      await put(bucket, "SOUL.md", "be kinder\n");
      await put(bucket, "notes/new.md", "n\n");
      const killed = mortal(bucket, calls);
      await commitWorkspace(killed.bucket, "main", { message: "second", at }).catch(() => {});
      const { message } = await newest(bucket);
      await expectSound(bucket, message === "second" ? ["second", "first"] : ["first"]);
      await commit(bucket, "third");
      await expectSound(bucket, message === "second" ? ["second", "first"] : ["third", "first"]);
      expect((await newest(bucket)).files).toContain("notes/new.md");
      if (!killed.isDead()) return expect(calls).toBeGreaterThan(10);
    }
  });
});
