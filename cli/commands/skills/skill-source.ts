import { readdir, readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import type { GuardedFetch } from "../../../shared/http/guarded-fetch.ts";
import { sizeText } from "../../../shared/runtime/size-text.ts";
import { parseSkill, type SkillDocument } from "../../../shared/skills/frontmatter.ts";
import { Failure } from "../../app/failure.ts";
import { archiveUrl, type GitHubAddress, gitHubText, parseGitHub } from "./github-address.ts";
import { shippedSkills } from "./shipped-skills.ts";

/** Limits of a skill: bytes of its SKILL.md, number of files, and bytes of all files. */
const limits = { documentBytes: 256 * 1024, files: 200, bytes: 5 * 1024 * 1024 };

/** Max bytes of a repository's archive. */
const maxArchiveBytes = 50 * 1024 * 1024;

/** A file of a skill. `path` is relative to the skill's folder. */
export interface SkillFile {
  path: string;
  body: Uint8Array;
  /** Its text; absent for a file that is not text. */
  text?: string;
}

/** A skill to install. `SKILL.md` is the last file, so that the skill is listed only when it is complete. */
export interface NewSkill {
  /** Default name of its folder; empty when unknown. */
  name: string;
  document: SkillDocument;
  files: SkillFile[];
  /** Skipped files of the folder, each with the reason. */
  left: string[];
  /** The address that `gsv skills update` reads again; absent for a skill of this machine. */
  source?: string;
  /** The commit of the repository. */
  commit?: string;
}

/**
 * Reads a skill by its address on GitHub, from the https address of a SKILL.md, from a folder, from a SKILL.md file, or by
 * the name of a skill included in gsv. Only public addresses are fetched.
 * @throws Failure when it cannot be read, is too large, or is not a skill
 */
export async function readSkill(source: string, cwd: string, fetchGuarded: GuardedFetch): Promise<NewSkill> {
  const address = parseGitHub(source);
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(source))
    return address ? fromGitHub(address, fetchGuarded) : fromUrl(source, fetchGuarded);
  const shipped = shippedSkills.find(({ name }) => name === source);
  const path = resolve(cwd, source.replace(/^~(?=\/|$)/, homedir()));
  const found = await stat(path).catch(() => undefined);
  if (shipped && !found) return asSkill(source, [fileOf("SKILL.md", Buffer.from(shipped.text))]);
  if (address && !found) return fromGitHub(address, fetchGuarded);
  if (!found) {
    const names = shippedSkills.map(({ name }) => name).join(", ");
    throw new Failure(
      "ENOENT",
      `${source} is neither a file or folder, nor an address on GitHub, nor a skill included in gsv (${names})`,
    );
  }
  if (found.isDirectory()) return fromFolder(path);
  return asSkill(basename(dirname(path)), [fileOf("SKILL.md", await readBounded(path, basename(path)))]);
}

async function fromUrl(url: string, fetchGuarded: GuardedFetch): Promise<NewSkill> {
  const fetched = await fetchGuarded({ url, maxBytes: limits.documentBytes });
  if (!fetched.ok) throw new Failure("fetch", `${url}: ${fetched.reason}`);
  const file = fileOf("SKILL.md", fetched.body);
  if (/^\s*(<!doctype html|<html)/i.test(file.text ?? ""))
    throw new Failure(
      "not a skill",
      `${url} is a web page; use the address of the plain SKILL.md ("Raw" on GitHub)`,
    );
  const segments = new URL(url).pathname.split("/").filter((segment) => segment !== "");
  const last = segments.pop() ?? "";
  const name = last.toLowerCase() === "skill.md" ? (segments.pop() ?? "") : last.replace(/\.md$/i, "");
  return { ...asSkill(name, [file]), source: url };
}

async function fromGitHub(address: GitHubAddress, fetchGuarded: GuardedFetch): Promise<NewSkill> {
  const source = gitHubText(address);
  const fetched = await fetchGuarded({ url: archiveUrl(address), maxBytes: maxArchiveBytes });
  if (!fetched.ok) {
    const why = fetched.reason.endsWith("404") ? "there is no such public repository, branch or tag" : "";
    throw new Failure("fetch", `${source}: ${why || fetched.reason}`);
  }
  // Unpacking needs packages that other sources do not.
  const { unpackFolder } = await import("./skill-archive.ts");
  let folder = "";
  const choose = (paths: readonly string[]) => {
    folder = skillFolder(address, paths);
    return folder;
  };
  const isLeft = (path: string) => path.split("/").some(isSkipped);
  const { files, commit } = await unpackFolder(fetched.body, choose, isLeft, limits);
  const last = files.filter(({ path }) => path === "SKILL.md");
  const sorted = files.filter(({ path }) => path !== "SKILL.md").sort((a, b) => (a.path < b.path ? -1 : 1));
  const skill = asSkill(
    basename(folder) || address.repo,
    [...sorted, ...last].map(({ path, body }) => fileOf(path, body)),
  );
  const pinned = gitHubText({ ...address, path: folder });
  return { ...skill, source: pinned, ...(commit === undefined ? {} : { commit }) };
}

/** The skill's folder in a repository. @throws Failure when there is none, or several */
function skillFolder(address: GitHubAddress, paths: readonly string[]): string {
  const { path } = address;
  const prefix = path === "" ? "" : `${path}/`;
  const folders = paths.flatMap((file) =>
    file.startsWith(prefix) && basename(file) === "SKILL.md" ? [dirname(`/${file}`).slice(1)] : [],
  );
  if (folders.includes(path)) return path;
  const [only, ...others] = folders.sort();
  const where = gitHubText(address);
  if (only === undefined) throw new Failure("not a skill", `${where} has no SKILL.md`);
  if (others.length === 0) return only;
  const names = folders.slice(0, 20).map((folder) => gitHubText({ ...address, path: folder }));
  const more = folders.length > names.length ? `, and ${folders.length - names.length} more` : "";
  throw new Failure(
    "several skills",
    `${where} has ${folders.length} skills; add one of ${names.join(", ")}${more}`,
  );
}

async function fromFolder(folder: string): Promise<NewSkill> {
  const left: string[] = [];
  const files: SkillFile[] = [];
  const entries = (await entriesUnder(folder, "")).sort((a, b) => (a.path < b.path ? -1 : 1));
  const last = entries.filter(({ path }) => path === "SKILL.md");
  if (last.length === 0) throw new Failure("not a skill", `${folder} has no SKILL.md`);
  for (const { path, isFile } of [...entries.filter((entry) => !last.includes(entry)), ...last]) {
    if (!isFile) left.push(`${path}: not a regular file`);
    else files.push(fileOf(path, await readBounded(join(folder, path), path)));
    if (files.length > limits.files)
      throw new Failure("too large", `${folder} has more than ${limits.files} files, the limit of a skill`);
  }
  return asSkill(basename(folder), files, left);
}

/**
 * The entries of a folder and its subfolders, without hidden entries and installed packages. Links are listed but not
 * followed, so that nothing outside the folder becomes part of the skill.
 */
async function entriesUnder(folder: string, below: string): Promise<{ path: string; isFile: boolean }[]> {
  const entries = await readdir(join(folder, below), { withFileTypes: true });
  const found = entries
    .filter(({ name }) => !isSkipped(name))
    .map(async (entry) => {
      const path = below + entry.name;
      if (entry.isDirectory()) return entriesUnder(folder, `${path}/`);
      return [{ path, isFile: entry.isFile() }];
    });
  return (await Promise.all(found)).flat();
}

function isSkipped(name: string): boolean {
  return name.startsWith(".") || name === "node_modules";
}

function asSkill(fallback: string, files: SkillFile[], left: string[] = []): NewSkill {
  const source = files.find(({ path }) => path === "SKILL.md");
  if (source && source.body.byteLength > limits.documentBytes)
    throw tooLarge("SKILL.md", source.body.byteLength, limits.documentBytes);
  if (source && source.text === undefined)
    throw new Failure("not a skill", "SKILL.md is not text; it must be UTF-8");
  const document = parseSkill(source?.text ?? "");
  if (document.fault !== undefined) throw new Failure("not a skill", `SKILL.md: ${document.fault}`);
  if (document.body === "" || document.description === "")
    throw new Failure("not a skill", "SKILL.md has no description or no instructions; add them");
  const bytes = files.reduce((sum, { body }) => sum + body.byteLength, 0);
  if (bytes > limits.bytes) throw tooLarge("the skill", bytes, limits.bytes);
  return { name: folderName(document.name ?? "") || folderName(fallback), document, files, left };
}

/**
 * Converts a name to a skill's folder name: lower case, with `-` for characters that are not allowed. May be empty.
 */
export function folderName(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, "-")
    .replace(/^[-_]+|-+$/g, "")
    .slice(0, 64);
}

async function readBounded(file: string, shown: string): Promise<Buffer> {
  const { size } = await stat(file);
  if (size > limits.bytes) throw tooLarge(shown, size, limits.bytes);
  return readFile(file);
}

function tooLarge(what: string, bytes: number, max: number): Failure {
  return new Failure("too large", `${what} has ${sizeText(bytes)}; the limit is ${sizeText(max)}`);
}

function fileOf(path: string, body: Uint8Array): SkillFile {
  try {
    // A byte order mark is kept: the file is written as it is.
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
    return text.includes("\0") ? { path, body } : { path, body, text };
  } catch {
    return { path, body };
  }
}
