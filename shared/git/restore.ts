import { originsIn, originsMetadata, unknownOrigin } from "../origins/origins.ts";
import { code, PeerError } from "../protocol/errors.ts";
import { keyUnder, workspacePrefix } from "../workspace/workspace-paths.ts";
import { type Bucket, PreconditionFailed } from "../world/world.ts";
import { blobsOf, changesOfFiles, type FileChange, findCommit } from "./commits.ts";
import { openRepository } from "./repository.ts";
import { commitFiles, commitWorkspace } from "./workspace-commit.ts";

/** Maximum attempts when files change between a checkpoint and the writes. */
const maxAttempts = 10;

/** The result of a restore. `checkpoint`: the commit with the state before the restore. */
export interface Restored {
  checkpoint?: string;
  restored: string[];
  removed: string[];
}

/**
 * Restores one file or all files from a commit. The current state is committed first, so that another restore can undo
 * this one. Only a version that is in a commit is overwritten or deleted: when a file changes after the checkpoint, another
 * checkpoint is made.
 * @throws PeerError 404, 400; 409 when a file is not in the checkpoints or keeps changing. Other files are restored.
 */
export async function restoreFrom(
  bucket: Bucket,
  agentId: string,
  { commit: name, path, at }: { commit: string; path?: string; at: number },
): Promise<Restored> {
  const repository = openRepository(bucket, agentId);
  const commit = await findCommit(repository, name);
  const short = commit.sha.slice(0, 7);
  const wanted = await blobsOf(repository, commit.tree);
  if (path !== undefined && !wanted.has(path))
    throw new PeerError(code.notFound, `${path} is not in the commit ${short}`);
  const prefix = workspacePrefix(agentId);
  /** The history does not record whose words a file contained: those of its present version stay with it. */
  const metadataOf = async (key: string) => {
    const head = await bucket.head(key);
    return originsMetadata(head ? originsIn(head.metadata) : [unknownOrigin]);
  };
  /** Writes or deletes a file. @returns false when its version is not that of the checkpoint, whose ETag is `etag` */
  const apply = async ({ path: changed, after }: FileChange, etag: string | undefined): Promise<boolean> => {
    const key = keyUnder(prefix, changed);
    const condition = etag === undefined ? { ifAbsent: true } : { ifMatch: etag };
    try {
      if (after === undefined) await bucket.delete(key, condition);
      else
        await bucket.put(key, await repository.readBlob(after), {
          ...condition,
          metadata: await metadataOf(key),
        });
      return true;
    } catch (error) {
      if (error instanceof PreconditionFailed) return false;
      throw error;
    }
  };
  const done = new Map<string, FileChange>();
  let checkpoint: string | undefined;
  let left: FileChange[] = [];
  for (let attempts = 0; attempts === 0 || (left.length > 0 && attempts < maxAttempts); attempts++) {
    const reason = { message: `before restoring ${short}`, at };
    const { outcome, files } = await commitFiles(bucket, agentId, reason);
    checkpoint ??= outcome.sha;
    const blobs = new Map(Object.entries(files).map(([file, { blob }]) => [file, blob]));
    const changes = changesOfFiles(blobs, wanted).filter(
      (one) => (path === undefined || one.path === path) && !done.has(one.path),
    );
    left = [];
    for (const change of changes)
      if (await apply(change, files[change.path]?.etag)) done.set(change.path, change);
      else left.push(change);
  }
  await commitWorkspace(bucket, agentId, { message: `restore: ${path ?? "all files"} from ${short}`, at });
  if (left.length > 0) throw notRestored(left);
  const changes = [...done.values()];
  return {
    ...(checkpoint === undefined ? {} : { checkpoint }),
    restored: changes.filter(({ change }) => change !== "removed").map((one) => one.path),
    removed: changes.filter(({ change }) => change === "removed").map((one) => one.path),
  };
}

function notRestored(left: readonly FileChange[]): PeerError {
  const paths = left.map(({ path }) => path).join(", ");
  return new PeerError(
    code.conflict,
    `${paths} was not restored: somebody keeps changing it, or it is above 1 MiB and not in the history; try again, or rename it`,
  );
}
