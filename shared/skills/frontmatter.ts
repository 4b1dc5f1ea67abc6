import { parseDocument } from "yaml";
import { isObject } from "../configuration/configuration-paths.ts";
import { head } from "../workspace/budget.ts";

/** Maximum length of frontmatter, in characters; longer frontmatter is a fault. */
const maxFrontmatter = 16_000;
const maxDescription = 200;

/** Metadata namespaces in order of preference: this project's, then those of compatible programs. */
const namespaces = ["gsv", "openclaw", "clawdbot"] as const;

/** Fields of agentskills.io that people read before they install a skill. */
export interface SkillProposal {
  /** Tools that the skill wants to use, as it writes them. */
  allowedTools?: string[];
  /** What it needs, in words. */
  compatibility?: string;
  license?: string;
}

/** A parsed `SKILL.md`. */
export interface SkillDocument {
  name?: string;
  /** From the frontmatter, else the first paragraph of the body, cut to 200 characters. */
  description: string;
  homepage?: string;
  always: boolean;
  /** Not validated: `eligibility.ts` does that. */
  requires: unknown;
  /** What the skill asks for or says of itself. The gateway does not act on it: a skill grants no right. */
  proposal: SkillProposal;
  body: string;
  /** The parse error of the frontmatter, if any; the other fields then come from the body only. */
  fault?: string;
}

/**
 * Reads a `SKILL.md`: YAML frontmatter between two lines `---`, then Markdown (docs/reference/protocol.md, "Skills").
 * Never throws.
 */
export function parseSkill(source: string): SkillDocument {
  const { frontmatter, body } = splitFrontmatter(source);
  let fields: Record<string, unknown> = {};
  let metadata: Record<string, unknown> = {};
  let fault: string | undefined;
  try {
    fields = readFields(frontmatter);
    metadata = readMetadata(fields.metadata);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    fault = `frontmatter: ${error.message}`;
  }
  const description = textField(fields.description) ?? firstParagraph(body);
  const always = fields.always ?? metadata.always;
  const skill: SkillDocument = {
    description,
    always: always === true,
    requires: requirements(metadata),
    proposal: proposalOf(fields),
    body,
  };
  const name = textField(fields.name);
  const homepage = textField(fields.homepage) ?? textField(metadata.homepage);
  return { ...skill, ...(name && { name }), ...(homepage && { homepage }), ...(fault && { fault }) };
}

function proposalOf(fields: Record<string, unknown>): SkillProposal {
  const tools = fields["allowed-tools"];
  // A space inside of parentheses belongs to the tool: `Bash(git status:*)`.
  const listed = Array.isArray(tools) ? tools : (textField(tools)?.match(/(?:\([^)]*\)|[^\s,(])+/g) ?? []);
  const allowedTools = listed.flatMap((tool) => textField(tool) ?? []);
  const compatibility = textField(fields.compatibility);
  const license = textField(fields.license);
  return {
    ...(allowedTools.length > 0 && { allowedTools }),
    ...(compatibility && { compatibility }),
    ...(license && { license }),
  };
}

function splitFrontmatter(source: string): { frontmatter: string; body: string } {
  const text = source.replace(/^\uFEFF/, "").replace(/\r\n?/g, "\n");
  const found = /^---[ \t]*\n(?:([\s\S]*?)\n)?---[ \t]*(?:\n|$)/.exec(text);
  return { frontmatter: found?.[1] ?? "", body: text.slice(found?.[0].length ?? 0).trim() };
}

function readFields(frontmatter: string): Record<string, unknown> {
  if (frontmatter.length > maxFrontmatter) throw new SyntaxError(`longer than ${maxFrontmatter} characters`);
  const value = parseYaml(frontmatter) ?? {};
  if (!isObject(value)) throw new SyntaxError('expected lines "key: value"');
  return value;
}

/** The metadata of the first namespace present. `metadata` may be a mapping, or a text with YAML or JSON. */
function readMetadata(metadata: unknown): Record<string, unknown> {
  const value = typeof metadata === "string" ? parseYaml(metadata) : (metadata ?? {});
  if (!isObject(value)) throw new SyntaxError("metadata: expected a mapping");
  const namespace = namespaces.find((name) => value[name] !== undefined && value[name] !== null);
  const chosen = namespace ? value[namespace] : {};
  if (!isObject(chosen)) throw new SyntaxError(`metadata.${namespace}: expected a mapping`);
  return chosen;
}

/**
 * The requirements including `os`, which skills for other programs declare next to `requires`, not inside it.
 */
function requirements(metadata: Record<string, unknown>): unknown {
  const { requires, os } = metadata;
  if (os === undefined) return requires;
  if (requires === undefined || requires === null) return { os };
  return isObject(requires) ? { os, ...requires } : requires;
}

function firstParagraph(body: string): string {
  for (const paragraph of body.split(/\n[ \t]*\n/)) {
    const lines = paragraph.split("\n").map((line) => line.trim());
    const text = lines
      .filter((line) => !/^#{1,6}(\s|$)/.test(line))
      .join(" ")
      .trim();
    if (text !== "") return head(text, maxDescription);
  }
  return "";
}

/** A field as text; an unquoted number or date is accepted. Undefined when empty or of another type. */
function textField(value: unknown): string | undefined {
  const text = typeof value === "number" ? String(value) : typeof value === "string" ? value.trim() : "";
  return text === "" ? undefined : text;
}

/** An unindented line `key: text` whose unquoted text contains another `: `, which is invalid YAML. */
const plainWithColon = /^([\w-]+):[ \t]+([^\s"'|>{[&*!#%@`].*:[ \t].*)$/gm;

/**
 * Parses YAML, which includes JSON; trailing commas are allowed. After a parse error it tries again with
 * unquoted texts such as `description: Use when: asked` quoted.
 * @throws SyntaxError that says what is wrong and where
 */
export function parseYaml(text: string): unknown {
  try {
    return readYaml(text);
  } catch (error) {
    const quoted = text.replace(plainWithColon, (_, key, value) => `${key}: ${JSON.stringify(value)}`);
    if (quoted === text) throw error;
    return readYaml(quoted);
  }
}

function readYaml(text: string): unknown {
  const document = parseDocument(text, { logLevel: "silent", uniqueKeys: false });
  const [fault] = document.errors;
  if (fault) throw new SyntaxError(fault.message.split(":\n")[0]);
  try {
    return document.toJS();
  } catch (error) {
    // An alias without an anchor, or aliases that expand excessively.
    throw new SyntaxError((error as Error).message);
  }
}
