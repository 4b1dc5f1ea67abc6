import { hiddenCharacters, showHidden } from "../../../shared/runtime/hidden-characters.ts";
import { sizeText } from "../../../shared/runtime/size-text.ts";
import { pairs } from "../../app/columns.ts";
import { Failure } from "../../app/failure.ts";
import { contentHash, fileHashes } from "./skill-pin.ts";
import type { NewSkill, SkillFile } from "./skill-source.ts";
import type { SkillPlace } from "./write-skill.ts";

/** An installation: a skill, an agent, and the skill's name there. */
export interface Addition extends SkillPlace {
  skill: NewSkill;
  /** Files to delete: those of the replaced skill that the new one does not have. Absent when none is replaced. */
  stale?: string[];
}

/** Describes what would be written, with the text of every file. Hidden characters are shown as `⟨U+E0072⟩`. */
export function preview({ skill, agentId, name, stale }: Addition): string {
  const { document, files, left } = skill;
  const sizes = files.map(({ path, body }) => `${path} (${body.byteLength} bytes)`);
  const lines = [
    pairs([
      ["skill", `${document.name ?? name}${document.always ? " (always listed)" : ""}`],
      ["description", document.description],
      ["homepage", document.homepage],
      ["needs", document.requires === undefined ? "nothing" : JSON.stringify(document.requires)],
      ...originRows(skill),
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

/** Where a skill comes from, and what it says of itself. */
export function originRows({ document, files, source, commit }: NewSkill): [string, string | undefined][] {
  const { allowedTools, compatibility, license } = document.proposal;
  const tools = allowedTools && `${allowedTools.join(", ")} (proposed by the skill; it gives no right)`;
  return [
    ["license", license],
    ["works with", compatibility],
    ["tools", tools],
    ["source", source],
    ["commit", commit],
    ["sha256", contentHash(fileHashes(files))],
  ];
}

/** The text of a file. Only lines of its content begin with a bar. */
function textOf({ path, body, text }: SkillFile): string[] {
  if (text === undefined)
    return [pairs([["file", `${path}: not text, ${sizeText(body.byteLength)}; it is not shown`]]), ""];
  const lines = text.replace(/\n$/, "").split(/\r?\n/);
  return [pairs([["file", path]]), ...lines.map((line) => `  | ${line}`), ""];
}

/** @throws Failure when a file has hidden characters in its name or text */
export function refuseHidden({ files }: Pick<NewSkill, "files">): void {
  const found = files.flatMap(({ path, text = "" }) => {
    // A byte order mark at the start of a file is no text.
    const marks = hiddenCharacters(path + text.replace(/^\uFEFF/, ""));
    return marks.length === 0 ? [] : [`${showHidden(path)} (${marks.length}, first ${marks[0]})`];
  });
  if (found.length === 0) return;
  throw new Failure(
    "hidden characters",
    `characters that you cannot see are in ${found.join(", ")}; the agent would read them. Check each ⟨U+…⟩ above, then pass --allow-hidden to install the skill anyway`,
  );
}
