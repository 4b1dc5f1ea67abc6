import { createTwoFilesPatch, formatPatch, type StructuredPatchHunk, structuredPatch } from "diff";
import type { FileChange } from "./commits.ts";

/** A file's content before and after; undefined where there is none. */
export interface Contents {
  before: Uint8Array | undefined;
  after: Uint8Array | undefined;
}

/** A file with a NUL byte is no text. Git looks at as many bytes. */
const looked = 8000;

/** Most lines that are added and removed where lines are compared: the time grows with the square of it. */
const maxEdits = 1000;

/**
 * The change of a file as `git diff` shows it, with three lines around each place. Where too many lines have changed to be
 * compared, all of them are removed, and all of the new ones added.
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

/** A patch that puts one text in the place of another. */
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
