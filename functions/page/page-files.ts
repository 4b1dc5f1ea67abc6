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

/** The files by their path, such as `/index.html`. */
export type PageFiles = ReadonlyMap<string, PageFile>;

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".webmanifest": "application/manifest+json",
};

/** Reads a folder that `bundlePage` wrote. @throws Error of the file system, or for a file without a known type */
export async function readPageFiles(folder: string): Promise<PageFiles> {
  const names = (await readdir(folder)).filter((name) => !/\.(br|gz)$/.test(name));
  const read = names.map(async (name) => {
    const type = types[extname(name)];
    if (type === undefined) throw new Error(`the page's file ${name} has no known type`);
    const [identity, br, gzip] = await Promise.all(
      ["", ".br", ".gz"].map((encoding) => readFile(join(folder, name + encoding))),
    );
    if (!identity || !br || !gzip) throw new Error(`the page's file ${name} is incomplete`);
    const etag = `"${createHash("sha256").update(identity).digest("base64url").slice(0, 22)}"`;
    const isImmutable = /-[A-Z0-9]{8}\.\w+$/.test(name);
    return [`/${name}`, { type, etag, isImmutable, identity, br, gzip }] as const;
  });
  return new Map(await Promise.all(read));
}
