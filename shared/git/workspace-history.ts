import { code, PeerError } from "../protocol/errors.ts";
import type { CommitEntry, CommitFiles } from "../protocol/workspace-history-schemas.ts";
import { workspacePrefix } from "../workspace/workspace-paths.ts";
import type { Bucket } from "../world/world.ts";
import {
  blobsOf,
  changesBetween,
  changesOf,
  changesOfFiles,
  type FileChange,
  findCommit,
  listCommits,
} from "./commits.ts";
import { type Commit, encodeObject } from "./git-object.ts";
import { openRepository, type Repository } from "./repository.ts";
import { readFiles } from "./workspace-commit.ts";

/** Maximum length of a returned patch, in characters. */
const maxPatchChars = 200_000;

/** The commits of an agent's workspace, newest first, with the files that each changed. @param path only commits that change it */
export async function workspaceLog(
  bucket: Bucket,
  agentId: string,
  { limit, path }: { limit: number; path?: string },
): Promise<CommitEntry[]> {
  const repository = openRepository(bucket, agentId);
  const entries: CommitEntry[] = [];
  let from = (await repository.head())?.sha;
  while (from !== undefined && entries.length < limit) {
    const [commit] = await listCommits(repository, 1, from);
    if (!commit) break;
    const entry = entryOf(commit, await changesOf(repository, commit));
    if (path === undefined || entry.files.some((file) => file.path === path)) entries.push(entry);
    from = commit.parent;
  }
  return entries;
}

/**
 * The difference between two commits, or between a commit and the current workspace.
 * @param from the name of a commit. Default: the newest
 * @param to the name of a commit. Default: the current workspace
 * @throws PeerError 404, 400
 */
export async function workspaceDiff(
  bucket: Bucket,
  agentId: string,
  { from, to, path }: { from?: string; to?: string; path?: string },
): Promise<CommitFiles> {
  const repository = openRepository(bucket, agentId);
  const head = await repository.head();
  if (!head && (from !== undefined || to !== undefined)) throw noHistory(agentId);
  const before = head && (await findCommit(repository, from ?? "HEAD"));
  if (to !== undefined) {
    const after = await findCommit(repository, to);
    const changes = await changesBetween(repository, before?.tree, after.tree);
    return withPatch(changes, path, (blob) => repository.readBlob(blob));
  }
  const { files, bodies } = await filesNow(bucket, repository, agentId);
  const old = before ? await blobsOf(repository, before.tree) : new Map<string, string>();
  return withPatch(
    changesOfFiles(old, files),
    path,
    async (blob) => bodies.get(blob) ?? repository.readBlob(blob),
  );
}

/** A commit and its changes. @throws PeerError 404, 400 */
export async function workspaceCommit(
  bucket: Bucket,
  agentId: string,
  name: string,
): Promise<CommitEntry & CommitFiles> {
  const repository = openRepository(bucket, agentId);
  return commitWithPatch(repository, await findCommit(repository, name));
}

/** The changes of a commit, without searching the history. `sha`: from `workspaceLog`. */
export async function listedCommit(bucket: Bucket, agentId: string, sha: string): Promise<CommitFiles> {
  const repository = openRepository(bucket, agentId);
  return commitWithPatch(repository, await repository.readCommit(sha));
}

async function commitWithPatch(repository: Repository, commit: Commit): Promise<CommitEntry & CommitFiles> {
  const changes = await changesOf(repository, commit);
  return {
    ...entryOf(commit, changes),
    ...(await withPatch(changes, undefined, (blob) => repository.readBlob(blob))),
  };
}

/** The content of a file in a commit. @throws PeerError 404, 400 */
export async function fileAt(bucket: Bucket, agentId: string, name: string, path: string): Promise<Buffer> {
  const repository = openRepository(bucket, agentId);
  const commit = await findCommit(repository, name);
  const blob = (await blobsOf(repository, commit.tree)).get(path);
  if (blob === undefined)
    throw new PeerError(code.notFound, `${path} is not in the commit ${commit.sha.slice(0, 7)}`);
  return repository.readBlob(blob);
}

/** The blob of every file of the current workspace, and the bodies of blobs that the history does not have. */
async function filesNow(bucket: Bucket, repository: Repository, agentId: string) {
  const bodies = new Map<string, Uint8Array>();
  const read = await readFiles(
    bucket,
    agentId,
    await repository.index(await repository.head()),
    async (body) => {
      const { sha } = encodeObject("blob", body);
      bodies.set(sha, body);
      return sha;
    },
  );
  const files = new Map(Object.entries(read).map(([path, { blob }]) => [path, blob]));
  return { files, bodies };
}

async function withPatch(
  all: readonly FileChange[],
  path: string | undefined,
  read: (blob: string) => Promise<Uint8Array>,
): Promise<CommitFiles> {
  const { patchOf } = await import("./patch.ts");
  const changes = all.filter((change) => path === undefined || change.path === path);
  let patch = "";
  for (const change of changes) {
    if (patch.length > maxPatchChars) break;
    const [before, after] = await Promise.all(
      [change.before, change.after].map(async (blob) => (blob === undefined ? undefined : read(blob))),
    );
    patch += patchOf(change, { before, after });
  }
  const files = changes.map((one) => ({ path: one.path, change: one.change }));
  const isCut = patch.length > maxPatchChars;
  return { files, patch: patch.slice(0, maxPatchChars), ...(isCut ? { truncated: true } : {}) };
}

function entryOf({ sha, author, at, message }: Commit, changes: readonly FileChange[]): CommitEntry {
  return { sha, author, at, message, files: changes.map(({ path, change }) => ({ path, change })) };
}

function noHistory(agentId: string): PeerError {
  return new PeerError(
    code.notFound,
    `the workspace of ${agentId} has no history yet; \`gsv workspace checkpoint\` starts it`,
  );
}

/**
 * Maximum bytes of files in one page of a clone, so that it fits into a frame as base64. A larger file has its own page,
 * which is sent by reference.
 */
const maxPageBytes = 90_000;

/**
 * All files of the repository, page by page, for a clone. The branch comes first: all objects that it needs exist by then,
 * and objects of a concurrent commit do no harm.
 * @param after the last path of the previous page
 */
export async function repositoryPage(
  bucket: Bucket,
  agentId: string,
  after = "",
): Promise<{ files: { path: string; data: string }[]; next?: string }> {
  const prefix = `${workspacePrefix(agentId)}.git/`;
  const { objects } = await bucket.list(prefix);
  const place = (path: string) => (path.startsWith("refs/") ? ` ${path}` : path);
  const left = objects
    .map(({ key, size }) => ({ key, size, path: key.slice(prefix.length) }))
    .filter(({ path }) => !path.startsWith("gsv-") && (after === "" || place(path) > place(after)))
    .sort((a, b) => (place(a.path) < place(b.path) ? -1 : 1));
  let bytes = 0;
  const page = left.filter(({ size }, i) => {
    bytes += size;
    return i === 0 || bytes <= maxPageBytes;
  });
  const files = await Promise.all(
    page.map(async ({ key, path }) => {
      const found = await bucket.get(key);
      return found && { path, data: Buffer.from(found.body).toString("base64") };
    }),
  );
  const last = page.length < left.length ? page.at(-1)?.path : undefined;
  return { files: files.filter((file) => file !== undefined), ...(last === undefined ? {} : { next: last }) };
}
