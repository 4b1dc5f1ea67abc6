import { createHash } from "node:crypto";
import { deflateSync, inflateSync } from "node:zlib";

/** The kinds of git objects that a workspace's history has. */
export type GitObjectType = "blob" | "tree" | "commit";

/** A stored git object: `bytes` is the content of a loose object's file. */
export interface GitObject {
  /** Its name: SHA-1 of the type, the length and the body, 40 hex digits. */
  sha: string;
  bytes: Uint8Array;
}

/** One entry of a tree. Only plain files and folders occur. */
export interface TreeEntry {
  name: string;
  kind: "blob" | "tree";
  sha: string;
}

/** A commit. `at` in epoch ms, whole seconds. */
export interface Commit {
  sha: string;
  tree: string;
  /** Absent in the first commit. */
  parent?: string;
  /** Name and address, as `Ada <ada@example.org>`. */
  author: string;
  at: number;
  message: string;
}

const modes = { blob: "100644", tree: "40000" } as const;

/** Encodes an object as `git hash-object -w` does. @see https://git-scm.com/book/en/v2/Git-Internals-Git-Objects */
export function encodeObject(type: GitObjectType, body: Uint8Array): GitObject {
  const whole = Buffer.concat([Buffer.from(`${type} ${body.length}\0`), body]);
  return { sha: createHash("sha1").update(whole).digest("hex"), bytes: deflateSync(whole) };
}

/** The body of a stored object. @throws Error when the bytes are not an object of this type */
export function decodeObject(type: GitObjectType, bytes: Uint8Array): Buffer {
  const whole = inflateSync(bytes);
  const end = whole.indexOf(0);
  if (whole.subarray(0, whole.indexOf(" ")).toString() !== type) throw new Error(`not a git ${type}`);
  return whole.subarray(end + 1);
}

/** A tree's body. Git sorts by the bytes of the name; a folder's name counts with a trailing slash. */
export function treeBody(entries: readonly TreeEntry[]): Buffer {
  const key = ({ name, kind }: TreeEntry) => Buffer.from(kind === "tree" ? `${name}/` : name);
  const sorted = [...entries].sort((a, b) => Buffer.compare(key(a), key(b)));
  return Buffer.concat(
    sorted.flatMap(({ name, kind, sha }) => [
      Buffer.from(`${modes[kind]} ${name}\0`),
      Buffer.from(sha, "hex"),
    ]),
  );
}

export function parseTree(body: Buffer): TreeEntry[] {
  const entries: TreeEntry[] = [];
  for (let at = 0; at < body.length; ) {
    const end = body.indexOf(0, at);
    const head = body.subarray(at, end).toString();
    const space = head.indexOf(" ");
    const kind = head.slice(0, space) === modes.tree ? "tree" : "blob";
    const sha = body.subarray(end + 1, end + 21).toString("hex");
    entries.push({ name: head.slice(space + 1), kind, sha });
    at = end + 21;
  }
  return entries;
}

/** A commit's body, with the author as committer, in UTC. */
export function commitBody({ tree, parent, author, at, message }: Omit<Commit, "sha">): Buffer {
  const who = `${author} ${Math.floor(at / 1000)} +0000`;
  const lines = [
    `tree ${tree}`,
    ...(parent ? [`parent ${parent}`] : []),
    `author ${who}`,
    `committer ${who}`,
  ];
  return Buffer.from(`${lines.join("\n")}\n\n${message.replaceAll("\0", "").trimEnd()}\n`);
}

export function parseCommit(sha: string, body: Buffer): Commit {
  const text = body.toString();
  const end = text.indexOf("\n\n");
  const head = new Map(text.slice(0, end).split("\n").map(headerOf));
  const [, author = "", seconds = "0"] = /^(.*) (\d+) [+-]\d{4}$/.exec(head.get("author") ?? "") ?? [];
  const parent = head.get("parent");
  const message = text.slice(end + 2).trimEnd();
  return {
    sha,
    tree: head.get("tree") ?? "",
    ...(parent ? { parent } : {}),
    author,
    at: Number(seconds) * 1000,
    message,
  };
}

function headerOf(line: string): [string, string] {
  const space = line.indexOf(" ");
  return [line.slice(0, space), line.slice(space + 1)];
}
