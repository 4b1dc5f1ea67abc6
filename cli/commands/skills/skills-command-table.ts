import type { CommandEntry } from "../../app/program.ts";

const agentOption = ["--agent <id>", "agent that has the skills (default: main)"] as const;

export const skillsCommand: CommandEntry = {
  name: "skills",
  summary: "install, list, check and remove the agent's skills",
  examples: ["skills list", "skills add github"],
  commands: [
    {
      name: "list",
      summary: "installed skills, and those included in gsv",
      options: [agentOption],
      examples: ["skills list"],
      load: async () => (await import("./skills-commands.ts")).listSkills,
    },
    {
      name: "status",
      summary: "usable skills and their machines, and what the other skills lack",
      options: [agentOption],
      examples: ["skills status"],
      load: async () => (await import("./skills-commands.ts")).skillsStatus,
    },
    {
      name: "update [name]",
      summary:
        "update a skill from its address, after showing the changes; without a name: query the machines' programs",
      options: [
        agentOption,
        ["--yes", "do not ask before it is written"],
        ["--allow-hidden", "also with characters that a reader cannot see"],
        ["--force", "also programs queried in the last five minutes"],
        ["--timeout <s>", "seconds in which a machine must answer (default 15, max 120)"],
      ],
      examples: ["skills update", "skills update pdf", "skills update --force"],
      load: async () => (await import("./skills-commands.ts")).updateSkills,
    },
    {
      name: "add <source>",
      summary:
        "install a skill: owner/repo[/path][@ref] on GitHub, a name from `gsv skills list`, a folder, a SKILL.md, or its https address",
      options: [
        agentOption,
        ["--name <name>", "name of its folder (default: the skill's own name)"],
        ["--yes", "do not ask before it is written"],
        ["--allow-hidden", "also with characters that a reader cannot see"],
      ],
      examples: [
        "skills add github",
        "skills add anthropics/skills/skills/pdf",
        "skills add ./my-skill",
        "skills add https://raw.githubusercontent.com/someone/skills/main/tea/SKILL.md",
      ],
      load: async () => (await import("./add-skill.ts")).addSkill,
    },
    {
      name: "remove <name>",
      summary: "remove an installed skill and all files of its folder, after asking",
      options: [agentOption, ["--yes", "do not ask"]],
      examples: ["skills remove github", "skills remove github --yes"],
      load: async () => (await import("./skills-commands.ts")).removeSkill,
    },
  ],
};
