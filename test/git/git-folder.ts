import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { MemoryBucket } from "../support/memory-bucket.ts";

/** Whether this machine has git. Without git, recorded objects replace it. */
export const hasGit = spawnSync("git", ["--version"]).status === 0;

/** Downloads the repository of an agent, as a clone does, and asks git about it. Throws what git complains of. */
export async function withClone<T>(
  bucket: MemoryBucket,
  agentId: string,
  use: (git: (...args: string[]) => string) => T,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "gsv-git-"));
  const prefix = `agents/${agentId}/`;
  try {
    for (const key of bucket.keys().filter((one) => one.startsWith(`${prefix}.git/`))) {
      const path = join(folder, key.slice(prefix.length));
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, (await bucket.get(key))?.body ?? "");
    }
    return use((...args) => {
      const done = spawnSync("git", ["-C", folder, ...args], { encoding: "utf8" });
      if (done.status !== 0) throw new Error(`git ${args.join(" ")}: ${done.stderr}${done.stdout}`);
      return done.stdout;
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
