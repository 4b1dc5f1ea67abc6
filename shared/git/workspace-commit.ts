import { log } from "../runtime/log.ts";
import { redact } from "../runtime/secret-shapes.ts";
import { workspacePrefix } from "../workspace/workspace-paths.ts";
import { inGroups } from "../world/in-groups.ts";
import type { Bucket, ListedObject } from "../world/world.ts";
import { commitBody, encodeObject, type TreeEntry, treeBody } from "./git-object.ts";
import { type CommitIndex, openRepository } from "./repository.ts";

/** Maximum size of a file in the history, in bytes; larger files are omitted. */
const maxFileBytes = 1024 * 1024;

/** Folders of a workspace that are not part of its history: conversations, media, and internal data of the gateway. */
const leftOut = /^(\.git|sessions|transcripts|media|objects|recall)\/|\.tmp$/;

/** Maximum attempts when others commit at the same time: in each round one of them succeeds. */
const maxAttempts = 20;

/** The result of a commit. `skipped`: nothing has changed since the last one, whose hash is `sha`. */
export type CommitOutcome = { skipped: true; sha?: string } | { skipped: false; sha: string };

/** Why a commit is made, and when, epoch ms. */
export interface CommitReason {
  message: string;
  at: number;
}

/**
 * Commits the current workspace of an agent. A commit that loses a race is made again on top of the other, so that none is
 * lost. A crash leaves at most unreferenced objects.
 */
export async function commitWorkspace(
  bucket: Bucket,
  agentId: string,
  reason: CommitReason,
): Promise<CommitOutcome> {
  return (await commitFiles(bucket, agentId, reason)).outcome;
}

/** As `commitWorkspace`. @returns also the committed version of each file */
export async function commitFiles(
  bucket: Bucket,
  agentId: string,
  { message, at }: CommitReason,
): Promise<{ outcome: CommitOutcome; files: CommitIndex["files"] }> {
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
      return { outcome: { skipped: true, ...(head ? { sha: head.sha } : {}) }, files };
    const known = new Set(index.trees);
    for (const [sha, body] of trees) if (!known.has(sha)) await repository.write("tree", body);
    const author = `${agentId} <agent@localhost>`;
    const parent = head ? { parent: head.sha } : {};
    const sha = await repository.write("commit", commitBody({ tree: root, ...parent, author, at, message }));
    if (!(await repository.move(head, sha))) continue;
    await repository.putIndex({ v: 1, head: sha, files, trees: [...trees.keys()] });
    log("workspace.commit", { agentId, sha, attempts });
    return { outcome: { skipped: false, sha }, files };
  }
  throw new Error(`the history of ${agentId} changed during each of ${maxAttempts} attempts`);
}

/**
 * Reads every file whose current version is not in the index.
 * @param keep gets the body of each and returns the hash of its blob
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
    // A file that was deleted after the listing is not part of the commit.
    const found = known?.etag === etag ? undefined : await bucket.get(key);
    if (found) files[path] = { etag: found.etag, blob: await keep(withoutSecrets(path, found.body)) };
    else if (known?.etag === etag) files[path] = known;
  };
  await inGroups(listed, store);
  // A bucket can have a file and a folder of the same name, a tree cannot: the file is omitted.
  for (const path of Object.keys(files))
    for (let end = path.indexOf("/"); end >= 0; end = path.indexOf("/", end + 1))
      delete files[path.slice(0, end)];
  return files;
}

/** Lists the workspace without the omitted folders, which have many objects. */
async function listFiles(bucket: Bucket, prefix: string): Promise<ListedObject[]> {
  const { objects, prefixes } = await bucket.list(prefix, "/");
  const folders = prefixes.filter((folder) => !leftOut.test(folder.slice(prefix.length)));
  const within = await Promise.all(folders.map((folder) => bucket.list(folder)));
  return [...objects, ...within.flatMap((listing) => listing.objects)];
}

/** Files into which the agent and the gateway write memories, which may contain a secret from a conversation. */
const memoryFiles = /^(?:memory\/.+|MEMORY|DREAMS)\.md$/i;

/** The content of a file for the history: a secret in a memory is replaced by `[REDACTED:…]`. */
function withoutSecrets(path: string, body: Uint8Array): Uint8Array {
  if (!memoryFiles.test(path)) return body;
  const text = Buffer.from(body).toString();
  const left = redact(text);
  return left === text ? body : Buffer.from(left);
}

/** Characters that some file systems ignore in names. */
const leftOutOfNames = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

/** Whether git accepts a path: no part is empty, `.`, `..`, or `.git` on any file system. */
function isGitPath(path: string): boolean {
  const isGitPart = (part: string) => !/^(\.{0,2}|(\.git|git~1)[ .]*(:.*)?)$/i.test(part);
  return path.split("/").every((part) => isGitPart(part) && isGitPart(part.replace(leftOutOfNames, "")));
}

/**
 * Adds the tree of a folder and those of its subfolders.
 * @param files the path of each file below the folder, in parts, with its blob
 * @returns the tree's hash
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
