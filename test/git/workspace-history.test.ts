import { expect, it } from "vitest";
import { defaults } from "../../shared/configuration/defaults.ts";
import { changesOf, findCommit, listCommits } from "../../shared/git/commits.ts";
import { gitSettings } from "../../shared/git/git-settings.ts";
import { openRepository } from "../../shared/git/repository.ts";
import { commitWorkspace } from "../../shared/git/workspace-commit.ts";
import * as history from "../../shared/git/workspace-history.ts";
import { createMemoryBucket } from "../support/memory-bucket.ts";

/** A workspace with a commit after each of these changes. */
async function workspaceOf(...changes: Record<string, string | undefined>[]) {
  const bucket = createMemoryBucket();
  const put = async (files: Record<string, string | Uint8Array | undefined>) => {
    for (const [path, text] of Object.entries(files))
      await (text === undefined
        ? bucket.delete(`agents/main/${path}`)
        : bucket.put(`agents/main/${path}`, text));
  };
  const commit = (message: string) => commitWorkspace(bucket, "main", { message, at: 1_700_000_000_000 });
  for (const [i, files] of changes.entries()) {
    await put(files);
    await commit(`${i}`);
  }
  return { bucket, put, commit, repository: openRepository(bucket, "main") };
}

it("the log of a path has only its commits, at most the given number", async () => {
  const { bucket } = await workspaceOf(
    { "a.md": "1" },
    { "b.md": "1" },
    { "a.md": "2", "b.md": "2" },
    { "a.md": "3" },
  );
  const log = async (limit: number, path?: string) =>
    (await history.workspaceLog(bucket, "main", { limit, ...(path ? { path } : {}) })).map(
      ({ message }) => message,
    );
  expect(await log(9)).toEqual(["3", "2", "1", "0"]);
  expect([await log(9, "b.md"), await log(1, "b.md"), await log(9, "c.md")]).toEqual([["2", "1"], ["2"], []]);
});

it("a commit is found by HEAD, by steps back and by an unambiguous prefix", async () => {
  const many = Array.from({ length: 12 }, (_, i) => ({ "a.md": `${i}` }));
  const { repository } = await workspaceOf(...many);
  const find = async (name: string) => (await findCommit(repository, name)).message;
  expect([await find("head"), await find("HEAD~0"), await find("HEAD~11")]).toEqual(["11", "11", "0"]);
  for (const name of ["HEAD~", "HEAD~x", "xHEAD", "HEADx", "abc", "xyzw", "a".repeat(41)])
    await expect(findCommit(repository, name)).rejects.toMatchObject({ code: 400 });
  await expect(findCommit(repository, "HEAD~12")).rejects.toMatchObject({ code: 404 });
  const shas = (await listCommits(repository, 99)).map(({ sha }) => sha);
  expect(await listCommits(repository, 2)).toHaveLength(2);
  expect(await find(shas[3]!)).toBe("8");
  const alike = {
    ...repository,
    readCommit: async (sha: string) => ({
      ...(await repository.readCommit(sha)),
      sha: `abcd${sha.slice(4)}`,
    }),
  };
  await expect(findCommit(alike, "abcd")).rejects.toMatchObject({
    code: 400,
    message: expect.stringContaining("ambiguous"),
  });
});

it("the difference is that of two commits, or of a commit and now, for all files or one", async () => {
  const { bucket, put } = await workspaceOf(
    { "a.md": "1", "b/c.md": "1" },
    { "a.md": "2" },
    { "b/c.md": undefined },
  );
  await put({ "d.md": "new" });
  const diff = async (asked: object) =>
    (await history.workspaceDiff(bucket, "main", asked)).files.map(({ path, change }) => `${change} ${path}`);
  expect(await diff({})).toEqual(["added d.md"]);
  expect(await diff({ from: "HEAD~2" })).toEqual(["changed a.md", "removed b/c.md", "added d.md"]);
  expect(await diff({ from: "HEAD~2", to: "HEAD" })).toEqual(["changed a.md", "removed b/c.md"]);
  expect(await diff({ to: "HEAD~1" })).toEqual(["added b/c.md"]);
  expect(await diff({ from: "HEAD~2", path: "a.md" })).toEqual(["changed a.md"]);
  const { patch } = await history.workspaceDiff(bucket, "main", { from: "HEAD~2", to: "HEAD", path: "a.md" });
  expect(patch).toContain("-1\n\\ No newline at end of file\n+2\n");
  const empty = createMemoryBucket({ "agents/main/a.md": "x" });
  expect((await history.workspaceDiff(empty, "main", {})).files).toEqual([{ path: "a.md", change: "added" }]);
  for (const asked of [{ from: "HEAD" }, { to: "HEAD" }])
    await expect(history.workspaceDiff(empty, "main", asked)).rejects.toMatchObject({
      message: expect.stringContaining("has no history yet"),
    });
  await expect(history.fileAt(bucket, "main", "HEAD", "b/c.md")).rejects.toMatchObject({
    code: 404,
    message: expect.stringMatching(/the commit [0-9a-f]{7}$/),
  });
});

it("a patch has at most 200,000 characters, and says when it was cut; of a binary file it has no content", async () => {
  const { bucket, put, commit } = await workspaceOf({ "a.md": "x" });
  await put({ "b.bin": Uint8Array.of(1, 0, 2) });
  expect(await history.workspaceDiff(bucket, "main", {})).toEqual({
    ...{ files: [{ path: "b.bin", change: "added" }] },
    patch: "diff --git a/b.bin b/b.bin\nBinary files /dev/null and b/b.bin differ\n",
  });
  await put({ "c.md": "y".repeat(150_000), "d.md": "z".repeat(150_000), "e.md": "end" });
  await commit("large");
  const { patch, truncated, files } = await history.workspaceCommit(bucket, "main", "HEAD");
  expect([patch.length, truncated, files.length]).toEqual([200_000, true, 4]);
});

it("secrets in memories are not committed, other files are committed as they are", async () => {
  const secret = `sk-ant-api03-${"a1B2".repeat(24)}`;
  const { bucket } = await workspaceOf({ "memory/x.md": secret, "notes.md": secret, "MEMORY.md": "- tea" });
  const at = async (path: string) => `${await history.fileAt(bucket, "main", "HEAD", path)}`;
  expect([await at("memory/x.md"), await at("notes.md"), await at("MEMORY.md")]).toEqual([
    ...[expect.stringContaining("[REDACTED"), secret, "- tea"],
  ]);
});

it("a file that becomes a folder is removed and added", async () => {
  const { repository } = await workspaceOf(
    { z: "1", "a.md": "1" },
    { z: undefined, "z/b.md": "1", "a.md": "2" },
  );
  const changes = await changesOf(repository, await findCommit(repository, "HEAD"));
  expect(changes.map(({ path, change }) => `${change} ${path}`)).toEqual([
    "changed a.md",
    "removed z",
    "added z/b.md",
  ]);
});

it("a clone has the branch first, then pages of at most 90,000 bytes or one larger file", async () => {
  const bucket = createMemoryBucket({ "agents/main/.git/gsv-index.json": "no" });
  const sizes = {
    HEAD: 5,
    "refs/heads/main": 41,
    "objects/a": 60_000,
    "objects/b": 29_954,
    "objects/c": 100_000,
    "objects/d": 1,
  };
  for (const [path, size] of Object.entries(sizes))
    await bucket.put(`agents/main/.git/${path}`, "x".repeat(size));
  const pages: string[][] = [];
  for (let after: string | undefined = ""; after !== undefined; ) {
    const page = await history.repositoryPage(bucket, "main", after);
    pages.push(page.files.map(({ path }) => path));
    after = page.next;
  }
  expect(pages).toEqual([
    ["refs/heads/main", "HEAD", "objects/a", "objects/b"],
    ["objects/c"],
    ["objects/d"],
  ]);
});

it("an agent's own settings override the gateway's", () => {
  const list = [{ id: "bob", workspaceGit: { tools: true } }] as never;
  const of = (id: string) => gitSettings({ ...defaults, agents: { ...defaults.agents, list } }, id);
  expect([of("bob"), of("main")]).toEqual([
    { enabled: true, tools: true },
    { enabled: true, tools: false },
  ]);
});
