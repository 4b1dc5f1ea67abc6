import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Gateway } from "../../../../functions/socket/gateway.ts";
import { workspaceHistoryMethods } from "../../../../functions/socket/methods/workspace.ts";
import { hasGit } from "../../../git/git-folder.ts";
import { createMemoryBucket, type MemoryBucket } from "../../../support/memory-bucket.ts";
import { startState } from "../../../support/state.ts";
import { type FakeGateway, startFakeGateway } from "../../fake-gateway.ts";
import { gsv } from "../../run-gsv.ts";

let bucket: MemoryBucket;
let gateway: FakeGateway;
let folder: string;
let time: number;

beforeEach(async () => {
  bucket = createMemoryBucket({ "agents/main/SOUL.md": "be kind\n", "agents/main/notes/a.md": "one\ntwo\n" });
  folder = await mkdtemp(join(tmpdir(), "gsv-history-"));
  time = Date.parse("2026-05-05T08:00:00Z");
  const { table } = await startState();
  const on = {
    bucket,
    table,
    now: () => time,
    configuration: { load: async () => ({ agents: { list: [] } }) },
  };
  const handlers = Object.entries(workspaceHistoryMethods).map(([method, { handle }]) => [
    method,
    ({ params }: { params: unknown }) => handle(on as unknown as Gateway, params as never, {} as never),
  ]);
  gateway = await startFakeGateway(Object.fromEntries(handlers));
});
afterEach(async () => {
  await gateway.close();
  await rm(folder, { recursive: true, force: true });
});

const run = async (...args: string[]) => {
  const { stdout, stderr, code } = await gsv(["workspace", ...args], {
    env: { GSV_URL: gateway.url, GSV_TOKEN: "good-token" },
    cwd: folder,
  });
  return { stdout, stderr, code };
};
const put = (path: string, text: string) => bucket.put(`agents/main/${path}`, text);
const peek = (path: string) => bucket.peek(`agents/main/${path}`);

describe("the history of a workspace", () => {
  it("says how to start it when there is none", async () => {
    expect((await run("log")).stdout).toContain("gsv workspace checkpoint");
    expect((await run("clone", "x")).stderr).toContain("gsv workspace checkpoint");
    expect((await run("show")).stderr).toContain("no commit HEAD");
    expect((await run("diff")).stdout).toContain("+be kind");
  });

  it("shows commits, differences and earlier versions of files", async () => {
    expect((await run("checkpoint", "the", "start")).stdout).toMatch(/^committed [0-9a-f]{7}\n$/);
    expect((await run("checkpoint")).stdout).toBe("nothing has changed\n");
    await put("notes/a.md", "one\nthree\n");
    await put("notes/b.md", "new\n");
    const { stdout: diff } = await run("diff");
    expect(diff).toContain("diff --git a/notes/a.md b/notes/a.md\n--- a/notes/a.md\n+++ b/notes/a.md\n");
    expect(diff).toContain(" one\n-two\n+three\n");
    expect(diff).toContain("--- /dev/null\n+++ b/notes/b.md\n");
    time += 60_000;
    await run("checkpoint");
    const { stdout: log } = await run("log");
    expect(log).toMatch(
      /^[0-9a-f]{7} {2}2026-05-05 08:01 UTC {2}checkpoint\n {2}M notes\/a.md\n {2}A notes\/b.md\n/,
    );
    expect(log).toMatch(/2026-05-05 08:00 UTC {2}checkpoint: the start\n {2}A SOUL.md\n {2}A notes\/a.md\n$/);
    expect((await run("log", "SOUL.md")).stdout).not.toContain("notes/b.md");
    expect((await run("show", "HEAD~1", "notes/a.md")).stdout).toBe("one\ntwo\n");
    expect((await run("show")).stdout).toContain("-two\n+three");
    expect((await run("diff", "HEAD~1", "HEAD", "--path", "notes/b.md")).stdout).not.toContain("three");
    expect((await run("diff")).stdout).toBe("(no difference)\n");
  });

  it("restores a file, and the version that the restore replaced", async () => {
    await run("checkpoint");
    await put("SOUL.md", "be rude\n");
    const { stdout } = await run("restore", "HEAD", "SOUL.md");
    expect(peek("SOUL.md")).toBe("be kind\n");
    const [, again = ""] = /gsv workspace restore ([0-9a-f]{7}) SOUL.md/.exec(stdout) ?? [];
    await run("restore", again, "SOUL.md");
    expect(peek("SOUL.md")).toBe("be rude\n");
    expect((await run("restore", again, "none.md")).stderr).toContain("none.md is not in the commit");
  });

  it("restores every file only with --all and a confirmation", async () => {
    await run("checkpoint");
    await put("SOUL.md", "be rude\n");
    await put("later.md", "x\n");
    expect((await run("restore", "HEAD")).stderr).toContain("--all");
    expect((await run("restore", "HEAD", "--all")).code).not.toBe(0);
    expect(peek("SOUL.md")).toBe("be rude\n");
    const { stdout } = await run("restore", "HEAD", "--all", "--yes");
    expect(stdout).toContain("restored SOUL.md\nremoved later.md\n");
    expect([peek("SOUL.md"), peek("later.md")]).toEqual(["be kind\n", undefined]);
  });

  it("is cloned to a folder, page by page, where git can use it", async () => {
    for (let i = 0; i < 3; i++) {
      await put(
        `n${i}.md`,
        Array.from({ length: 60_000 }, (_, n) => Math.sin(n + i))
          .join("\n")
          .slice(0, 100_000),
      );
      await run("checkpoint", `${i}`);
    }
    const { stdout } = await run("clone", "here", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ folder: join(folder, "here"), files: expect.any(Number) });
    expect(gateway.requests.filter(({ method }) => method === "workspace.clone").length).toBeGreaterThan(1);
    expect((await run("clone", "here")).stderr).toContain("is not empty");
    if (!hasGit) return;
    const git = (...args: string[]) =>
      spawnSync("git", ["-C", join(folder, "here"), ...args], { encoding: "utf8" });
    expect(git("fsck", "--strict")).toMatchObject({ status: 0 });
    expect(git("log", "--format=%s").stdout).toBe("checkpoint: 2\ncheckpoint: 1\ncheckpoint: 0\n");
  });
});
