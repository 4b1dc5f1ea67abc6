import { setTimeout as delay } from "node:timers/promises";
import { joinOrigins, type Origins, originsIn, originsMetadata } from "../origins/origins.ts";
import { code, PeerError } from "../protocol/errors.ts";
import type { FileContent, Listing } from "../protocol/file-results.ts";
import { sizeText } from "../runtime/size-text.ts";
import { type Bucket, PreconditionFailed, type StoredObject } from "../world/world.ts";
import { checkNotInternal } from "./privacy.ts";
import {
  filePath,
  folderPath,
  isDailyMemory,
  isPromptPath,
  isSkillPath,
  keyUnder,
  workspacePrefix,
} from "./workspace-paths.ts";

/** Maximum size of a workspace file, in bytes of UTF-8. */
export const maxFileBytes = 2 * 1024 * 1024;

/** Maximum size of a file that is written as bytes, which no prompt uses. */
const maxBinaryBytes = 5 * 1024 * 1024;

/**
 * Maximum attempts of a change when other writers change the same file. One of them succeeds in each round, and the waits
 * between rounds grow to half a second on average, so that a hundred concurrent writers all succeed.
 */
const maxAttempts = 100;

/** Maximum wait before the next attempt, in milliseconds. */
const maxWaitMs = 1000;

export interface TextEdit {
  oldString: string;
  newString: string;
  /** Without it `oldString` must occur exactly once. */
  replaceAll?: boolean;
}

/**
 * The files of an agent, under `agents/{agentId}/` (docs/reference/storage-layout.md). Paths under `skills/` read the
 * agent's copy first, then the shared copy; writes always create or change the agent's copy.
 *
 * `origins`: whose words the writer had read, besides the owner's. They are stored with the file, and a change adds to them;
 * `write` replaces them.
 *
 * Every method throws PeerError: 400 for a bad path, agent id, edit or a file that is not text; 404 for a
 * missing file; 409 (retryable) when other writers keep changing the file; 413 above `maxFileBytes`.
 */
export interface Workspace {
  /** Lists one level of a folder; `""` or `/` is the workspace itself. A missing folder is empty. */
  list(agentId: string, path: string): Promise<Listing>;
  read(agentId: string, path: string): Promise<FileContent>;
  /** Creates or replaces the file. `size` in bytes. Bytes may be any file of up to 5 MB that no prompt uses. */
  write(
    agentId: string,
    path: string,
    content: string | Uint8Array,
    origins?: Origins,
  ): Promise<{ path: string; size: number; written: true }>;
  /**
   * Replaces text in a file. Up to a hundred concurrent edits are all applied, one after the other; more may get 409.
   * @param check called with the content before it is written; throws what forbids it
   */
  edit(
    agentId: string,
    path: string,
    edit: TextEdit,
    origins?: Origins,
    check?: (content: string) => void,
  ): Promise<{ path: string; size: number; replacements: number }>;
  /**
   * Appends text on a new line; creates the file if it is missing. Concurrent appends are all applied, except
   * that identical concurrent texts are appended once.
   */
  append(agentId: string, path: string, text: string): Promise<{ path: string; size: number }>;
  /**
   * Replaces a file's content by the result of `make`, which is called again when another writer changes the file
   * concurrently. It gets undefined for a missing file, which is created.
   */
  change(
    agentId: string,
    path: string,
    make: (current: string | undefined) => string,
    origins?: Origins,
  ): Promise<void>;
  /**
   * Appends a section after a blank line, unless the file already contains it. Concurrent different sections
   * are all appended; a repeated section is appended once.
   */
  appendSection(
    agentId: string,
    path: string,
    section: string,
    origins?: Origins,
  ): Promise<{ path: string; size: number }>;
  delete(agentId: string, path: string): Promise<{ path: string; deleted: true }>;
}

/**
 * @param wait waits this many milliseconds between two attempts of a change
 * @param removeCopy removes the copy that searches have of a daily note
 */
export function openWorkspace(
  bucket: Bucket,
  wait: (ms: number) => Promise<unknown> = delay,
  removeCopy?: (agentId: string, path: string) => Promise<void>,
): Workspace {
  const change = (
    key: string,
    path: string,
    make: (current: string | undefined) => string,
    origins?: Origins,
  ) => changeFile({ bucket, wait }, key, path, { make, origins });
  return {
    async list(agentId, path) {
      return listFolder(bucket, workspacePrefix(agentId), folderPath(path));
    },
    async read(agentId, path) {
      return readFile(bucket, workspacePrefix(agentId), filePath(path));
    },
    async write(agentId, given, content, origins) {
      const path = filePath(given);
      const key = writableKey(agentId, path);
      const isText = typeof content === "string" || isPromptPath(path);
      const size = checkedSize(content, path, isText ? maxFileBytes : maxBinaryBytes);
      const metadata = originsMetadata(origins);
      const contentType = workspaceContentType(path, isText ? undefined : "application/octet-stream");
      await bucket.put(key, content, { contentType, metadata });
      return { path, size, written: true };
    },
    async edit(agentId, given, edit, origins, check = () => {}) {
      const path = filePath(given);
      let replacements = 0;
      const make = (current: string | undefined) => {
        if (current === undefined) throw notFound(path);
        const edited = applyEdit(current, edit);
        replacements = edited.replacements;
        check(edited.content);
        return edited.content;
      };
      const content = await change(writableKey(agentId, path), path, make, origins);
      return { path, size: Buffer.byteLength(content), replacements };
    },
    async append(agentId, path, text) {
      const content = await change(writableKey(agentId, path), path, (current = "") =>
        current === "" || current.endsWith("\n") ? current + text : `${current}\n${text}`,
      );
      return { path, size: Buffer.byteLength(content) };
    },
    async change(agentId, given, make, origins) {
      const path = filePath(given);
      await change(writableKey(agentId, path), path, make, origins);
    },
    async appendSection(agentId, path, section, origins) {
      const key = writableKey(agentId, path);
      const content = await change(key, path, (current) => withSection(current ?? "", section), origins);
      return { path, size: Buffer.byteLength(content) };
    },
    async delete(agentId, given) {
      const path = filePath(given);
      checkNotInternal(path);
      const key = keyUnder(workspacePrefix(agentId), path);
      if (await exists(bucket, key)) {
        await bucket.delete(key);
        if (isDailyMemory(path)) await removeCopy?.(agentId, path);
        return { path, deleted: true };
      }
      if (isSkillPath(path) && (await exists(bucket, path))) {
        throw new PeerError(
          code.notFound,
          `agent has no copy of ${path}; the shared file cannot be deleted here`,
        );
      }
      throw notFound(path);
    },
  };
}

async function listFolder(bucket: Bucket, prefix: string, path: string): Promise<Listing> {
  const folder = path === "" ? "" : `${path}/`;
  const files = new Set<string>();
  const directories = new Set<string>();
  const add = async (base: string) => {
    const { objects, prefixes } = await bucket.list(keyUnder(base, folder), "/");
    for (const { key } of objects) files.add(key.slice(base.length));
    for (const key of prefixes) directories.add(key.slice(base.length));
  };
  await Promise.all(isSkillPath(path) ? [add(prefix), add("")] : [add(prefix)]);
  files.delete(folder); // The marker object that some S3 consoles create for an empty folder.
  return { path: path === "" ? "/" : path, files: [...files].sort(), directories: [...directories].sort() };
}

async function readFile(bucket: Bucket, prefix: string, path: string): Promise<FileContent> {
  if (path.startsWith("sessions/") && path.endsWith(".gz")) {
    throw new PeerError(
      code.badRequest,
      `path: ${path} is a compressed session archive, not a text file; see session.transcript`,
    );
  }
  const key = keyUnder(prefix, path);
  const own = await bucket.get(key);
  const object = own ?? (isSkillPath(path) ? await bucket.get(path) : undefined);
  if (!object) throw notFound(path);
  const size = object.body.byteLength;
  const lastModified = new Date(object.lastModified).toISOString();
  const origins = originsIn(object.metadata);
  const read = { path, content: decodeText(object, path), size, lastModified };
  const file = origins.length === 0 ? read : { ...read, origins };
  if (!isSkillPath(path)) return file;
  return own
    ? { ...file, resolvedPath: key, resolvedSource: "agent" }
    : { ...file, resolvedPath: path, resolvedSource: "global" };
}

/**
 * Reads, changes and conditionally writes a file; repeats after a conflict. When the file already has the
 * wanted content after a conflict, the change is done: the response of an earlier write was lost, or another writer
 * made the same change.
 */
async function changeFile(
  { bucket, wait }: { bucket: Bucket; wait: (ms: number) => Promise<unknown> },
  key: string,
  path: string,
  { make, origins }: { make: (current: string | undefined) => string; origins: Origins | undefined },
): Promise<string> {
  let wanted: string | undefined;
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const own = await bucket.get(key);
    const base = own ?? (isSkillPath(path) ? await bucket.get(path) : undefined);
    const current = base && decodeText(base, path);
    if (own && wanted !== undefined && current === wanted) return wanted;
    wanted = make(current);
    if (own && wanted === current) return wanted;
    checkedSize(wanted, path);
    const condition = own ? { ifMatch: own.etag } : { ifAbsent: true };
    const metadata = originsMetadata(joinOrigins(base && originsIn(base.metadata), origins));
    try {
      await bucket.put(key, wanted, { contentType: workspaceContentType(path), metadata, ...condition });
      return wanted;
    } catch (error) {
      if (!(error instanceof PreconditionFailed)) throw error;
      await wait(Math.random() * Math.min(25 * attempt, maxWaitMs));
    }
  }
  throw new PeerError(code.conflict, `${path} is being changed by somebody else; try again`, {
    retryable: true,
  });
}

function withSection(current: string, section: string): string {
  const text = section.endsWith("\n") ? section : `${section}\n`;
  if (current === "" || `\n${current}`.includes(`\n${text}`)) return current || text;
  return current + (current.endsWith("\n\n") ? "" : current.endsWith("\n") ? "\n" : "\n\n") + text;
}

/** A text after an edit. @throws PeerError 400 when the edit does not apply */
export function applyEdit(content: string, edit: TextEdit): { content: string; replacements: number } {
  const { oldString, newString, replaceAll = false } = edit;
  if (oldString === "") throw new PeerError(code.badRequest, "oldString: must not be empty");
  if (oldString === newString) throw new PeerError(code.badRequest, "newString: is the same as oldString");
  const parts = content.split(oldString);
  const found = parts.length - 1;
  if (found === 0) throw new PeerError(code.badRequest, "oldString: not found (0 occurrences)");
  if (found > 1 && !replaceAll) {
    throw new PeerError(
      code.badRequest,
      `oldString: found ${found} occurrences; include more of the surrounding text, or set replaceAll`,
    );
  }
  return { content: parts.join(newString), replacements: found };
}

/**
 * The key of the agent's own copy of a file. `path`: from `filePath`, or a constant.
 * @throws PeerError 400 for session archives, which only the gateway writes
 */
function writableKey(agentId: string, path: string): string {
  const key = keyUnder(workspacePrefix(agentId), filePath(path));
  checkNotInternal(path);
  if (!path.startsWith("sessions/")) return key;
  throw new PeerError(
    code.badRequest,
    "path: sessions/ contains session archives, which only the gateway writes",
  );
}

async function exists(bucket: Bucket, key: string): Promise<boolean> {
  const { objects } = await bucket.list(key, "/");
  return objects.some((object) => object.key === key);
}

function checkedSize(content: string | Uint8Array, path: string, maxBytes = maxFileBytes): number {
  const size = Buffer.byteLength(content);
  if (size > maxBytes) throw tooLarge(path, size, maxBytes);
  return size;
}

function decodeText(object: StoredObject, path: string): string {
  if (object.body.byteLength > maxFileBytes) throw tooLarge(path, object.body.byteLength);
  try {
    // Keep a byte order mark, so that an edit does not remove it.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(object.body);
  } catch {
    throw new PeerError(code.badRequest, `path: ${path} is a binary file, not UTF-8 text`);
  }
}

/** The content type of a file. @param known its type, if it may not be text */
export function workspaceContentType(path: string, known = "text/plain; charset=utf-8"): string {
  if (path.endsWith(".md")) return "text/markdown; charset=utf-8";
  if (path.endsWith(".json")) return "application/json";
  return known;
}

function notFound(path: string): PeerError {
  return new PeerError(code.notFound, `workspace file not found: ${path}`);
}

function tooLarge(path: string, size: number, maxBytes = maxFileBytes): PeerError {
  return new PeerError(
    code.tooLarge,
    `${path} has ${sizeText(size)}; the limit for a workspace file is ${sizeText(maxBytes)}`,
  );
}
