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

/** Lines of a SKILL.md that are shown where nobody can be asked; at a terminal all are. */
const shownLines = 15;

/** What is written where. */
interface Addition {
  skill: NewSkill;
  agentId: string;
  name: string;
  /** Files of the skill that it replaces and does not have itself, which are deleted; absent when it replaces none. */
  stale?: string[];
}

/** How often, and after how many milliseconds, the machines' answers are looked for. */
const looks = { times: 4, everyMs: 500 };

/** Installs a skill for one agent, after showing what would be written. */
export const addSkill: Action = async (context, invocation) => {
  const [source = ""] = invocation.args;
  const agentId = agentOf(invocation);
  const skill = await readSkill(source, context.terminal.cwd, createGuardedFetch());
  const chosen = text(invocation.options.name);
  const name = chosen === undefined ? skill.name : checkedName(chosen);
  if (name === "") throw usage("nothing names this skill; give it a name with --name");
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
  context.print(result, `${name} is installed for the agent ${agentId}; ${usability(status)}`);
};

/** The files that `Addition.stale` holds. Of a skill of all agents there are none: its copy stays. */
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

/** @throws Failure when the answer is no, or nobody can be asked */
async function askFirst({ terminal }: Context, name: string, agentId: string): Promise<void> {
  if (terminal.stdin.isTTY !== true) throw usage(`--yes is needed to install ${name} without asking`);
  if (!(await confirm(terminal, `Write it for the agent ${agentId}?`)))
    throw new Failure("cancelled", "nothing was written");
}

/** What would be written, for the user to judge: at a terminal with the whole SKILL.md. */
function preview({ skill, agentId, name, stale }: Addition, { terminal }: Context): string {
  const { document, files, left } = skill;
  const text = files.find(({ path }) => path === "SKILL.md")?.content.trimEnd() ?? "";
  const others = files.map(({ path }) => path).filter((path) => path !== "SKILL.md");
  const lines = text.split(/\r\n?|\n/);
  const shown = terminal.stdin.isTTY === true ? lines : lines.slice(0, shownLines);
  const more = lines.length > shown.length ? [`… ${lines.length - shown.length} lines more`] : [];
  const sizes = files.map(({ path, content }) => `${path} (${Buffer.byteLength(content)} bytes)`);
  return [
    pairs([
      ["skill", `${document.name ?? name}${document.always ? " (always listed)" : ""}`],
      ["description", document.description],
      ["homepage", document.homepage],
      ["needs", document.requires === undefined ? "nothing" : JSON.stringify(document.requires)],
      [
        "written to",
        `agents/${agentId}/skills/${name}/${stale ? ", in place of the one that is there" : ""}`,
      ],
      ["files", sizes.join(", ")],
      ["left out", left.length === 0 ? undefined : left.join(", ")],
      ["deleted", stale?.join(", ") || undefined],
    ]),
    "",
    ...[...shown, ...more].map((line) => `  | ${line}`),
    "",
    ...(others.length > 0 ? [`Only SKILL.md is shown here, not ${others.join(", ")}.`] : []),
    "The agent does what a skill says, also on your machines. Install only what you have read.",
  ].join("\n");
}

/** The skill's status, once the machines have had time to say which programs they have. */
async function settledStatus(
  gateway: Gateway,
  agentId: string,
  name: string,
): Promise<SkillEntry | undefined> {
  for (let look = 1; ; look++) {
    const { skills, nodes } = await gateway.request("skills.status", { agentId });
    const skill = skills.find(({ location }) => folderOf(location) === name);
    const { bins, anyBins } = skill?.requirements ?? {};
    const isOpen = skill?.eligible === false && (bins ?? anyBins) !== undefined;
    if (!isOpen || look === looks.times || !nodes.some((node) => node.canProbeBins)) return skill;
    await delay(looks.everyMs);
  }
}

function usability(skill: SkillEntry | undefined): string {
  if (!skill) return "`gsv skills status` shows whether it can be used";
  if (!skill.eligible) return `it cannot be used yet: ${skill.reasons.join("; ")}`;
  const where =
    skill.requirements && skill.eligibleHosts.length > 0 ? ` on ${skill.eligibleHosts.join(", ")}` : "";
  return `it can be used${where}; the agent knows of it after half a minute at most`;
}

/** Most bytes of one file, most files, and most bytes of all files of a skill. */
const limits = { fileBytes: 256 * 1024, files: 50, bytes: 1024 * 1024 };

/** A file of a skill. `path` is relative to the skill's folder. */
interface SkillFile {
  path: string;
  content: string;
}

/** A skill that is not installed yet. `SKILL.md` is the last file, so that a skill is listed only when it is complete. */
interface NewSkill {
  /** What its folder is called by default; empty when nothing names it. */
  name: string;
  document: SkillDocument;
  files: SkillFile[];
  /** Files of the folder that are left out, each with the reason. */
  left: string[];
}

/**
 * Reads a skill from an https address of a SKILL.md, from a folder, from a SKILL.md, or by the name of one that comes
 * with gsv. An address is fetched only when it is public.
 * @throws Failure when it cannot be read, is not text, is too large, or is no skill
 */
export async function readSkill(source: string, cwd: string, fetchGuarded: GuardedFetch): Promise<NewSkill> {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(source)) return fromUrl(source, fetchGuarded);
  const shipped = shippedSkills.find(({ name }) => name === source);
  const path = resolve(cwd, source.replace(/^~(?=\/|$)/, homedir()));
  const found = await stat(path).catch(() => undefined);
  if (shipped && !found) return asSkill(source, [{ path: "SKILL.md", content: shipped.text }]);
  if (!found) {
    const names = shippedSkills.map(({ name }) => name).join(", ");
    throw new Failure("ENOENT", `${source}: no such file or folder, and no skill of gsv (${names})`);
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
      `${url}: this is a web page; give the address of the plain SKILL.md ("Raw" on GitHub)`,
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
  if (last.length === 0) throw new Failure("not a skill", `${folder}: has no SKILL.md`);
  for (const { path, isFile } of [...entries.filter((entry) => !last.includes(entry)), ...last]) {
    if (!isFile) left.push(`${path}: not a file of its own`);
    else files.push({ path, content: await readText(join(folder, path), path) });
    if (files.length > limits.files)
      throw new Failure("too large", `${folder}: has more than ${limits.files} files`);
  }
  return asSkill(basename(folder), files, left);
}

/**
 * What is in a folder and in the folders below it, without hidden entries and installed packages. A link is listed
 * and never followed, so that nothing from outside the folder becomes part of the skill.
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
    throw new Failure(
      "not a skill",
      "SKILL.md: has no text that says what the skill is for and how it is done",
    );
  const bytes = files.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
  if (bytes > limits.bytes)
    throw new Failure(
      "too large",
      `the skill has ${sizeText(bytes)}; at most ${sizeText(limits.bytes)} are installed`,
    );
  return { name: folderName(document.name ?? "") || folderName(fallback), document, files, left };
}

/**
 * A name as a folder of skills has it: lower case, with `-` for what a folder's name does not hold. Empty when nothing
 * is left of it.
 */
export function folderName(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, "-")
    .replace(/^[-_]+|-+$/g, "")
    .slice(0, 64);
}

/** The folder's name that the user chose. @throws Failure (usage) */
function checkedName(name: string): string {
  if (name !== "" && folderName(name) === name) return name;
  throw usage(
    `--name must be of a-z, 0-9, _ and -, at most 64, and begin with a letter or digit, not ${name || "empty"}`,
  );
}

async function readText(file: string, shown: string): Promise<string> {
  const { size } = await stat(file);
  if (size > limits.fileBytes)
    throw new Failure(
      "too large",
      `${shown}: has ${sizeText(size)}; at most ${sizeText(limits.fileBytes)} a file are installed`,
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
  throw new Failure("not a skill", `${shown}: is not text; a skill is made of text files`);
}
