import { readdir, readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import type { GuardedFetch } from "../../../shared/http/guarded-fetch.ts";
import { sizeText } from "../../../shared/runtime/size-text.ts";
import { parseSkill, type SkillDocument } from "../../../shared/skills/frontmatter.ts";
import { Failure } from "../../app/failure.ts";
import { shippedSkills } from "./shipped-skills.ts";

/** Limits of a skill: bytes of one file, number of files, and bytes of all files. */
const limits = { fileBytes: 256 * 1024, files: 50, bytes: 1024 * 1024 };

/** A file of a skill. `path` is relative to the skill's folder. */
export interface SkillFile {
  path: string;
  content: string;
}

/** A skill to install. `SKILL.md` is the last file, so that the skill is listed only when it is complete. */
export interface NewSkill {
  /** Default name of its folder; empty when unknown. */
  name: string;
  document: SkillDocument;
  files: SkillFile[];
  /** Skipped files of the folder, each with the reason. */
  left: string[];
}

/**
 * Reads a skill from the https address of a SKILL.md, from a folder, from a SKILL.md file, or by the name of a skill
 * included in gsv. Only public addresses are fetched.
 * @throws Failure when it cannot be read, is not text, is too large, or is not a skill
 */
export async function readSkill(source: string, cwd: string, fetchGuarded: GuardedFetch): Promise<NewSkill> {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(source)) return fromUrl(source, fetchGuarded);
  const shipped = shippedSkills.find(({ name }) => name === source);
  const path = resolve(cwd, source.replace(/^~(?=\/|$)/, homedir()));
  const found = await stat(path).catch(() => undefined);
  if (shipped && !found) return asSkill(source, [{ path: "SKILL.md", content: shipped.text }]);
  if (!found) {
    const names = shippedSkills.map(({ name }) => name).join(", ");
    throw new Failure(
      "ENOENT",
      `${source} is neither a file or folder nor a skill included in gsv (${names})`,
    );
  }
  if (found.isDirectory()) return fromFolder(path);
  const content = await readText(path, basename(path));
  return asSkill(basename(dirname(path)), [{ path: "SKILL.md", content }]);
}

async function fromUrl(url: string, fetchGuarded: GuardedFetch): Promise<NewSkill> {
  const fetched = await fetchGuarded({ url, maxBytes: limits.fileBytes });
  if (!fetched.ok) throw new Failure("fetch", `${url}: ${fetched.reason}`);
  const content = decode(fetched.body, url);
  if (/^\s*(<!doctype html|<html)/i.test(content))
    throw new Failure(
      "not a skill",
      `${url} is a web page; use the address of the plain SKILL.md ("Raw" on GitHub)`,
    );
  const segments = new URL(url).pathname.split("/").filter((segment) => segment !== "");
  const file = segments.pop() ?? "";
  const name = file.toLowerCase() === "skill.md" ? (segments.pop() ?? "") : file.replace(/\.md$/i, "");
  return asSkill(name, [{ path: "SKILL.md", content }]);
}

async function fromFolder(folder: string): Promise<NewSkill> {
  const left: string[] = [];
  const files: SkillFile[] = [];
  const entries = (await entriesUnder(folder, "")).sort((a, b) => (a.path < b.path ? -1 : 1));
  const last = entries.filter(({ path }) => path === "SKILL.md");
  if (last.length === 0) throw new Failure("not a skill", `${folder} has no SKILL.md`);
  for (const { path, isFile } of [...entries.filter((entry) => !last.includes(entry)), ...last]) {
    if (!isFile) left.push(`${path}: not a regular file`);
    else files.push({ path, content: await readText(join(folder, path), path) });
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
    .filter(({ name }) => !name.startsWith(".") && name !== "node_modules")
    .map(async (entry) => {
      const path = below + entry.name;
      if (entry.isDirectory()) return entriesUnder(folder, `${path}/`);
      return [{ path, isFile: entry.isFile() }];
    });
  return (await Promise.all(found)).flat();
}

function asSkill(fallback: string, files: SkillFile[], left: string[] = []): NewSkill {
  const document = parseSkill(files.find(({ path }) => path === "SKILL.md")?.content ?? "");
  if (document.fault !== undefined) throw new Failure("not a skill", `SKILL.md: ${document.fault}`);
  if (document.body === "" || document.description === "")
    throw new Failure("not a skill", "SKILL.md has no description or no instructions; add them");
  const bytes = files.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
  if (bytes > limits.bytes)
    throw new Failure(
      "too large",
      `the skill has ${sizeText(bytes)}; the limit is ${sizeText(limits.bytes)}`,
    );
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

async function readText(file: string, shown: string): Promise<string> {
  const { size } = await stat(file);
  if (size > limits.fileBytes)
    throw new Failure(
      "too large",
      `${shown} has ${sizeText(size)}; the limit for a file is ${sizeText(limits.fileBytes)}`,
    );
  return decode(await readFile(file), shown);
}

function decode(bytes: Uint8Array, shown: string): string {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (!text.includes("\0")) return text;
  } catch {
    // Not UTF-8.
  }
  throw new Failure("not a skill", `${shown} is not text; a skill consists of text files`);
}
