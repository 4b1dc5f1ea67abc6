import * as v from "valibot";
import { clampedCount, idField, pathField } from "./schemas.ts";

/** A commit of a workspace's history: its name, the beginning of it, or `HEAD~2`. */
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

/** A difference as `git diff` shows it. `truncated`: the patch is longer, and was cut. */
export interface CommitFiles {
  files: ChangedFile[];
  patch: string;
  truncated?: true;
}

/** What the methods of a workspace's history answer. */
export interface WorkspaceHistoryResults {
  "workspace.log": { commits: CommitEntry[] };
  "workspace.diff": CommitFiles;
  /** A commit; with `path`, the file as it was then. */
  "workspace.show": (CommitEntry & CommitFiles) | { path: string; content: string; size: number };
  /** `checkpoint`: the commit of the workspace as it was before. */
  "workspace.restore": { checkpoint?: string; restored: string[]; removed: string[] };
  /** `skipped`: nothing has changed since the commit `sha`. */
  "workspace.checkpoint": { skipped: boolean; sha?: string };
  /** Files of the repository with their content in base64, in the order of paths; `next`: there are more. */
  "workspace.clone": { files: { path: string; data: string }[]; next?: string };
}
