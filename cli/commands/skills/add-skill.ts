import { readdir, readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createGuardedFetch, type GuardedFetch } from "../../../shared/http/guarded-fetch.ts";
import { code } from "../../../shared/protocol/errors.ts";
import type { SkillEntry } from "../../../shared/protocol/results.ts";
import { sizeText } from "../../../shared/runtime/size-text.ts";
import { parseSkill, type SkillDocument } from "../../../shared/skills/frontmatter.ts";
import { pairs } from "../../app/columns.ts";
import type { Context } from "../../app/context.ts";
import { Failure, usage } from "../../app/failure.ts";
import { text } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { confirm } from "../../app/questions.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";
import { RequestError } from "../../gateway/request-error.ts";
import { deleteFiles, installedFiles } from "./installed-files.ts";
import { shippedSkills } from "./shipped-skills.ts";
import { agentOf, folderOf } from "./skills-commands.ts";

/** Number of lines shown of a SKILL.md without a terminal. A terminal shows all. */
const shownLines = 15;

/** An installation: a skill, an agent, and the skill's name there. */
interface Addition {
  skill: NewSkill;
  agentId: string;
  name: string;
  /** Files to delete: those of the replaced skill that the new one does not have. Absent when none is replaced. */
  stale?: string[];
}

/** Number and interval (in ms) of the checks for the machines' answers. */
const checks = { max: 4, everyMs: 500 };

/** Installs a skill for one agent, after showing what would be written. */
export const addSkill: Action = async (context, invocation) => {
  const [source = ""] = invocation.args;
  const agentId = agentOf(invocation);
  const skill = await readSkill(source, context.terminal.cwd, createGuardedFetch());
  const chosen = text(invocation.options.name);
  const name = chosen === undefined ? skill.name : checkedName(chosen);
  if (name === "") throw usage("the skill has no name; pass one with --name");
  const gateway = await context.gateway();
  const stale = await staleFiles(gateway, { skill, agentId, name });
  context.note(preview({ skill, agentId, name, stale }, context));
  if (invocation.options.yes !== true) await askFirst(context, name, agentId);

  for (const { path, content } of skill.files)
    await gateway.request("workspace.write", { path: `skills/${name}/${path}`, content, agentId });
  const removed = await deleteFiles(gateway, agentId, stale ?? []);
  const files = skill.files.map(({ path, content }) => ({ path, size: Buffer.byteLength(content) }));
  const status = await settledStatus(gateway, agentId, name);
  const replaced = stale !== undefined;
  const result = { agentId, name, replaced, files, removed, ...(status ? { skill: status } : {}) };
  context.print(result, `installed ${name} for the agent ${agentId}; ${usability(status)}`);
};

/** The value of `Addition.stale`. Empty for a skill of all agents, because its shared copy remains. */
async function staleFiles(
  gateway: Gateway,
  { skill, agentId, name }: Addition,
): Promise<string[] | undefined> {
  try {
    const { resolvedSource } = await gateway.request("workspace.read", {
      path: `skills/${name}/SKILL.md`,
      agentId,
    });
    if (resolvedSource === "global") return [];
    const kept = skill.files.map(({ path }) => `skills/${name}/${path}`);
    const old = await installedFiles(gateway, agentId, name);
    return old.filter((path) => !kept.includes(path));
  } catch (error) {
    if (error instanceof RequestError && error.code === code.notFound) return undefined;
    throw error;
  }
}

/** @throws Failure when the user refuses, or when there is no terminal */
async function askFirst({ terminal }: Context, name: string, agentId: string): Promise<void> {
  if (terminal.stdin.isTTY !== true)
    throw usage(`no terminal to ask for confirmation; pass --yes to install ${name}`);
  if (!(await confirm(terminal, `Write it for the agent ${agentId}?`)))
    throw new Failure("cancelled", "nothing was written");
}

/** Describes what would be written. A terminal gets the complete SKILL.md. */
function preview({ skill, agentId, name, stale }: Addition, { terminal }: Context): string {
  const { document, files, left } = skill;
  const text = files.find(({ path }) => path === "SKILL.md")?.content.trimEnd() ?? "";
  const others = files.map(({ path }) => path).filter((path) => path !== "SKILL.md");
  const lines = text.split(/\r\n?|\n/);
  const shown = terminal.stdin.isTTY === true ? lines : lines.slice(0, shownLines);
  const more = lines.length > shown.length ? [`… ${lines.length - shown.length} more lines`] : [];
  const sizes = files.map(({ path, content }) => `${path} (${Buffer.byteLength(content)} bytes)`);
  return [
    pairs([
      ["skill", `${document.name ?? name}${document.always ? " (always listed)" : ""}`],
      ["description", document.description],
      ["homepage", document.homepage],
      ["needs", document.requires === undefined ? "nothing" : JSON.stringify(document.requires)],
      ["written to", `agents/${agentId}/skills/${name}/${stale ? ", replacing the installed one" : ""}`],
      ["files", sizes.join(", ")],
      ["skipped", left.length === 0 ? undefined : left.join(", ")],
      ["deleted", stale?.join(", ") || undefined],
    ]),
    "",
    ...[...shown, ...more].map((line) => `  | ${line}`),
    "",
    ...(others.length > 0 ? [`Only SKILL.md is shown here, not ${others.join(", ")}.`] : []),
    "The agent follows a skill's instructions, also on your machines. Install only what you have read.",
  ].join("\n");
}

/** The skill's status, after the machines had time to report their programs. */
async function settledStatus(
  gateway: Gateway,
  agentId: string,
  name: string,
): Promise<SkillEntry | undefined> {
  for (let check = 1; ; check++) {
    const { skills, nodes } = await gateway.request("skills.status", { agentId });
    const skill = skills.find(({ location }) => folderOf(location) === name);
    const { bins, anyBins } = skill?.requirements ?? {};
    const isOpen = skill?.eligible === false && (bins ?? anyBins) !== undefined;
    if (!isOpen || check === checks.max || !nodes.some((node) => node.canProbeBins)) return skill;
    await delay(checks.everyMs);
  }
}

function usability(skill: SkillEntry | undefined): string {
  if (!skill) return "`gsv skills status` shows whether it is usable";
  if (!skill.eligible) return `it is not usable yet: ${skill.reasons.join("; ")}`;
  const where =
    skill.requirements && skill.eligibleHosts.length > 0 ? ` on ${skill.eligibleHosts.join(", ")}` : "";
  return `it is usable${where}; the agent sees it within half a minute`;
}

/** Limits of a skill: bytes of one file, number of files, and bytes of all files. */
const limits = { fileBytes: 256 * 1024, files: 50, bytes: 1024 * 1024 };

/** A file of a skill. `path` is relative to the skill's folder. */
interface SkillFile {
  path: string;
  content: string;
}

/** A skill to install. `SKILL.md` is the last file, so that the skill is listed only when it is complete. */
interface NewSkill {
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

/** Checks a folder name that the user chose. @throws Failure (usage) */
function checkedName(name: string): string {
  if (name !== "" && folderName(name) === name) return name;
  throw usage(
    `--name must have at most 64 characters of a-z, 0-9, _ and -, and begin with a letter or digit, not ${name || "empty"}`,
  );
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
