import { createHash } from "node:crypto";
import * as v from "valibot";
import { code } from "../../../shared/protocol/errors.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";
import { RequestError } from "../../gateway/request-error.ts";
import type { NewSkill, SkillFile } from "./skill-source.ts";

/** The file in a skill's folder that says where the skill came from. */
export const pinName = ".source.json";

const pinSchema = v.object({
  /** The address that is read again by an update. */
  source: v.string(),
  commit: v.optional(v.string()),
  /** As `contentHash` of `files`. */
  hash: v.string(),
  /** SHA-256 of each file, in hex, as it was installed. */
  files: v.record(v.string(), v.string()),
});

/** What was installed, and where it came from. */
export type SkillPin = v.InferOutput<typeof pinSchema>;

/** SHA-256 of each file in hex, by path, in the order of paths. */
export function fileHashes(files: readonly SkillFile[]): Record<string, string> {
  const hashes = files.map(({ path, body }) => [path, createHash("sha256").update(body).digest("hex")]);
  return Object.fromEntries(hashes.sort(([a = ""], [b = ""]) => (a < b ? -1 : 1)));
}

/** The hash of a skill's files: SHA-256 of what `sha256sum` prints of them in the order of paths. */
export function contentHash(hashes: Readonly<Record<string, string>>): string {
  const lines = Object.entries(hashes).map(([path, hash]) => `${hash}  ${path}\n`);
  return createHash("sha256").update(lines.join("")).digest("hex");
}

/** The pin of a skill that has an address; undefined for one of this machine. */
export function pinOf({ source, commit, files }: NewSkill): SkillPin | undefined {
  if (source === undefined) return undefined;
  const hashes = fileHashes(files);
  const pin = { source, hash: contentHash(hashes), files: hashes };
  return commit === undefined ? pin : { ...pin, commit };
}

/** The stored pin of an installed skill; undefined when it has none that can be read. */
export async function readPin(
  gateway: Gateway,
  agentId: string,
  name: string,
): Promise<SkillPin | undefined> {
  const text = await readText(gateway, agentId, `skills/${name}/${pinName}`);
  try {
    return v.parse(pinSchema, JSON.parse(text ?? ""));
  } catch {
    return undefined;
  }
}

/** The text of an agent's file; undefined when there is none, or when it is not text. */
export async function readText(gateway: Gateway, agentId: string, path: string): Promise<string | undefined> {
  try {
    return (await gateway.request("workspace.read", { path, agentId })).content;
  } catch (error) {
    const isAbsent = [code.notFound, code.badRequest, code.tooLarge].some(
      (one) => error instanceof RequestError && error.code === one,
    );
    if (isAbsent) return undefined;
    throw error;
  }
}
