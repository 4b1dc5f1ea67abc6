import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";

/** A file of the page, in the encodings that browsers accept. */
export interface PageFile {
  type: string;
  etag: string;
  /** Its name contains a hash of its content. */
  isImmutable: boolean;
  identity: Buffer;
  br: Buffer;
  gzip: Buffer;
}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".webmanifest": "application/manifest+json",
};

/**
 * Serves a folder that `bundlePage` wrote. Each file is read when it is first asked for, so that a cold start reads one file;
 * what could not be read is read again.
 * @param openFolder returns the folder
 * @returns finds a file by its path, such as `/index.html`; throws what the file system throws
 */
export function servePageFiles(
  openFolder: () => Promise<string>,
): (path: string) => Promise<PageFile | undefined> {
  const files = new Map<string, PageFile>();
  let folder: { path: string; names: Set<string> } | undefined;
  const open = async () => {
    const path = await openFolder();
    const names = (await readdir(path)).filter((name) => !/\.(br|gz)$/.test(name));
    return { path, names: new Set(names) };
  };
  return async (path) => {
    folder ??= await open();
    const name = path.slice(1);
    if (!folder.names.has(name)) return undefined;
    const file = files.get(name) ?? (await readPageFile(folder.path, name));
    files.set(name, file);
    return file;
  };
}

async function readPageFile(folder: string, name: string): Promise<PageFile> {
  const type = types[extname(name)];
  if (type === undefined) throw new Error(`the page's file ${name} has no known type`);
  const [identity, br, gzip] = await Promise.all([
    readFile(join(folder, name)),
    readFile(join(folder, `${name}.br`)),
    readFile(join(folder, `${name}.gz`)),
  ]);
  const etag = `"${createHash("sha256").update(identity).digest("base64url").slice(0, 22)}"`;
  return { type, etag, isImmutable: /-[A-Z0-9]{8}\.\w+$/.test(name), identity, br, gzip };
}
