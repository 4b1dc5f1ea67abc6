import type { ListedSkill } from "../../../shared/skills/skill-lister.ts";
import { type Budget, truncationMarker } from "../../../shared/workspace/budget.ts";
import { skillsText } from "./prompt-texts.ts";

/**
 * The section "Skills (Mandatory Scan)", empty without skills. What does not fit the budget is left out skill by skill,
 * and the marker says how many.
 */
export function skillsSection(skills: ListedSkill[], budget: Budget): string {
  if (skills.length === 0) return "";
  const entries: string[] = [];
  let room = budget.room();
  for (const skill of skills) {
    const entry = skillEntry(skill);
    room -= entry.length + 1;
    if (room < 0) break;
    entries.push(entry);
  }
  const left = skills.length - entries.length;
  const more = left === 0 ? "" : `\n${truncationMarker} ${left} more: list the folder skills/`;
  const list = entries.length === 0 ? "" : `${budget.take(entries.join("\n"))}\n`;
  return `## Skills (Mandatory Scan)\n\n${skillsText}\n\n<available_skills>\n${list}</available_skills>${more}`;
}

function skillEntry(skill: ListedSkill): string {
  return [
    skill.always ? '<skill always="true">' : "<skill>",
    `<name>${escapeXml(skill.name)}</name>`,
    `<description>${escapeXml(skill.description)}</description>`,
    `<location>${escapeXml(skill.location)}</location>`,
    `<read_path>${escapeXml(skill.readPath)}</read_path>`,
    "</skill>",
  ].join("\n");
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
