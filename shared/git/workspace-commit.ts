import { log } from "../runtime/log.ts";
import { redact } from "../runtime/secret-shapes.ts";
import { workspacePrefix } from "../workspace/workspace-paths.ts";
import type { Bucket, ListedObject } from "../world/world.ts";
import { commitBody, encodeObject, type TreeEntry, treeBody } from "./git-object.ts";
import { type CommitIndex, openRepository } from "./repository.ts";

/** Larger files are left out of the history, in bytes. */
const maxFileBytes = 1024 * 1024;

/** Folders of a workspace that are no part of its history: conversations, media, and what the gateway keeps for itself. */
const leftOut = /^(\.git|sessions|transcripts|media|objects|recall)\/|\.tmp$/;

/** Files that are read and stored at the same time. */
const atOnce = 16;

/** Maximum attempts when others commit at the same time: one of them gets through in each round. */
const maxAttempts = 20;

/** What a commit came to. `skipped`: nothing has changed since the last one, which `sha` names. */
export type CommitOutcome = { skipped: true; sha?: string } | { skipped: false; sha: string };

/** Why a commit is made, and when, epoch ms. */
export interface CommitReason {
  message: string;
  at: number;
}

/**
 * Commits the workspace of an agent as it is. A commit that loses the race to another is made again on top of it, so
 * that none is lost. After a crash there are at most objects that nothing names.
 */
export async function commitWorkspace(
  bucket: Bucket,
  agentId: string,
  { message, at }: CommitReason,
): Promise<CommitOutcome> {
  const repository = openRepository(bucket, agentId);
  for (let attempts = 1; attempts <= maxAttempts; attempts++) {
    const head = await repository.head();
    const index = await repository.index(head);
    const files = await readFiles(bucket, agentId, index, (body) => repository.write("blob", body));
    const trees = new Map<string, Buffer>();
    const root = addTrees(
      trees,
      Object.entries(files).map(([path, { blob }]) => [path.split("/"), blob]),
    );
    const last = head && (await repository.readCommit(head.sha));
    if (last ? last.tree === root : Object.keys(files).length === 0)
      return { skipped: true, ...(head ? { sha: head.sha } : {}) };
    const known = new Set(index.trees);
    for (const [sha, body] of trees) if (!known.has(sha)) await repository.write("tree", body);
    const author = `${agentId} <agent@localhost>`;
    const parent = head ? { parent: head.sha } : {};
    const sha = await repository.write("commit", commitBody({ tree: root, ...parent, author, at, message }));
    if (!(await repository.move(head, sha))) continue;
    await repository.putIndex({ v: 1, head: sha, files, trees: [...trees.keys()] });
    log("workspace.commit", { agentId, sha, attempts });
    return { skipped: false, sha };
  }
  throw new Error(`the history of ${agentId} is being changed by others at the same time`);
}

/**
 * Reads every file that is not in the index as it is now.
 * @param keep takes the body of each. @returns the name of its blob
 */
export async function readFiles(
  bucket: Bucket,
  agentId: string,
  index: Pick<CommitIndex, "files">,
  keep: (body: Uint8Array) => Promise<string>,
): Promise<CommitIndex["files"]> {
  const prefix = workspacePrefix(agentId);
  const listed = (await listFiles(bucket, prefix))
    .map(({ key, etag, size }) => ({ key, etag, size, path: key.slice(prefix.length) }))
    .filter(({ path, size }) => size <= maxFileBytes && !leftOut.test(path) && isGitPath(path));
  // A file may be called __proto__.
  const files: CommitIndex["files"] = Object.create(null);
  const store = async ({ key, etag, path }: (typeof listed)[number]) => {
    const known = index.files[path];
    // A file that was deleted since it was listed is no part of the commit.
    const found = known?.etag === etag ? undefined : await bucket.get(key);
    if (found) files[path] = { etag: found.etag, blob: await keep(withoutSecrets(path, found.body)) };
    else if (known?.etag === etag) files[path] = known;
  };
  for (let at = 0; at < listed.length; at += atOnce)
    await Promise.all(listed.slice(at, at + atOnce).map(store));
  return files;
}

/** Lists the workspace without the folders that are left out: archives and git's own objects are many. */
async function listFiles(bucket: Bucket, prefix: string): Promise<ListedObject[]> {
  const { objects, prefixes } = await bucket.list(prefix, "/");
  const folders = prefixes.filter((folder) => !leftOut.test(folder.slice(prefix.length)));
  const within = await Promise.all(folders.map((folder) => bucket.list(folder)));
  return [...objects, ...within.flatMap((listing) => listing.objects)];
}

/** Files that the agent and the gateway write memories into: what was said in passing may hold a secret. */
const memoryFiles = /^(?:memory\/.+|MEMORY|DREAMS)\.md$/i;

/** A file as the history keeps it. A secret that was written down as a memory is replaced by `[REDACTED:…]`. */
function withoutSecrets(path: string, body: Uint8Array): Uint8Array {
  if (!memoryFiles.test(path)) return body;
  const text = Buffer.from(body).toString();
  const left = redact(text);
  return left === text ? body : Buffer.from(left);
}

/** Characters that some file systems leave out of names. */
const leftOutOfNames = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

/** Git refuses these names in a tree: a part that is empty, `.`, `..`, or `.git` on any file system. */
function isGitPath(path: string): boolean {
  const isGitPart = (part: string) => !/^(\.{0,2}|(\.git|git~1)[ .]*(:.*)?)$/i.test(part);
  return path.split("/").every((part) => isGitPart(part) && isGitPart(part.replace(leftOutOfNames, "")));
}

/**
 * Adds the tree of a folder and those of the folders in it. A file whose name is also a folder's is left out: a bucket
 * can hold both, a tree cannot.
 * @param files the path of each file below the folder, in parts, with its blob
 * @returns the tree's name
 */
function addTrees(trees: Map<string, Buffer>, files: readonly [parts: string[], blob: string][]): string {
  const folders = new Map<string, [string[], string][]>();
  const entries = new Map<string, TreeEntry>();
  for (const [[name = "", ...rest], blob] of files) {
    if (rest.length > 0) folders.set(name, [...(folders.get(name) ?? []), [rest, blob]]);
    else entries.set(name, { name, kind: "blob", sha: blob });
  }
  for (const [name, within] of folders)
    entries.set(name, { name, kind: "tree", sha: addTrees(trees, within) });
  const body = treeBody([...entries.values()]);
  const { sha } = encodeObject("tree", body);
  trees.set(sha, body);
  return sha;
}
