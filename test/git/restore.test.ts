import { describe, expect, it } from "vitest";
import { blobsOf, listCommits } from "../../shared/git/commits.ts";
import { openRepository } from "../../shared/git/repository.ts";
import { restoreFrom } from "../../shared/git/restore.ts";
import { commitWorkspace } from "../../shared/git/workspace-commit.ts";
import type { Bucket } from "../../shared/world/world.ts";
import { createMemoryBucket, type MemoryBucket } from "../support/memory-bucket.ts";

const at = Date.parse("2026-05-05T08:00:00Z");
const folder = "agents/main/";

/** A workspace whose commit HEAD has a.md and gone.md; since then a.md has changed, gone.md was deleted and new.md added. */
async function editedWorkspace(): Promise<MemoryBucket> {
  const bucket = createMemoryBucket({ [`${folder}a.md`]: "old a", [`${folder}gone.md`]: "old gone" });
  await commitWorkspace(bucket, "main", { message: "start", at });
  await bucket.put(`${folder}a.md`, "newer a");
  await bucket.delete(`${folder}gone.md`);
  await bucket.put(`${folder}new.md`, "new");
  return bucket;
}

/** Runs `edit` before the bucket's call number `call`, or before each with "each". */
function during(
  bucket: MemoryBucket,
  call: number | "each",
  edit: (call: number) => Promise<unknown>,
): Bucket {
  let calls = 0;
  const entries = Object.entries(bucket).map(([name, operation]) => [
    name,
    async (...args: unknown[]) => {
      if (call === "each" || calls === call) await edit(calls);
      calls++;
      return (operation as (...given: unknown[]) => unknown)(...args);
    },
  ]);
  return Object.fromEntries(entries) as Bucket;
}

/** Every content that some commit has. */
async function committed(bucket: MemoryBucket): Promise<string[]> {
  const repository = openRepository(bucket, "main");
  const trees = (await listCommits(repository, 100)).map(({ tree }) => blobsOf(repository, tree));
  const blobs = new Set((await Promise.all(trees)).flatMap((files) => [...files.values()]));
  return Promise.all([...blobs].map(async (sha) => (await repository.readBlob(sha)).toString()));
}

describe("a restore during an edit", () => {
  for (const path of ["a.md", "gone.md", "new.md"]) {
    it(`has every content of ${path} in the file or in a commit, whenever it was written`, async () => {
      for (let call = 0; ; call++) {
        const bucket = await editedWorkspace();
        let edited: string | undefined;
        const edit = async () => {
          edited = `${bucket.peek(folder + path)}, edited`;
          await bucket.put(folder + path, edited);
        };
        await restoreFrom(during(bucket, call, edit), "main", { commit: "HEAD", at });
        if (edited === undefined) return expect(call).toBeGreaterThan(20);
        const texts = [...(await committed(bucket)), bucket.peek(folder + path)];
        expect(texts, `written before call ${call}`).toContain(edited);
      }
    });
  }

  it("gives up in a sentence when the file is edited each time, and loses none of the edits", async () => {
    const bucket = await editedWorkspace();
    const texts: string[] = [];
    const edit = async (call: number) => {
      texts.push(`edit ${call}`);
      await bucket.put(`${folder}a.md`, `edit ${call}`);
    };
    const restored = restoreFrom(during(bucket, "each", edit), "main", { commit: "HEAD", at });
    await expect(restored).rejects.toThrow("a.md was not restored");
    expect(bucket.peek(`${folder}a.md`)).toBe(texts.at(-1));
    expect(bucket.peek(`${folder}gone.md`)).toBe("old gone");
  });

  it("does not overwrite a file that is too large for the history", async () => {
    const bucket = await editedWorkspace();
    const large = "x".repeat(1024 * 1024 + 1);
    await bucket.put(`${folder}a.md`, large);
    await expect(restoreFrom(bucket, "main", { commit: "HEAD", path: "a.md", at })).rejects.toThrow("1 MiB");
    expect(bucket.peek(`${folder}a.md`)).toBe(large);
  });

  it("does not delete a file that a folder of the same name keeps out of the history", async () => {
    const bucket = await editedWorkspace();
    await bucket.put(`${folder}gone.md/deep`, "x");
    await bucket.put(`${folder}new.md/deep`, "x");
    await restoreFrom(bucket, "main", { commit: "HEAD", at });
    expect([bucket.peek(`${folder}new.md`), bucket.peek(`${folder}new.md/deep`)]).toEqual(["new", undefined]);
  });
});
