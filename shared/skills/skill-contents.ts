import { createHash } from "node:crypto";
import type { ListedObject } from "../world/world.ts";

/** Limits of a skill that machines mirror: number of files, and bytes of all. */
const limits = { files: 250, bytes: 10 * 1024 * 1024 };

/** Digits of the hash in a folder's name. */
const hashDigits = 16;

/** The files of a skill in the bucket, and a hash that changes with each of them. */
export interface SkillContents {
  hash: string;
  files: { path: string; key: string; size: number }[];
}

/**
 * The files of a skill's folder, from a listing. Undefined for a folder that has only its SKILL.md, is above the limits, or has
 * a name that is no plain folder name.
 * @param prefix of the folder's keys
 */
export function contentsOf(objects: readonly ListedObject[], prefix: string): SkillContents | undefined {
  const own = objects.filter(({ key }) => key.startsWith(prefix) && !key.endsWith("/.source.json"));
  const isPlain = /\/[a-z0-9][a-z0-9_-]{0,63}\/$/.test(`/${prefix}`);
  const bytes = own.reduce((sum, { size }) => sum + size, 0);
  if (!isPlain || own.length < 2 || own.length > limits.files || bytes > limits.bytes) return undefined;
  const hash = createHash("sha256");
  for (const { key, etag } of own) hash.update(`${key.slice(prefix.length)}\n${etag}\n`);
  return {
    hash: hash.digest("hex").slice(0, hashDigits),
    files: own.map(({ key, size }) => ({ path: key.slice(prefix.length), key, size })),
  };
}
