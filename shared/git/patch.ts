import { createTwoFilesPatch } from "diff";
import type { FileChange } from "./commits.ts";

/** A file's content before and after; undefined where there is none. */
export interface Contents {
  before: Uint8Array | undefined;
  after: Uint8Array | undefined;
}

/** A file with a NUL byte is no text. Git looks at as many bytes. */
const looked = 8000;

/** The change of a file as `git diff` shows it, with three lines around each place. */
export function patchOf({ path, change }: Pick<FileChange, "path" | "change">, contents: Contents): string {
  const [from, to] = [
    change === "added" ? "/dev/null" : `a/${path}`,
    change === "removed" ? "/dev/null" : `b/${path}`,
  ];
  const head = `diff --git a/${path} b/${path}\n`;
  const isBinary = [contents.before, contents.after].some((one) => one?.subarray(0, looked).includes(0));
  if (isBinary) return `${head}Binary files ${from} and ${to} differ\n`;
  const [before, after] = [contents.before, contents.after].map((one) => Buffer.from(one ?? "").toString());
  const patch = createTwoFilesPatch(from, to, before ?? "", after ?? "", undefined, undefined, {
    context: 3,
  });
  return head + patch.slice(patch.indexOf("---"));
}
