import { hiddenCharacters, showHidden } from "../../../shared/runtime/hidden-characters.ts";
import { pairs } from "../../app/columns.ts";
import { Failure } from "../../app/failure.ts";
import type { NewSkill, SkillFile } from "./skill-source.ts";

/** An installation: a skill, an agent, and the skill's name there. */
export interface Addition {
  skill: NewSkill;
  agentId: string;
  name: string;
  /** Files to delete: those of the replaced skill that the new one does not have. Absent when none is replaced. */
  stale?: string[];
}

/** Describes what would be written, with the text of every file. Hidden characters are shown as `⟨U+E0072⟩`. */
export function preview({ skill, agentId, name, stale }: Addition): string {
  const { document, files, left } = skill;
  const sizes = files.map(({ path, content }) => `${path} (${Buffer.byteLength(content)} bytes)`);
  const lines = [
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
    // SKILL.md is written last, and shown first.
    ...files.slice(-1).flatMap(textOf),
    ...files.slice(0, -1).flatMap(textOf),
    "The agent follows a skill's instructions, also on your machines. Install only what you have read.",
  ];
  return showHidden(lines.join("\n"));
}

/** The text of a file. Only lines of its content begin with a bar. */
function textOf({ path, content }: SkillFile): string[] {
  const lines = content.replace(/\n$/, "").split(/\r?\n/);
  return [pairs([["file", path]]), ...lines.map((line) => `  | ${line}`), ""];
}

/** @throws Failure when a file has hidden characters in its name or text */
export function refuseHidden({ files }: NewSkill): void {
  const found = files.flatMap(({ path, content }) => {
    const marks = hiddenCharacters(path + content);
    return marks.length === 0 ? [] : [`${showHidden(path)} (${marks.length}, first ${marks[0]})`];
  });
  if (found.length === 0) return;
  throw new Failure(
    "hidden characters",
    `characters that you cannot see are in ${found.join(", ")}; the agent would read them. Check each ⟨U+…⟩ above, then pass --allow-hidden to install the skill anyway`,
  );
}
