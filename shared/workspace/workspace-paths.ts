import { normalize } from "node:path/posix";
import { code, PeerError } from "../protocol/errors.ts";

/** S3's limit for a key, in bytes of UTF-8. */
const maxKeyBytes = 1024;
/** Maximum size of one path segment in bytes, because file systems (and the local bucket) limit names. */
const maxSegmentBytes = 200;

const agentIdPattern = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/**
 * The key prefix of an agent's workspace, `agents/{agentId}/`.
 * @throws PeerError 400 unless the id is normalized.
 */
export function workspacePrefix(agentId: string): string {
  if (agentIdPattern.test(agentId)) return `agents/${agentId}/`;
  throw new PeerError(
    code.badRequest,
    "agentId: expected at most 64 lower-case letters, digits, _ and -, starting with a letter or digit",
  );
}

/** A path without one leading `/`: `/memory/x.md` is `memory/x.md` of the workspace. */
export function withoutLeadingSlash(path: string): string {
  return path.startsWith("/") ? path.slice(1) : path;
}

/**
 * The form of a path that rules about files compare: as the most tolerant file system would resolve it, in lower case and
 * without a leading or trailing `/`. A path that leaves the workspace begins with `../`.
 */
export function comparablePath(path: string): string {
  const characters = path.normalize("NFKC").replace(/\p{Default_Ignorable_Code_Point}/gu, "");
  const folded = characters.toUpperCase().toLowerCase().replaceAll("\\", "/");
  const plain = normalize(folded.replace(/^\/+/, "")).replace(/\/+$/, "");
  return plain === "." ? "" : plain;
}

/**
 * Checks a file's path, relative to its workspace, and returns it without a leading `/`. Apart from that, each file
 * has exactly one valid path.
 * @throws PeerError 400 whose message starts with `path:` and describes the fault.
 */
export function filePath(given: string): string {
  const path = withoutLeadingSlash(given);
  if (path === "") throw badPath("expected the path of a file, relative to the workspace");
  if (/^objects\/[0-9a-f]{64}$/.test(path))
    throw badPath("is internal data of the gateway's objects; use object.get");
  if (path.includes("\\")) throw badPath("must not contain a backslash; folders are separated by /");
  if (/\p{Cc}/u.test(path)) throw badPath("must not contain control characters");
  if (!path.isWellFormed()) throw badPath("must be valid Unicode");
  for (const segment of path.split("/")) {
    if (segment === "") throw badPath("must not have an empty segment (// or a trailing /)");
    if (segment === "." || segment === "..") throw badPath(`must not contain "${segment}"`);
    if (Buffer.byteLength(segment) > maxSegmentBytes) {
      throw badPath(`has a segment of more than ${maxSegmentBytes} bytes`);
    }
  }
  return path;
}

/**
 * Checks a folder's path like a file's, but allows one trailing `/`, and `""` or `/` for the workspace
 * itself. Returns it without the leading and the trailing `/`; `""` is the workspace itself.
 * @throws PeerError 400
 */
export function folderPath(path: string): string {
  return path === "" || path === "/" ? "" : filePath(path.endsWith("/") ? path.slice(0, -1) : path);
}

/** The object key of a workspace path. @throws PeerError 400 when the key is longer than `maxKeyBytes` */
export function keyUnder(prefix: string, path: string): string {
  const key = prefix + path;
  if (Buffer.byteLength(key) > maxKeyBytes) {
    throw badPath(`is too long; the limit is ${maxKeyBytes} bytes, including the workspace's prefix`);
  }
  return key;
}

/** Files at the top of a workspace that are part of prompts, if the session may see them. */
export const promptFiles = {
  soul: "SOUL.md",
  identity: "IDENTITY.md",
  user: "USER.md",
  agents: "AGENTS.md",
  memory: "MEMORY.md",
  tools: "TOOLS.md",
  heartbeat: "HEARTBEAT.md",
  bootstrap: "BOOTSTRAP.md",
} as const;

/** The path of the daily memory file of a date, `memory/{YYYY-MM-DD}.md` (docs/reference/storage-layout.md). */
export function dailyMemoryPath(date: string): string {
  return `memory/${date}.md`;
}

/** Whether a path is a daily notes file of the owner's conversations, or another file in that folder. */
export function isDailyMemory(path: string): boolean {
  return /^memory\/[^/]+\.md$/.test(path);
}

/** Whether a file contains memories that the agent recalls. */
export function isMemoryPath(path: string): boolean {
  return path === promptFiles.memory || path === promptFiles.user || isDailyMemory(path);
}

/** The path of a date's notes from conversations in which others than the owner participate. No prompt loads them. */
export function sharedMemoryPath(date: string): string {
  return `memory/shared/${date}.md`;
}

/** Paths under `skills/` also name the skills that all agents share. */
export function isSkillPath(path: string): boolean {
  return path === "skills" || path.startsWith("skills/");
}

/** Whether a path is that of a file that describes a skill, `skills/{directory}/SKILL.md`, however it is written. */
export function isSkillFile(path: string): boolean {
  return /^skills\/[^/]+\/skill\.md$/.test(comparablePath(path));
}

const promptNames = new Set(Object.values(promptFiles).map((name) => name.toLowerCase()));

/** Whether prompts include the file or ask runs to read it: prompt files, memories and skills. */
export function isPromptPath(path: string): boolean {
  const name = comparablePath(path);
  return promptNames.has(name) || name.startsWith("memory/") || /^skills\/(?:.+\/)?skill\.md$/.test(name);
}

function badPath(reason: string): PeerError {
  return new PeerError(code.badRequest, `path: ${reason}`);
}
