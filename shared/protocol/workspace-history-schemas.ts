import * as v from "valibot";
import { clampedCount, idField, pathField } from "./schemas.ts";

/** A commit of a workspace's history: its hash, a prefix of the hash, or `HEAD~2`. */
const commitName = v.pipe(v.string(), v.minLength(1), v.maxLength(40));
const commitNote = v.pipe(v.string(), v.maxLength(500));

const agentId = v.optional(idField);

/** Params of the methods of a workspace's history. */
export const workspaceHistoryParams = {
  "workspace.log": v.optional(
    v.object({ agentId, limit: v.optional(clampedCount(1, 100), 20), path: v.optional(pathField) }),
    { limit: 20 },
  ),
  "workspace.diff": v.optional(
    v.object({
      agentId,
      from: v.optional(commitName),
      to: v.optional(commitName),
      path: v.optional(pathField),
    }),
    {},
  ),
  "workspace.show": v.object({ agentId, commit: commitName, path: v.optional(pathField) }),
  "workspace.restore": v.object({ agentId, commit: commitName, path: v.optional(pathField) }),
  "workspace.checkpoint": v.optional(v.object({ agentId, note: v.optional(commitNote, "") }), { note: "" }),
  "workspace.clone": v.optional(v.object({ agentId, after: v.optional(pathField) }), {}),
};

/** Files that a commit, or the difference between two, has changed. */
export interface ChangedFile {
  path: string;
  change: "added" | "changed" | "removed";
}

/** A commit of a workspace's history. */
export interface CommitEntry {
  /** 40 hex digits. */
  sha: string;
  author: string;
  /** Epoch ms. */
  at: number;
  message: string;
  files: ChangedFile[];
}

/** A difference in the format of `git diff`. `truncated`: the patch was cut. */
export interface CommitFiles {
  files: ChangedFile[];
  patch: string;
  truncated?: true;
}

/** Results of the methods of a workspace's history. */
export interface WorkspaceHistoryResults {
  "workspace.log": { commits: CommitEntry[] };
  "workspace.diff": CommitFiles;
  /** A commit; with `path`, that file at the commit. */
  "workspace.show": (CommitEntry & CommitFiles) | { path: string; content: string; size: number };
  /** `checkpoint`: the commit with the state before the restore. */
  "workspace.restore": { checkpoint?: string; restored: string[]; removed: string[] };
  /** `skipped`: nothing has changed since the commit `sha`. */
  "workspace.checkpoint": { skipped: boolean; sha?: string };
  /** Files of the repository with their content in base64, sorted by path; `next`: there are more. */
  "workspace.clone": { files: { path: string; data: string }[]; next?: string };
}
