import { createTwoFilesPatch, formatPatch, type StructuredPatchHunk, structuredPatch } from "diff";
import type { FileChange } from "./commits.ts";

/** A file's content before and after a change; undefined when it did not exist. */
export interface Contents {
  before: Uint8Array | undefined;
  after: Uint8Array | undefined;
}

/** A file with a NUL byte in its first bytes is binary. Git checks the same number. */
const looked = 8000;

/** Maximum number of added and removed lines in a comparison, whose time grows with the square of it. */
const maxEdits = 1000;

/**
 * The change of a file in the format of `git diff`, with three lines of context. If too many lines changed for a comparison,
 * the patch removes all old lines and adds all new ones.
 */
export function patchOf({ path, change }: Pick<FileChange, "path" | "change">, contents: Contents): string {
  const [from, to] = [
    change === "added" ? "/dev/null" : `a/${path}`,
    change === "removed" ? "/dev/null" : `b/${path}`,
  ] as const;
  const head = `diff --git a/${path} b/${path}\n`;
  const isBinary = [contents.before, contents.after].some((one) => one?.subarray(0, looked).includes(0));
  if (isBinary) return `${head}Binary files ${from} and ${to} differ\n`;
  const [before = "", after = ""] = [contents.before, contents.after].map((one) =>
    Buffer.from(one ?? "").toString(),
  );
  const limits = { context: 3, maxEditLength: maxEdits };
  const patch =
    createTwoFilesPatch(from, to, before, after, undefined, undefined, limits) ??
    replacement(from, to, before, after);
  return head + patch.slice(patch.indexOf("---"));
}

/** A patch that replaces the whole text. */
function replacement(from: string, to: string, before: string, after: string): string {
  const hunks = [structuredPatch(from, to, before, ""), structuredPatch(from, to, "", after)].map(
    (half) => half.hunks[0],
  );
  const [removed, added] = hunks as (StructuredPatchHunk | undefined)[];
  const hunk = {
    ...{ oldStart: 1, oldLines: removed?.oldLines ?? 0 },
    ...{ newStart: 1, newLines: added?.newLines ?? 0 },
    lines: [...(removed?.lines ?? []), ...(added?.lines ?? [])],
  };
  const names = { oldFileName: from, newFileName: to, oldHeader: undefined, newHeader: undefined };
  return formatPatch({ ...names, index: undefined, hunks: [hunk] });
}
