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
import { checkedName, type NewSkill, readSkill } from "./skill-source.ts";
import { agentOf, folderOf } from "./skills-commands.ts";

/** Lines of a skill's text that are shown before it is written. */
const shownLines = 15;

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
  const replaced = await exists(gateway, agentId, name);
  context.note(preview(skill, name, agentId, replaced));
  if (invocation.options.yes !== true) await askFirst(context, name, agentId);

  for (const { path, content } of skill.files)
    await gateway.request("workspace.write", { path: `skills/${name}/${path}`, content, agentId });
  const files = skill.files.map(({ path, content }) => ({ path, size: Buffer.byteLength(content) }));
  const status = await settledStatus(gateway, agentId, name);
  const result = { agentId, name, replaced, files, ...(status ? { skill: status } : {}) };
  context.print(result, `${name} is installed for the agent ${agentId}; ${usability(status)}`);
};

async function exists(gateway: Gateway, agentId: string, name: string): Promise<boolean> {
  try {
    await gateway.request("workspace.read", { path: `skills/${name}/SKILL.md`, agentId });
    return true;
  } catch (error) {
    if (error instanceof RequestError && error.code === code.notFound) return false;
    throw error;
  }
}

/** @throws Failure when the answer is no, or nobody can be asked */
async function askFirst({ terminal }: Context, name: string, agentId: string): Promise<void> {
  if (terminal.stdin.isTTY !== true) throw usage(`--yes is needed to install ${name} without asking`);
  if (!(await confirm(terminal, `Write it for the agent ${agentId}?`)))
    throw new Failure("cancelled", "nothing was written");
}

/** What would be written, for the user to judge. */
function preview(
  { document, files, left }: NewSkill,
  name: string,
  agentId: string,
  replaced: boolean,
): string {
  const lines = document.body.split("\n");
  const more = lines.length > shownLines ? [`… ${lines.length - shownLines} lines more`] : [];
  const sizes = files.map(({ path, content }) => `${path} (${Buffer.byteLength(content)} bytes)`);
  return [
    pairs([
      ["skill", `${document.name ?? name}${document.always ? " (always listed)" : ""}`],
      ["description", document.description],
      ["homepage", document.homepage],
      ["needs", document.requires === undefined ? "nothing" : JSON.stringify(document.requires)],
      [
        "written to",
        `agents/${agentId}/skills/${name}/${replaced ? ", in place of the one that is there" : ""}`,
      ],
      ["files", sizes.join(", ")],
      ["left out", left.length === 0 ? undefined : left.join(", ")],
    ]),
    "",
    ...[...lines.slice(0, shownLines), ...more].map((line) => `  | ${line}`),
    "",
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
