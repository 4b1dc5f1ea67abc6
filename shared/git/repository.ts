import { code, PeerError } from "../protocol/errors.ts";
import { workspacePrefix } from "../workspace/workspace-paths.ts";
import { type Bucket, PreconditionFailed } from "../world/world.ts";
import {
  type Commit,
  decodeObject,
  encodeObject,
  type GitObjectType,
  parseCommit,
  parseTree,
  type TreeEntry,
} from "./git-object.ts";

/** The one branch, which every commit moves. */
const branch = "refs/heads/main";

/** The file of the `CommitIndex`, which git ignores. */
const indexName = "gsv-index.json";

/** Files besides objects and branches that git requires in a repository. */
const fixedFiles = {
  HEAD: `ref: ${branch}\n`,
  config: "[core]\n\trepositoryformatversion = 0\n\tfilemode = false\n\tbare = false\n",
} as const;

/** The head of the branch. `etag`: the ETag of the branch's object. */
export interface Head {
  sha: string;
  etag: string;
}

/** A cache of the last commit's blobs and trees, which saves reading the objects. */
export interface CommitIndex {
  v: 1;
  /** The commit for which it was written; it is not valid for any other. */
  head: string;
  /** The blob of each file, by path, with the ETag that it had. */
  files: Record<string, { etag: string; blob: string }>;
  /** Every tree of the last commit. */
  trees: string[];
}

/**
 * The git repository of an agent's workspace, as loose objects in the bucket under `agents/{agentId}/.git/`. A copy of
 * that folder is an ordinary repository.
 */
export interface Repository {
  /** Undefined before the first commit. */
  head(): Promise<Head | undefined>;
  /** Stores an object. Safe to repeat. @returns its hash */
  write(type: GitObjectType, body: Uint8Array): Promise<string>;
  /** @throws PeerError 404 */
  readCommit(sha: string): Promise<Commit>;
  /** @throws PeerError 404 */
  readTree(sha: string): Promise<TreeEntry[]>;
  /** @throws PeerError 404 */
  readBlob(sha: string): Promise<Buffer>;
  /** Moves the branch. @returns false when it is no longer at `from`: another commit came first */
  move(from: Head | undefined, to: string): Promise<boolean>;
  /** The index of a commit; empty when it was written for another one. */
  index(head: Head | undefined): Promise<Pick<CommitIndex, "files" | "trees">>;
  putIndex(index: CommitIndex): Promise<void>;
}

export function openRepository(bucket: Bucket, agentId: string): Repository {
  const prefix = `${workspacePrefix(agentId)}.git/`;
  const objectKey = (sha: string) => `${prefix}objects/${sha.slice(0, 2)}/${sha.slice(2)}`;
  const read = async (type: GitObjectType, sha: string): Promise<Buffer> => {
    const found = await bucket.get(objectKey(sha));
    if (!found) throw new PeerError(code.notFound, `the history has no ${type} ${sha}`);
    return decodeObject(type, found.body);
  };
  const putOnce = (key: string, body: Uint8Array | string) =>
    bucket.put(key, body, { ifAbsent: true }).catch((error: unknown) => {
      if (!(error instanceof PreconditionFailed)) throw error;
    });
  return {
    async head() {
      const found = await bucket.get(prefix + branch);
      return found && { sha: Buffer.from(found.body).toString().trim(), etag: found.etag };
    },
    async write(type, body) {
      const { sha, bytes } = encodeObject(type, body);
      await putOnce(objectKey(sha), bytes);
      return sha;
    },
    readCommit: async (sha) => parseCommit(sha, await read("commit", sha)),
    readTree: async (sha) => parseTree(await read("tree", sha)),
    readBlob: (sha) => read("blob", sha),
    async move(from, to) {
      // HEAD comes before the first branch: without HEAD git does not recognize the repository.
      if (!from)
        await Promise.all(Object.entries(fixedFiles).map(([name, text]) => putOnce(prefix + name, text)));
      try {
        await bucket.put(prefix + branch, `${to}\n`, from ? { ifMatch: from.etag } : { ifAbsent: true });
        return true;
      } catch (error) {
        if (error instanceof PreconditionFailed) return false;
        throw error;
      }
    },
    async index(head) {
      const found = head && (await bucket.get(prefix + indexName));
      const index = found && (JSON.parse(Buffer.from(found.body).toString()) as CommitIndex);
      return index && index.head === head.sha ? index : { files: {}, trees: [] };
    },
    async putIndex(index) {
      await bucket.put(prefix + indexName, JSON.stringify(index), { contentType: "application/json" });
    },
  };
}
