import { code, PeerError } from "../protocol/errors.ts";
import type { Commit } from "./git-object.ts";
import type { Repository } from "./repository.ts";

/** A commit's change to a file. */
export interface FileChange {
  path: string;
  change: "added" | "changed" | "removed";
  /** Blob before; absent for an added file. */
  before?: string;
  /** Blob after; absent for a removed file. */
  after?: string;
}

/** Minimum length of an abbreviated commit hash. */
const minHashLength = 4;

/** The newest commits first, at most `limit` of them. Empty before the first commit. */
export async function listCommits(repository: Repository, limit: number, from?: string): Promise<Commit[]> {
  const commits: Commit[] = [];
  let sha = from ?? (await repository.head())?.sha;
  while (sha !== undefined && commits.length < limit) {
    const commit = await repository.readCommit(sha);
    commits.push(commit);
    sha = commit.parent;
  }
  return commits;
}

/**
 * The commit of a name: its full hash, a prefix of it, or `HEAD` with a number of steps back, such as `HEAD~2`.
 * @throws PeerError 404, or 400 when several commits have the prefix
 */
export async function findCommit(repository: Repository, name: string): Promise<Commit> {
  const [head, back = 0] = /^HEAD(?:~(\d{1,4}))?$/i.exec(name) ?? [];
  const isHead = head !== undefined;
  if (!isHead && !new RegExp(`^[0-9a-f]{${minHashLength},40}$`).test(name))
    throw new PeerError(
      code.badRequest,
      `commit: expected HEAD, HEAD~N or at least ${minHashLength} hex digits`,
    );
  const found: Commit[] = [];
  let sha = (await repository.head())?.sha;
  for (let step = 0; sha !== undefined; step++) {
    const commit = await repository.readCommit(sha);
    if (isHead ? step === Number(back) : commit.sha.startsWith(name)) found.push(commit);
    if (found.length > 0 && (isHead || name.length === 40)) break;
    sha = commit.parent;
  }
  const [commit, other] = found;
  if (!commit) throw new PeerError(code.notFound, `the history has no commit ${name}`);
  if (other) throw new PeerError(code.badRequest, `commit: ${name} is ambiguous; give more digits`);
  return commit;
}

/** The blob of every file of a tree, by path, sorted by path. */
export async function blobsOf(
  repository: Repository,
  tree: string,
  folder = "",
): Promise<Map<string, string>> {
  const entries = await repository.readTree(tree);
  const parts = await Promise.all(
    entries.map(async ({ name, kind, sha }) =>
      kind === "blob"
        ? [[folder + name, sha] as const]
        : [...(await blobsOf(repository, sha, `${folder}${name}/`))],
    ),
  );
  return new Map(parts.flat());
}

/**
 * The files that differ between two trees, sorted by path. Folders that are equal in both are not read.
 * @param before undefined for an empty tree
 */
export async function changesBetween(
  repository: Repository,
  before: string | undefined,
  after: string | undefined,
  folder = "",
): Promise<FileChange[]> {
  if (before === after) return [];
  const [old, fresh] = await Promise.all(
    [before, after].map(async (tree) => {
      const entries = tree === undefined ? [] : await repository.readTree(tree);
      return new Map(entries.map((entry) => [`${entry.kind} ${entry.name}`, entry]));
    }),
  );
  const names = [...new Set([...(old?.keys() ?? []), ...(fresh?.keys() ?? [])])];
  const changes = await Promise.all(
    names.map(async (name) => {
      const [was, is] = [old?.get(name), fresh?.get(name)];
      if (was?.sha === is?.sha) return [];
      const path = folder + (was ?? is)?.name;
      if ((was ?? is)?.kind === "tree") return changesBetween(repository, was?.sha, is?.sha, `${path}/`);
      return [fileChange(path, was?.sha, is?.sha)];
    }),
  );
  return changes.flat().sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The files that differ between two states, by their blobs, sorted by path. */
export function changesOfFiles(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): FileChange[] {
  const paths = [...new Set([...before.keys(), ...after.keys()])].sort();
  return paths.flatMap((path): FileChange[] => {
    const [was, is] = [before.get(path), after.get(path)];
    return was === is ? [] : [fileChange(path, was, is)];
  });
}

/** A commit's changes, compared with its parent. */
export async function changesOf(repository: Repository, { tree, parent }: Commit): Promise<FileChange[]> {
  const before = parent === undefined ? undefined : (await repository.readCommit(parent)).tree;
  return changesBetween(repository, before, tree);
}

/** The change of a file. @param before its earlier blob; undefined when it did not exist */
function fileChange(path: string, before: string | undefined, after: string | undefined): FileChange {
  if (before === undefined) return { path, change: "added", after };
  return after === undefined
    ? { path, change: "removed", before }
    : { path, change: "changed", before, after };
}
