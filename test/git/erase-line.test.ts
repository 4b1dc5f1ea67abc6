import { createHash } from "node:crypto";
import { inflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { listCommits } from "../../shared/git/commits.ts";
import { eraseFromHistory } from "../../shared/git/erase-line.ts";
import { openRepository } from "../../shared/git/repository.ts";
import { commitWorkspace } from "../../shared/git/workspace-commit.ts";
import { memoryId, withoutMemory } from "../../shared/memory/memory-line.ts";
import type { Bucket } from "../../shared/world/world.ts";
import { mortalStore } from "../memory/mortal-store.ts";
import { createMemoryBucket, type MemoryBucket } from "../support/memory-bucket.ts";
import { hasGit, withClone } from "./git-folder.ts";

const secret = "the alarm code is 4711";
const without = (content: string) => withoutMemory(content, memoryId(secret));

/** Four commits: the second and the third hold the secret, in two files. */
async function commitFour(): Promise<MemoryBucket> {
  const bucket = createMemoryBucket();
  const commit = async (message: string, files: Record<string, string>) => {
    for (const [path, text] of Object.entries(files)) await bucket.put(`agents/main/${path}`, text);
    await commitWorkspace(bucket, "main", { message, at: Date.parse("2026-05-05T08:00:00Z") });
  };
  await commit("first", { "SOUL.md": "be kind\n", "memory/a.md": "- one\n" });
  await commit("second", { "memory/b.md": `- ${secret}\n- two\n` });
  await commit("third", { "MEMORY.md": `- three\n- ${secret} _(score=0.42, hits=5, days=3)_\n` });
  await commit("fourth", { "MEMORY.md": "- three\n", "memory/b.md": "- two\n" });
  return bucket;
}

let files: Record<string, Uint8Array> | undefined;

/** A bucket with these commits. They are made once, because most of the cases begin with them many times. */
async function given(): Promise<MemoryBucket> {
  files ??= Object.fromEntries(await filesOf(await commitFour()));
  return createMemoryBucket(files);
}

function filesOf(bucket: MemoryBucket): Promise<[string, Uint8Array][]> {
  return Promise.all(
    bucket.keys().map(async (key) => [key, (await bucket.get(key))?.body ?? new Uint8Array()]),
  );
}

/** Asks git about repositories, and about equal ones once: most interruptions end in the same files. */
function askingGit(
  ask: (git: (...args: string[]) => string) => void,
): (bucket: MemoryBucket) => Promise<void> {
  const passed = new Set<string>();
  return async (bucket) => {
    if (!hasGit) return;
    const all = createHash("sha256");
    for (const [key, body] of await filesOf(bucket)) all.update(`${key} ${body.byteLength} `).update(body);
    const name = all.digest("hex");
    if (!passed.has(name)) await withClone(bucket, "main", ask);
    passed.add(name);
  };
}

const expectSound = askingGit((git) => expect(git("fsck", "--strict")).toBe(""));
const expectFour = askingGit((git) => {
  expect(git("fsck", "--strict")).toBe("");
  expect(git("show", "HEAD~1:MEMORY.md")).toBe("- three\n");
  expect(git("log", "--format=%an %aI", "-1")).toBe("main 2026-05-05T08:00:00+00:00\n");
});

/** Everything that the repository holds, as text. */
async function held(bucket: MemoryBucket): Promise<string> {
  const keys = bucket.keys().filter((key) => key.includes("/.git/objects/"));
  const bodies = await Promise.all(keys.map(async (key) => inflateSync((await bucket.get(key))?.body ?? "")));
  return bodies.map(String).join("\n");
}
const messages = async (bucket: MemoryBucket) =>
  (await listCommits(openRepository(bucket, "main"), 100)).map(({ message }) => message);

async function expectErased(
  bucket: MemoryBucket,
  commits = ["fourth", "third", "second", "first"],
): Promise<void> {
  expect(await held(bucket)).not.toContain("4711");
  expect(await messages(bucket)).toEqual(commits);
  expect(bucket.keys().filter((key) => key.includes("gsv-erasing"))).toEqual([]);
  await expectFour(bucket);
}

/** A bucket that lets something happen before each call. */
function interrupted(bucket: Bucket, happens: () => Promise<void>): Bucket {
  const entries = Object.entries(bucket).map(([name, call]) => [
    name,
    async (...args: unknown[]) => {
      await happens();
      return (call as (...given: unknown[]) => unknown)(...args);
    },
  ]);
  return Object.fromEntries(entries) as Bucket;
}

describe("erasing a line from the history", () => {
  it("rewrites the commits from the first that has it, and leaves no object of the old ones", async () => {
    const bucket = await given();
    expect(await held(bucket)).toContain("4711");
    const [, , , first] = await listCommits(openRepository(bucket, "main"), 100);
    expect(await eraseFromHistory(bucket, "main", without)).toBe(3);
    await expectErased(bucket);
    expect((await listCommits(openRepository(bucket, "main"), 100)).at(-1)).toEqual(first);
    expect(await eraseFromHistory(bucket, "main", without)).toBe(0);
    expect(await eraseFromHistory(createMemoryBucket(), "main", without)).toBe(0);
  });

  it("is followed by sound commits", async () => {
    const bucket = await given();
    await eraseFromHistory(bucket, "main", without);
    await bucket.put("agents/main/new.md", "new\n");
    await commitWorkspace(bucket, "main", { message: "fifth", at: Date.parse("2026-05-05T08:00:00Z") });
    expect(await messages(bucket)).toEqual(["fifth", "fourth", "third", "second", "first"]);
    await expectSound(bucket);
  });

  it("is completed by a repeat, killed before whichever call", async () => {
    for (let left = 0; ; left++) {
      const bucket = await given();
      const killed = await eraseFromHistory(
        mortalStore({ table: {} as never, bucket }, { left }).bucket,
        "main",
        without,
      ).then(
        () => false,
        () => true,
      );
      await eraseFromHistory(bucket, "main", without);
      await expectErased(bucket);
      if (!killed) return expect(left).toBeGreaterThan(20);
    }
  });

  it("leaves nothing of what another erases at the same time, before whichever of its calls", async () => {
    const other = (content: string) => withoutMemory(content, memoryId("one"));
    for (let at = 0; ; at++) {
      const bucket = await given();
      let calls = 0;
      const both = interrupted(bucket, async () => {
        if (calls++ === at) await eraseFromHistory(bucket, "main", other);
      });
      await eraseFromHistory(both, "main", without);
      if (calls <= at) return expect(at).toBeGreaterThan(20);
      const left = await held(bucket);
      for (const gone of ["4711", "- one"]) expect(left, `before call ${at}`).not.toContain(gone);
      expect(await messages(bucket)).toEqual(["fourth", "third", "second", "first"]);
      expect(bucket.keys().filter((key) => key.includes("gsv-erasing"))).toEqual([]);
    }
  });

  it("loses no commit that is made at the same time, before whichever of its calls", async () => {
    for (let at = 0; ; at += 3) {
      const bucket = await given();
      let calls = 0;
      const both = interrupted(bucket, async () => {
        if (calls++ !== at) return;
        await bucket.put("agents/main/new.md", "new\n");
        await commitWorkspace(bucket, "main", { message: "fifth", at: Date.parse("2026-05-05T08:00:00Z") });
      });
      await eraseFromHistory(both, "main", without);
      if (calls <= at) return expect(at).toBeGreaterThan(20);
      expect(await held(bucket), `a commit before call ${at}`).not.toContain("4711");
      expect((await messages(bucket))[0]).toBe("fifth");
      await expectSound(bucket);
    }
  });
});
