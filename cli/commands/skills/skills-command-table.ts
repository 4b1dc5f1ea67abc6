import type { CommandEntry } from "../../app/program.ts";

const agentOption = ["--agent <id>", "agent whose skills they are (default: main)"] as const;

export const skillsCommand: CommandEntry = {
  name: "skills",
  summary: "what the agent knows how to do: install, list, check and remove skills",
  examples: ["skills list", "skills add github"],
  commands: [
    {
      name: "list",
      summary: "installed skills, and those that come with gsv",
      options: [agentOption],
      examples: ["skills list"],
      load: async () => (await import("./list-skills.ts")).listSkills,
    },
    {
      name: "status",
      summary: "which skills can be used now, on which machines, and what the others lack",
      options: [agentOption],
      examples: ["skills status"],
      load: async () => (await import("./skills-commands.ts")).skillsStatus,
    },
    {
      name: "update",
      summary: "ask the connected machines which programs they have, then show the status",
      options: [
        agentOption,
        ["--force", "also for programs that were asked for in the last five minutes"],
        ["--timeout <s>", "seconds that a machine has to answer (default 15, most 120)"],
      ],
      examples: ["skills update", "skills update --force"],
      load: async () => (await import("./skills-commands.ts")).updateSkills,
    },
    {
      name: "add <source>",
      summary: "install a skill: a name of `gsv skills list`, a folder, a SKILL.md, or its https address",
      options: [
        agentOption,
        ["--name <name>", "name of its folder (default: the skill's own name)"],
        ["--yes", "do not ask before it is written"],
      ],
      examples: [
        "skills add github",
        "skills add ./my-skill",
        "skills add https://raw.githubusercontent.com/someone/skills/main/tea/SKILL.md",
      ],
      load: async () => (await import("./add-skill.ts")).addSkill,
    },
    {
      name: "remove <name>",
      summary: "remove an installed skill, with all files of its folder, after asking",
      options: [agentOption, ["--yes", "do not ask"]],
      examples: ["skills remove github", "skills remove github --yes"],
      load: async () => (await import("./skills-commands.ts")).removeSkill,
    },
  ],
};
