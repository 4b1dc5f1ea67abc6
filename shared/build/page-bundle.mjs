// @ts-check
import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

/** Maximum of what a browser loads before the page is usable, compressed by gzip. Bytes. */
const maxFirstLoad = 60 * 1024;

/**
 * Builds the console's page: `index.html`, hashed scripts and styles, each also compressed (`.br`, `.gz`).
 * @param {Pick<typeof import("esbuild"), "build">} esbuild passed in, because the packaged program has the page but no esbuild
 * @param {string} root the project's folder, absolute
 * @param {string} folder the output folder. Its previous content is deleted.
 * @param {number} [maxBytes] maximum of the first load
 * @returns {Promise<string[]>} paths of the sources, relative to `root`
 * @throws esbuild's BuildFailure; an Error when the first load is larger than its maximum
 */
export async function bundlePage({ build }, root, folder, maxBytes = maxFirstLoad) {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: { page: "web/main.tsx", style: "web/style/page.css" },
    // A part of every script: esbuild gives it a file of its own.
    inject: ["web/early.ts"],
    bundle: true,
    splitting: true,
    format: "esm",
    target: ["chrome111", "firefox113", "safari16.4"],
    jsx: "automatic",
    jsxImportSource: "preact",
    entryNames: "[name]-[hash]",
    chunkNames: "chunk-[name]-[hash]",
    legalComments: "none",
    minify: true,
    outdir: folder,
    write: false,
    metafile: true,
    logLevel: "error",
  });
  const built = outputFiles.map(({ path, contents }) => ({ path: relative(folder, path), contents }));
  const named = (/** @type {RegExp} */ pattern) => built.find(({ path }) => pattern.test(path))?.path ?? "";
  const template = await readFile(join(root, "web", "index.html"), "utf8");
  const script = named(/^page-.*\.js$/);
  const icon = await readFile(join(root, "web", "icons", "icon.svg"), "utf8");
  const html = template
    // Not a request of its own. Browsers ask for the icon again at each change of the address.
    .replace("/icon.svg", `data:image/svg+xml,${encodeURIComponent(icon)}`)
    .replace("page.css", named(/^style-.*\.css$/))
    .replace(/^.*page\.js.*$/m, (line) =>
      [...chunkLines(metafile.outputs, relative(root, folder), script), line].join("\n"),
    )
    .replace("page.js", script);
  const copied = ["manifest.webmanifest", "icon.svg", "apple-touch-icon.png"].map(async (name) => ({
    path: name,
    contents: await readFile(join(root, "web", "icons", name)),
  }));
  const files = [
    ...built,
    { path: "index.html", contents: Buffer.from(html) },
    ...(await Promise.all(copied)),
  ];
  const paths = ["/", ...files.map(({ path }) => `/${path}`).filter((path) => path !== "/index.html")];
  const worker = await build({
    absWorkingDir: root,
    entryPoints: { sw: "web/sw.ts" },
    target: ["chrome111", "firefox113", "safari16.4"],
    bundle: true,
    minify: true,
    define: { pageFiles: JSON.stringify(paths), pageVersion: JSON.stringify(versionOf(files)) },
    outdir: folder,
    write: false,
    logLevel: "error",
  });
  for (const { contents } of worker.outputFiles) files.push({ path: "sw.js", contents });
  const first = await writeFiles(
    folder,
    files,
    ({ path }) => path === "index.html" || html.includes(`"/${path}"`),
  );
  if (first > maxBytes)
    throw new Error(
      `the page's first load has ${first} bytes, and may have ${maxBytes}: import a view when it is shown`,
    );
  return Object.keys(metafile.inputs);
}

/**
 * Lines of HTML for the chunks that the script imports, and these import: a browser finds them without waiting for the script.
 * One that imports nothing is executed before the others have arrived, and the smallest first.
 * @param {import("esbuild").Metafile["outputs"]} outputs
 * @param {string} folder of the outputs, as their names have it
 * @param {string} script
 */
function chunkLines(outputs, folder, script) {
  const importsOf = (/** @type {string} */ path) =>
    (outputs[path]?.imports ?? []).filter(({ kind }) => kind === "import-statement");
  const bytesOf = (/** @type {string} */ path) => outputs[path]?.bytes ?? 0;
  const found = new Set([join(folder, script)]);
  for (const path of found) for (const imported of importsOf(path)) found.add(imported.path);
  const chunks = [...found].slice(1).sort((one, other) => bytesOf(one) - bytesOf(other));
  return chunks.map((path) => {
    const url = `/${relative(folder, path)}`;
    return importsOf(path).length === 0
      ? `    <script type="module" src="${url}"></script>`
      : `    <link rel="modulepreload" href="${url}" />`;
  });
}

/**
 * A name for these contents of files.
 * @param {{ contents: Uint8Array }[]} files
 */
function versionOf(files) {
  const hash = createHash("sha256");
  for (const { contents } of files) hash.update(contents);
  return hash.digest("hex").slice(0, 16);
}

/**
 * Writes files to a folder that is emptied before, each in all encodings.
 * @typedef {{ path: string, contents: Uint8Array }} File
 * @param {string} folder
 * @param {File[]} files
 * @param {(file: File) => boolean} isCounted
 * @returns {Promise<number>} the bytes of the counted files, compressed by gzip
 */
async function writeFiles(folder, files, isCounted) {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const sizes = await Promise.all(
    files.map(async (file) => {
      const bytes = await writeCompressed(join(folder, basename(file.path)), file.contents);
      return isCounted(file) ? bytes : 0;
    }),
  );
  return sizes.reduce((sum, bytes) => sum + bytes, 0);
}

/**
 * @param {string} path
 * @param {Uint8Array} contents
 * @returns {Promise<number>} the size compressed by gzip
 */
async function writeCompressed(path, contents) {
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };
  const [br, gz] = await Promise.all([
    promisify(brotliCompress)(contents, quality),
    promisify(gzip)(contents, { level: 9 }),
  ]);
  await Promise.all([writeFile(path, contents), writeFile(`${path}.br`, br), writeFile(`${path}.gz`, gz)]);
  return gz.byteLength;
}
