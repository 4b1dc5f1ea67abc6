import { code } from "../../../shared/protocol/errors.ts";
import type { SkillEntry, SkillNode, SkillsResult } from "../../../shared/protocol/skill-schemas.ts";
import { parseSkill } from "../../../shared/skills/frontmatter.ts";
import { columns, moment, shorten } from "../../app/columns.ts";
import { Failure, usage } from "../../app/failure.ts";
import { type Invocation, text, wholeNumber } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { confirm } from "../../app/questions.ts";
import { deleteFiles, installedFiles } from "./installed-files.ts";
import { shippedSkills } from "./shipped-skills.ts";

/** The agent of a command. */
export function agentOf({ options }: Invocation): string {
  return text(options.agent) ?? "main";
}

/** The folder of a skill, which identifies it: `github` of `skills/github/SKILL.md`. */
export function folderOf(location: string): string {
  return location.split("/").at(-2) ?? location;
}

export const skillsStatus: Action = async (context, invocation) => {
  const gateway = await context.gateway();
  const status = await gateway.request("skills.status", { agentId: agentOf(invocation) });
  context.print(status, statusText(status));
};

/** With a name: updates that skill from its address. Without: queries the machines. */
export const updateSkills: Action = async (context, invocation) => {
  const [name] = invocation.args;
  if (name !== undefined) {
    // Shows differences, which needs a package that nothing else here needs.
    const { updateSkill } = await import("./update-skill.ts");
    return updateSkill(context, invocation, { agentId: agentOf(invocation), name });
  }
  const { force, timeout } = invocation.options;
  const seconds = wholeNumber("--timeout", timeout, 1, 120);
  const gateway = await context.gateway();
  const result = await gateway.request("skills.update", {
    agentId: agentOf(invocation),
    force: force === true,
    ...(seconds === undefined ? {} : { timeoutMs: seconds * 1000 }),
  });
  const { updatedNodeCount: asked, errors } = result;
  const lines = [
    asked === 0
      ? "no machine had to be queried"
      : `${asked} machine${asked === 1 ? " is" : "s are"} being queried; \`gsv skills status\` shows the answers`,
    ...errors.map((error) => `not queried: ${error}`),
  ];
  context.print(result, `${lines.join("\n")}\n\n${statusText(result)}`);
};

/** Deletes the agent's copy of a skill, SKILL.md first, after asking. */
export const removeSkill: Action = async (context, invocation) => {
  const [wanted = ""] = invocation.args;
  const agentId = agentOf(invocation);
  const gateway = await context.gateway();
  const { skills } = await gateway.request("skills.status", { agentId });
  const skill =
    skills.find(({ location }) => folderOf(location) === wanted) ??
    skills.find(({ name }) => name === wanted);
  if (!skill)
    throw new Failure(
      code.notFound,
      `the agent ${agentId} has no skill ${wanted}; \`gsv skills list\` shows its skills`,
    );
  const name = folderOf(skill.location);
  if (!skill.location.startsWith("agents/"))
    throw new Failure(
      code.notFound,
      `${name} is a skill of all agents and cannot be removed here; \`gsv config set skills.entries.${name}.enabled false\` disables it`,
    );
  const files = await installedFiles(gateway, agentId, name);
  if (invocation.options.yes !== true) {
    const what = `the skill ${name} of the agent ${agentId}`;
    if (context.terminal.stdin.isTTY !== true)
      throw usage(`no terminal to ask for confirmation; pass --yes to remove ${what}`);
    if (!(await confirm(context.terminal, `Remove ${what} (${counted(files)})?`)))
      throw new Failure("cancelled", "nothing was removed");
  }
  const first = (path: string) => (path.endsWith("/SKILL.md") ? 0 : 1);
  const removed = await deleteFiles(
    gateway,
    agentId,
    files.sort((a, b) => first(a) - first(b)),
  );
  context.print(
    { agentId, name, removed },
    `removed ${name} from the agent ${agentId} (${counted(removed)})`,
  );
};

function counted(files: readonly string[]): string {
  return files.length === 1 ? "1 file" : `${files.length} files`;
}

function statusText({ agentId, skills, nodes }: SkillsResult): string {
  const usable = skills.filter(({ eligible }) => eligible).length;
  const rows = skills.map((skill) => [
    folderOf(skill.location),
    skill.eligible ? "yes" : "no",
    detailOf(skill),
  ]);
  return [
    `agent ${agentId}: ${usable} of ${skills.length} skills are usable`,
    ...(rows.length === 0 ? [] : [columns(["SKILL", "USABLE", "WHERE, OR WHAT IT LACKS"], rows)]),
    "",
    nodes.length === 0
      ? "no machine is connected"
      : columns(["MACHINE", "SYSTEM", "QUERIED", "PROGRAMS"], nodes.map(nodeRow)),
  ].join("\n");
}

function detailOf({ eligible, eligibleHosts, reasons, requirements, always }: SkillEntry): string {
  if (!eligible) return reasons.join("; ");
  if (always) return "always";
  return requirements === undefined || eligibleHosts.length === 0 ? "anywhere" : eligibleHosts.join(", ");
}

function nodeRow({ nodeId, hostOs, hostBins, hostBinStatusUpdatedAt, canProbeBins }: SkillNode): string[] {
  const asked = canProbeBins ? moment(hostBinStatusUpdatedAt) : "not supported";
  return [nodeId, hostOs ?? "-", asked, hostBins.join(", ") || "-"];
}

/** Max length of a description in the list, in characters. */
const maxDescription = 60;

export const listSkills: Action = async (context, invocation) => {
  const agentId = agentOf(invocation);
  const gateway = await context.gateway();
  const { skills } = await gateway.request("skills.status", { agentId });
  const installed = skills.map(({ name, description, location, eligible }) => {
    const source = location.startsWith("agents/") ? "agent" : "shared";
    return { name: folderOf(location), title: name, description, source, eligible };
  });
  const names = new Set(installed.map(({ name }) => name));
  const shipped = shippedSkills.map((skill) => ({
    name: skill.name,
    description: parseSkill(skill.text).description,
    installed: names.has(skill.name),
  }));
  const offered = shipped.filter((skill) => !skill.installed);
  const rows = installed.map((one) => [
    one.name,
    one.source === "agent" ? `agent ${agentId}` : "all agents",
    one.eligible ? "yes" : "no",
    shorten(one.description, maxDescription),
  ]);
  const text = [
    rows.length === 0 ? "no skill is installed" : columns(["SKILL", "OF", "USABLE", "DESCRIPTION"], rows),
    ...(offered.length === 0
      ? []
      : [
          "\nincluded in gsv; `gsv skills add NAME` installs one:",
          columns(
            ["SKILL", "DESCRIPTION"],
            offered.map(({ name, description }) => [name, shorten(description, maxDescription + 20)]),
          ),
        ]),
  ];
  context.print({ agentId, installed, shipped }, text.join("\n"));
};
