import { setTimeout as delay } from "node:timers/promises";
import { createGuardedFetch } from "../../../shared/http/guarded-fetch.ts";
import { code } from "../../../shared/protocol/errors.ts";
import type { SkillEntry } from "../../../shared/protocol/skill-schemas.ts";
import type { Context } from "../../app/context.ts";
import { usage } from "../../app/failure.ts";
import { type Invocation, text } from "../../app/options.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";
import { RequestError } from "../../gateway/request-error.ts";
import { deleteFiles, installedFiles } from "./installed-files.ts";
import { pinName, pinOf } from "./skill-pin.ts";
import { type Addition, preview, refuseHidden } from "./skill-preview.ts";
import { folderName, readSkill } from "./skill-source.ts";
import { agentOf, folderOf } from "./skills-commands.ts";
import { askToWrite, writeSkill } from "./write-skill.ts";

/** Number and interval (in ms) of the checks for the machines' answers. */
const checks = { max: 4, everyMs: 500 };

/** Installs a skill for one agent, after showing what would be written. */
export const addSkill = async (
  context: Context,
  invocation: Invocation,
  fetchGuarded = createGuardedFetch(),
): Promise<void> => {
  const [source = ""] = invocation.args;
  const agentId = agentOf(invocation);
  const skill = await readSkill(source, context.terminal.cwd, fetchGuarded);
  const chosen = text(invocation.options.name);
  const name = chosen === undefined ? skill.name : checkedName(chosen);
  if (name === "") throw usage("the skill has no name; pass one with --name");
  const gateway = await context.gateway();
  const stale = await staleFiles(gateway, { skill, agentId, name });
  context.note(preview({ skill, agentId, name, stale }));
  if (invocation.options.allowHidden !== true) refuseHidden(skill);
  if (invocation.options.yes !== true) await askToWrite(context, { agentId, name });

  const pin = pinOf(skill);
  await writeSkill(gateway, { agentId, name }, skill.files, pin);
  const removed = await deleteFiles(gateway, agentId, stale ?? []);
  const files = skill.files.map(({ path, body }) => ({ path, size: body.byteLength }));
  const status = await settledStatus(gateway, agentId, name);
  const replaced = stale !== undefined;
  const from = pin && { source: pin.source, commit: pin.commit, hash: pin.hash };
  const { proposal } = skill.document;
  const found = status ? { skill: status } : {};
  const result = { agentId, name, replaced, ...from, proposal, files, removed, ...found };
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
    const pinned = skill.source === undefined ? [] : [pinName];
    const kept = [...skill.files.map(({ path }) => path), ...pinned].map((path) => `skills/${name}/${path}`);
    const old = await installedFiles(gateway, agentId, name);
    return old.filter((path) => !kept.includes(path));
  } catch (error) {
    if (error instanceof RequestError && error.code === code.notFound) return undefined;
    throw error;
  }
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

/** Checks a folder name that the user chose. @throws Failure (usage) */
function checkedName(name: string): string {
  if (name !== "" && folderName(name) === name) return name;
  throw usage(
    `--name must have at most 64 characters of a-z, 0-9, _ and -, and begin with a letter or digit, not ${name || "empty"}`,
  );
}
