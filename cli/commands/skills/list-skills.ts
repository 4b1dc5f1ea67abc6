import { parseSkill } from "../../../shared/skills/frontmatter.ts";
import { columns, shorten } from "../../app/columns.ts";
import type { Action } from "../../app/program.ts";
import { shippedSkills } from "./shipped-skills.ts";
import { agentOf, folderOf } from "./skills-commands.ts";

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
