import { isObject, parsePath, valueAt } from "../configuration/configuration-paths.ts";
import { capabilities, type NodeRuntime } from "../protocol/schemas.ts";
import { isBinName } from "./bin-probes.ts";
import type { Skill } from "./skill-lister.ts";

/** A skill's requirements for one host (`config`: for the gateway's configuration). `any…`: at least one; the others: all. */
export interface SkillRequirements {
  bins?: string[];
  anyBins?: string[];
  /** Names of environment variables. */
  env?: string[];
  /** Paths into the configuration whose value must be truthy. */
  config?: string[];
  /** One of them; `macos` and `windows` mean `darwin` and `win32`. */
  os?: string[];
  /** One of them. */
  hostRoles?: string[];
  capabilities?: string[];
  anyCapabilities?: string[];
}

/** An entry of `skills.entries` in the configuration. */
export interface SkillEntry {
  /** False hides the skill. */
  enabled?: boolean;
  always?: boolean;
  /** Each list replaces the skill's own list of the same name. */
  requires?: unknown;
}

/** The fields of a connected node that skills use. */
export interface SkillHost
  extends Pick<NodeRuntime, "hostRole" | "hostCapabilities" | "hostOs" | "hostEnv" | "hostBinStatus"> {
  nodeId: string;
}

export interface SkillSurroundings {
  entries: Record<string, SkillEntry>;
  hosts: SkillHost[];
  /** The gateway's configuration; masked secrets count as set. */
  config: unknown;
}

export interface SkillStatus extends Skill {
  eligible: boolean;
  /** Hosts that meet all requirements. */
  eligibleHosts: string[];
  /** Why it is not eligible, each a phrase. */
  reasons: string[];
  /** The effective requirements, if there are any and they are valid. */
  requirements?: SkillRequirements;
}

const requirementNames = [
  "bins",
  "anyBins",
  "env",
  "config",
  "os",
  "hostRoles",
  "capabilities",
  "anyCapabilities",
] as const satisfies (keyof SkillRequirements)[];

const known: Partial<Record<keyof SkillRequirements, readonly string[]>> = {
  hostRoles: ["execution", "specialized"],
  capabilities,
  anyCapabilities: capabilities,
};

/**
 * Decides which skills can be used now (docs/reference/protocol.md, "Skills"). Checks the configuration's entry, then whether
 * the requirements are valid, then the hosts, then the configuration's paths. `always` skips all checks but the first.
 */
export function evaluateSkills(skills: Skill[], surroundings: SkillSurroundings): SkillStatus[] {
  return skills.map((skill) => evaluateSkill(skill, surroundings));
}

function evaluateSkill(skill: Skill, { entries, hosts, config }: SkillSurroundings): SkillStatus {
  const entry = configuredEntry(skill, entries);
  const always = entry.always ?? skill.always;
  const status: SkillStatus = { ...skill, always, eligible: false, eligibleHosts: [], reasons: [] };
  if (entry.enabled === false) return { ...status, reasons: ["disabled by skills.entries"] };

  const { requirements, faults } = readRequirements(withOverrides(skill.requires, entry.requires));
  if (skill.fault) faults.unshift(skill.fault);
  if (faults.length > 0) return { ...status, eligible: always, reasons: always ? [] : faults };

  const lacking = hosts.map((host) => ({ nodeId: host.nodeId, lacks: lacksOf(host, requirements) }));
  const eligibleHosts = lacking.filter(({ lacks }) => lacks.length === 0).map(({ nodeId }) => nodeId);
  const reasons: string[] = [];
  const wanted = requirementNames.filter((name) => name !== "config" && requirements[name] !== undefined);
  if (wanted.length > 0 && eligibleHosts.length === 0) {
    if (hosts.length === 0) reasons.push(`no connected host (it needs ${wanted.join(", ")})`);
    for (const { nodeId, lacks } of lacking) reasons.push(`${nodeId}: ${lacks.join("; ")}`);
  }
  for (const path of requirements.config ?? []) {
    if (!isSet(config, path)) reasons.push(`config ${path} is not set`);
  }
  const eligible = always || reasons.length === 0;
  const asked = Object.keys(requirements).length > 0 ? { requirements } : {};
  return { ...status, eligible, eligibleHosts, reasons: eligible ? [] : reasons, ...asked };
}

/** The entry for a skill: by its name, by its folder, or by its location. */
function configuredEntry(skill: Skill, entries: Record<string, SkillEntry>): SkillEntry {
  const key = [skill.name, skill.directory, skill.location].find((name) => Object.hasOwn(entries, name));
  return (key !== undefined && entries[key]) || {};
}

/**
 * The programs that enabled skills require in `bins` and `anyBins`, sorted, without invalid names.
 * @param entries `skills.entries` of the configuration
 */
export function requiredBins(skills: readonly Skill[], entries: Record<string, SkillEntry>): string[] {
  const names = skills.flatMap((skill) => {
    const entry = configuredEntry(skill, entries);
    if (entry.enabled === false) return [];
    const { requirements } = readRequirements(withOverrides(skill.requires, entry.requires));
    return [...(requirements.bins ?? []), ...(requirements.anyBins ?? [])];
  });
  return [...new Set(names)].filter(isBinName).sort();
}

/** The skill's own requirements, with lists replaced by those of its configuration entry. */
function withOverrides(own: unknown, entry: unknown): unknown {
  if (!isObject(entry)) return entry ?? own;
  const overrides = Object.entries(entry).filter(([, list]) => list !== undefined && list !== null);
  return { ...(isObject(own) ? own : {}), ...Object.fromEntries(overrides) };
}

function readRequirements(written: unknown): { requirements: SkillRequirements; faults: string[] } {
  const requirements: SkillRequirements = {};
  if (written === undefined || written === null) return { requirements, faults: [] };
  if (!isObject(written)) return { requirements, faults: ["requires: expected a mapping"] };
  const faults: string[] = [];
  for (const name of requirementNames) {
    const list = written[name];
    if (list === undefined || list === null) continue;
    if (!isNameList(list)) faults.push(`requires.${name}: expected a list of names`);
    else {
      const strange = list.filter((value) => known[name] && !known[name].includes(value));
      if (strange.length > 0) faults.push(`requires.${name}: unknown ${strange.join(", ")}`);
      if (list.length > 0) requirements[name] = list;
    }
  }
  return { requirements, faults };
}

function isNameList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((name) => typeof name === "string" && name.trim() !== "");
}

/** The requirements that a host does not meet, each as a phrase. */
function lacksOf(host: SkillHost, asked: SkillRequirements): string[] {
  const lacks: string[] = [];
  const all = (what: string, wanted: string[] | undefined, has: (name: string) => boolean) => {
    const missing = wanted?.filter((name) => !has(name)) ?? [];
    if (missing.length > 0) lacks.push(`no ${what} ${missing.join(", ")}`);
  };
  const any = (what: string, wanted: string[] | undefined, has: (name: string) => boolean) => {
    if (wanted && !wanted.some(has)) lacks.push(`no ${what} ${wanted.join(" or ")}`);
  };
  const hasBin = (name: string) =>
    Object.hasOwn(host.hostBinStatus ?? {}, name) && host.hostBinStatus?.[name] === true;
  const hasCapability = (name: string) => host.hostCapabilities.includes(name);
  any("role", asked.hostRoles, (role) => host.hostRole === role);
  any("os", asked.os, (os) => host.hostOs !== undefined && osName(host.hostOs) === osName(os));
  all("capability", asked.capabilities, hasCapability);
  any("capability", asked.anyCapabilities, hasCapability);
  all("program", asked.bins, hasBin);
  any("program", asked.anyBins, hasBin);
  all("environment variable", asked.env, (name) => host.hostEnv?.includes(name) ?? false);
  return lacks;
}

/** Normalizes an OS: `macOS 15.1`, `Darwin` and `mac` are `darwin`. */
function osName(os: string): string {
  const name =
    os
      .trim()
      .toLowerCase()
      .split(/[^a-z0-9]/, 1)[0] ?? "";
  if (["mac", "macos", "osx"].includes(name)) return "darwin";
  return ["win", "windows"].includes(name) ? "win32" : name;
}

/** Whether a path has a truthy value; objects and lists count even when empty. */
function isSet(config: unknown, path: string): boolean {
  try {
    return Boolean(valueAt(config, parsePath(path)));
  } catch {
    return false; // Not a path, so nothing can be set there.
  }
}
