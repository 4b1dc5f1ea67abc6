import { setTimeout as delay } from "node:timers/promises";
import { createGuardedFetch } from "../../../shared/http/guarded-fetch.ts";
import { code } from "../../../shared/protocol/errors.ts";
import type { SkillEntry } from "../../../shared/protocol/results.ts";
import { pairs } from "../../app/columns.ts";
import type { Context } from "../../app/context.ts";
import { Failure, usage } from "../../app/failure.ts";
import { text } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { confirm } from "../../app/questions.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";
import { RequestError } from "../../gateway/request-error.ts";
import { deleteFiles, installedFiles } from "./installed-files.ts";
import { checkedName, type NewSkill, readSkill } from "./skill-source.ts";
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
