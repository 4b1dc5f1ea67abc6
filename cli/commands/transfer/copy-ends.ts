import { stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { basename as remoteName } from "node:path/posix";
import { usage } from "../../app/failure.ts";

/** What the gateway is asked for, and the one file of this machine that takes part. */
export interface CopyEnds {
  source: string;
  destination: string;
  only: { sent?: string; received?: string };
}

/** `laptop:/path` and `gsv:path`; a path with a slash before its colon is local, as for scp. */
const isElsewhere = (end: string) => /^[^/:]+:/.test(end);

/**
 * Reads the arguments of `gsv cp`. A local folder as destination gets the source's name.
 * @throws Failure (usage) when both are local
 */
export async function readEnds(from: string, to: string, cwd: string): Promise<CopyEnds> {
  if (!isElsewhere(from) && !isElsewhere(to))
    throw usage(
      "one side must be a node (laptop:/path) or the workspace (gsv:path); `gsv tools list` shows the nodes",
    );
  if (!isElsewhere(from)) {
    const path = resolve(cwd, from);
    return { source: `:${path}`, destination: to, only: { sent: path } };
  }
  if (isElsewhere(to)) return { source: from, destination: to, only: {} };
  const named = resolve(cwd, to);
  const isFolder = to.endsWith("/") || (await stat(named).catch(() => undefined))?.isDirectory();
  const path = isFolder ? join(named, basename(remoteName(from.slice(from.indexOf(":") + 1)))) : named;
  return { source: from, destination: `:${path}`, only: { received: path } };
}
