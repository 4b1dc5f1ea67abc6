/** The identity of an agent from its IDENTITY.md. Fields that are not filled in are absent. */
export interface AgentIdentity {
  name?: string;
  creature?: string;
  vibe?: string;
  emoji?: string;
  /** URL or path of a picture. Not in prompts. */
  avatar?: string;
}

type Field = keyof AgentIdentity;

const fields: readonly Field[] = ["name", "creature", "vibe", "emoji", "avatar"];

/** Maximum length of a field's value, in characters. */
const maxValue = 200;

/** Names of fields that other templates use; the field's own name takes precedence. */
const alsoCalled = new Map<string, Field>([
  ["nature", "creature"],
  ["class", "creature"],
  ["class designation", "creature"],
  ["manner", "vibe"],
]);

/** A line `- **Name:** value`, with or without bold, italics or indentation, in any case. */
const bulletPattern = /^\s*[-*+]\s*[*_]{0,2}((?!\s)[^:*_]{1,40})[*_]{0,2}\s*:[*_]{0,2}(.*)$/;

/** A template's hint that is not filled in: `_(a fox, a ghost)_` or `(a fox, a ghost)`. */
const placeholderPattern = /^([*_]{0,2})\(.*\)\1$/;

/** A line all in italics: a template's explanation. */
const italicsPattern = /^(_[^_].*[^_]_|\*[^*].*[^*]\*)$/;

interface Bullet {
  /** As written, in lower case. */
  name: string;
  /** Trimmed; empty for a placeholder. */
  value: string;
  isPlaceholder: boolean;
}

/** The fields of an IDENTITY.md (docs/memory.md). The last value of a repeated field counts. */
export function parseIdentity(text: string): AgentIdentity {
  const identity: AgentIdentity = {};
  const called: AgentIdentity = {};
  for (const line of text.split("\n")) {
    const bullet = readBullet(line);
    if (!bullet || bullet.value === "") continue;
    const value = bullet.value.slice(0, maxValue).toWellFormed();
    const own = fields.find((field) => field === bullet.name);
    const other = alsoCalled.get(bullet.name);
    if (own) identity[own] = value;
    else if (other) called[other] = value;
  }
  return { ...called, ...identity };
}

/**
 * The section of prompts from an IDENTITY.md: one line with the fields, then the other text, without hints of a template. A
 * file without fields is used unchanged.
 * @returns empty when nothing is filled in
 */
export function identitySection(text: string): string {
  const lines = text.split("\n");
  const hasFields = lines.some((line) => isField(readBullet(line)));
  const identity = parseIdentity(text);
  const shown = fields.filter((field) => field !== "avatar" && identity[field] !== undefined);
  const line = shown.map((field) => `${field}=${identity[field]}`).join(", ");
  const prose = lines.filter((one) => !isHint(one) && !(hasFields && isTemplate(one))).join("\n");
  const hasProse = prose.split("\n").some((one) => one.trim() !== "" && !one.trim().startsWith("#"));
  return [line, hasProse ? prose.replace(/\n{3,}/g, "\n\n").trim() : ""].filter(Boolean).join("\n\n");
}

function readBullet(line: string): Bullet | undefined {
  const [, name, said = ""] = bulletPattern.exec(line.trimEnd()) ?? [];
  if (name === undefined) return undefined;
  const value = said.trim();
  const isPlaceholder = placeholderPattern.test(value);
  return { name: name.trim().toLowerCase(), value: isPlaceholder ? "" : value, isPlaceholder };
}

function isField(bullet: Bullet | undefined): boolean {
  return (
    bullet !== undefined && (fields.some((field) => field === bullet.name) || alsoCalled.has(bullet.name))
  );
}

/** Whether a line is a placeholder, or a field whose value is one. */
function isHint(line: string): boolean {
  return placeholderPattern.test(line.trim()) || readBullet(line)?.isPlaceholder === true;
}

/** Whether a line of a file with fields is a field, or explains one. */
function isTemplate(line: string): boolean {
  return isField(readBullet(line)) || italicsPattern.test(line.trim());
}
