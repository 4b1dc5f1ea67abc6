import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createGunzip, gunzipSync } from "node:zlib";
import type { Extract } from "tar-stream";
import { sizeText } from "../../../shared/runtime/size-text.ts";
import { filePath } from "../../../shared/workspace/workspace-paths.ts";
import { Failure } from "../../app/failure.ts";

/** Limits of an archive: bytes as downloaded, bytes unpacked, and number of entries. */
export const archiveLimits = {
  packedBytes: 50 * 1024 * 1024,
  unpackedBytes: 150 * 1024 * 1024,
  entries: 8000,
};

/** An entry while the archive is read. */
type Entry = Extract extends AsyncIterable<infer E> ? E : never;

/** An entry of an archive. `path` has no top folder. */
interface Item {
  path: string;
  type: string;
  size: number;
}

/** The files of a folder of an archive, and the commit that it was made from, if the archive says so. */
export interface UnpackedFolder {
  files: { path: string; body: Buffer }[];
  commit?: string;
}

/**
 * Unpacks the folder of a skill from a repository's archive (tar.gz). The archive is read twice: the first pass checks every
 * entry and finds the folder, the second one keeps its files. Nothing is written to the disk.
 * @param choose the folder of the skill, given the paths of all files: "" for the top, else without a trailing slash
 * @param isLeft whether a file of the folder is left out, by its path there
 * @param limits of the folder's files
 * @throws Failure with one sentence for an archive that is damaged, too large, or has names, links or devices that are refused
 */
export async function unpackFolder(
  archive: Buffer,
  choose: (files: readonly string[]) => string,
  isLeft: (path: string) => boolean,
  limits: { files: number; bytes: number },
): Promise<UnpackedFolder> {
  const items: Item[] = [];
  await readArchive(archive, async (_entry, item) => void items.push(item));
  const folder = choose(items.flatMap(({ path, type }) => (type === "file" ? [path] : [])));
  const prefix = folder === "" ? "" : `${folder}/`;
  const within = (path: string) => (path.startsWith(prefix) ? path.slice(prefix.length) : "");
  const wanted = items.filter(({ path, type }) => {
    const inside = within(path);
    return type !== "directory" && inside !== "" && !isLeft(inside);
  });
  checkFolder(wanted, limits);

  const paths = new Set(wanted.map(({ path }) => path));
  const files: { path: string; body: Buffer }[] = [];
  await readArchive(archive, async (entry, { path, type }) => {
    if (type !== "file" || !paths.has(path)) return;
    const chunks: Buffer[] = [];
    for await (const chunk of entry) chunks.push(chunk as Buffer);
    files.push({ path: within(path), body: Buffer.concat(chunks) });
  });
  const commit = commitOf(archive);
  return commit === undefined ? { files } : { files, commit };
}

/** The commit of an archive that git made: the comment in its first header, which tar-stream does not expose. */
function commitOf(archive: Buffer): string | undefined {
  const start = gunzipSync(archive.subarray(0, 2048), { finishFlush: constants.Z_SYNC_FLUSH });
  const isGlobal = start.toString("latin1", 156, 157) === "g";
  return isGlobal
    ? /^\d+ comment=([0-9a-f]{40,64})\n/.exec(start.toString("latin1", 512, 1024))?.[1]
    : undefined;
}

/** @throws Failure for links, names that differ only in case, too many files, or too many bytes */
function checkFolder(wanted: readonly Item[], limits: { files: number; bytes: number }): void {
  const seen = new Set<string>();
  for (const { path, type } of wanted) {
    if (type !== "file") throw refused(`${shown(path)} is a link`);
    const name = path.normalize("NFC").toLowerCase();
    if (seen.has(name)) throw refused(`${shown(path)} is there twice`);
    seen.add(name);
  }
  if (wanted.length > limits.files)
    throw new Failure(
      "too large",
      `the skill has ${wanted.length} files; the limit of a skill is ${limits.files}`,
    );
  const bytes = wanted.reduce((sum, { size }) => sum + size, 0);
  if (bytes > limits.bytes)
    throw new Failure(
      "too large",
      `the skill has ${sizeText(bytes)}; the limit is ${sizeText(limits.bytes)}`,
    );
}

/** Calls `visit` for each file, folder and link of an archive, one after the other. @throws Failure */
async function readArchive(
  archive: Buffer,
  visit: (entry: Entry, item: Item) => Promise<void>,
): Promise<void> {
  // Only a skill of a repository needs it.
  const { extract } = await import("tar-stream");
  const entries = extract();
  const flowing = pipeline(Readable.from([archive]), createGunzip(), measured(), entries);
  // The loop below throws the same error.
  flowing.catch(() => {});
  let count = 0;
  try {
    for await (const entry of entries) {
      if (++count > archiveLimits.entries)
        throw refused(`it has more than ${archiveLimits.entries} files and folders`);
      const item = itemOf(entry);
      if (item !== undefined) await visit(entry, item);
      entry.resume();
    }
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw refused(`it is damaged (${(error as Error).message})`);
  }
  if (count === 0) throw refused("it is empty");
}

/** An entry without the archive's top folder; undefined for that folder. @throws Failure for what no skill contains */
function itemOf({ header }: Entry): Item | undefined {
  const { name, type, size = 0 } = header;
  const path = name.replace(/\/+$/, "");
  try {
    if (name.startsWith("/") || /^[a-z]:/i.test(name)) throw new Error("path: must be relative");
    filePath(path);
  } catch (error) {
    throw refused(`the name ${shown(name)} ${(error as Error).message.replace(/^path: /, "")}`);
  }
  const kind = type === "contiguous-file" ? "file" : (type ?? "unknown");
  if (!["file", "directory", "symlink", "link"].includes(kind))
    throw refused(`${shown(name)} is neither a file, a folder nor a link`);
  const top = path.indexOf("/");
  return top < 0 ? undefined : { path: path.slice(top + 1), type: kind, size };
}

/** Counts unpacked bytes: a few kilobytes can expand to gigabytes. */
function measured(): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.byteLength;
      if (bytes <= archiveLimits.unpackedBytes) return done(null, chunk);
      done(refused(`it unpacks to more than ${sizeText(archiveLimits.unpackedBytes)}`));
    },
  });
}

const shown = (name: string) => JSON.stringify(name.slice(0, 200));

function refused(reason: string): Failure {
  return new Failure("refused", `the archive was refused: ${reason}`);
}
