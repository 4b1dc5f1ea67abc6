import { code, PeerError } from "../protocol/errors.ts";
import { log } from "../runtime/log.ts";
import { workspacePrefix } from "../workspace/workspace-paths.ts";
import type { Bucket } from "../world/world.ts";
import { listCommits } from "./commits.ts";
import { type Commit, commitBody, treeBody } from "./git-object.ts";
import { openRepository, type Repository } from "./repository.ts";

/** Maximum attempts when others commit at the same time. */
const maxAttempts = 20;

/** Prefix of markers, each with the head of a branch that was rewritten, until all objects that only it needs are deleted. */
const pendingNames = "gsv-erasing/";

/**
 * Rewrites the history of a workspace without a text that its files contained, starting with the first commit that has it,
 * and deletes objects that only the old commits need. The new commits keep the time, author and message of the old ones. A
 * repeat after a crash continues.
 * @param without returns the content of a Markdown file without the text; unchanged when the file does not have it
 * @returns the number of rewritten commits
 */
export async function eraseFromHistory(
  bucket: Bucket,
  agentId: string,
  without: (content: string) => string,
): Promise<number> {
  const repository = openRepository(bucket, agentId);
  await deletePending(bucket, agentId);
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const head = await repository.head();
    if (!head) return 0;
    const commits = await orGone(listCommits(repository, Number.POSITIVE_INFINITY, head.sha));
    const written = commits && (await orGone(rewriteCommits(repository, commits.reverse(), without)));
    // A concurrent erase replaced the branch and deleted its objects.
    if (!written) continue;
    const last = written.at(-1);
    if (!last || last === head.sha) return 0;
    await bucket.put(pendingPrefix(agentId) + head.sha, "");
    const isMoved = await repository.move(head, last);
    // If another commit came first, the rewritten branch is the one to delete.
    if (!isMoved) await bucket.put(pendingPrefix(agentId) + last, "");
    await deletePending(bucket, agentId);
    if (!isMoved) continue;
    const count = commits.filter(({ sha }, i) => sha !== written[i]).length;
    log("workspace.erased", { agentId, commits: count });
    return count;
  }
  throw new Error(`the history of ${agentId} changed during each of ${maxAttempts} attempts`);
}

const pendingPrefix = (agentId: string) => `${workspacePrefix(agentId)}.git/${pendingNames}`;

/** Deletes the objects that only replaced branches need. A head that is still in the history is not replaced yet and stays. */
async function deletePending(bucket: Bucket, agentId: string): Promise<void> {
  const prefix = `${workspacePrefix(agentId)}.git/objects/`;
  const { objects } = await bucket.list(pendingPrefix(agentId));
  for (const { key } of objects) {
    const repository = openRepository(bucket, agentId);
    const kept = new Set(await reachableFrom(repository, (await repository.head())?.sha));
    const old = key.slice(pendingPrefix(agentId).length);
    if (kept.has(old)) continue;
    for (const sha of await reachableFrom(repository, old))
      if (!kept.has(sha)) await bucket.delete(`${prefix}${sha.slice(0, 2)}/${sha.slice(2)}`);
    await bucket.delete(key);
  }
}

/** @returns the new hash of each commit, in the same order */
async function rewriteCommits(
  repository: Repository,
  commits: readonly Commit[],
  without: (content: string) => string,
): Promise<string[]> {
  const rewriting = createRewriting(repository, without);
  const written: string[] = [];
  for (const { sha, tree, author, at, message } of commits) {
    const changed = await rewriting.tree(tree);
    const parent = written.at(-1);
    const before = commits[written.length - 1]?.sha;
    const isSame = changed === tree && parent === before;
    const body = commitBody({ tree: changed, ...(parent ? { parent } : {}), author, at, message });
    written.push(isSame ? sha : await repository.write("commit", body));
  }
  return written;
}

/** Rewrites trees and blobs, each once. */
function createRewriting(repository: Repository, without: (content: string) => string) {
  const known = new Map<string, Promise<string>>();
  const once = (sha: string, make: () => Promise<string>) => {
    const made = known.get(sha) ?? make();
    known.set(sha, made);
    return made;
  };
  const blob = (sha: string) =>
    once(sha, async () => {
      const content = (await repository.readBlob(sha)).toString();
      const left = without(content);
      return left === content ? sha : repository.write("blob", Buffer.from(left));
    });
  const tree = (sha: string): Promise<string> =>
    once(sha, async () => {
      const entries = await repository.readTree(sha);
      const rewritten = await Promise.all(
        entries.map(async (entry) => {
          if (entry.kind === "tree") return { ...entry, sha: await tree(entry.sha) };
          return entry.name.endsWith(".md") ? { ...entry, sha: await blob(entry.sha) } : entry;
        }),
      );
      const isSame = rewritten.every((entry, i) => entry.sha === entries[i]?.sha);
      return isSame ? sha : repository.write("tree", treeBody(rewritten));
    });
  return { tree };
}

/**
 * The hashes of a branch's commits and of all their trees and blobs. Leaves come before roots, so that a crashed deletion in
 * this order can resume by walking from the head. Objects that are already deleted are skipped.
 */
async function reachableFrom(repository: Repository, head: string | undefined): Promise<string[]> {
  const found = { blobs: new Set<string>(), trees: new Set<string>(), commits: new Set<string>() };
  const add = async (tree: string): Promise<void> => {
    if (found.trees.has(tree)) return;
    for (const { kind, sha } of (await orGone(repository.readTree(tree))) ?? []) {
      if (kind === "tree") await add(sha);
      else found.blobs.add(sha);
    }
    found.trees.add(tree);
  };
  for (let sha = head; sha !== undefined; ) {
    const commit = await orGone(repository.readCommit(sha));
    if (commit) await add(commit.tree);
    found.commits.add(sha);
    sha = commit?.parent;
  }
  return [...found.blobs, ...found.trees, ...[...found.commits].reverse()];
}

/** Undefined when the object has been deleted. */
async function orGone<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof PeerError && error.code === code.notFound) return undefined;
    throw error;
  }
}
