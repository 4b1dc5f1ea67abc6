import { describe, expect, it } from "vitest";
import {
  evaluateSkills,
  requiredBins,
  type SkillEntry,
  type SkillHost,
  type SkillSurroundings,
} from "../../shared/skills/eligibility.ts";
import type { Skill } from "../../shared/skills/skill-lister.ts";

const skill: Skill = {
  name: "GitHub",
  directory: "github",
  description: "d",
  location: "skills/github/SKILL.md",
  readPath: "skills/github/SKILL.md",
  always: false,
  requires: undefined,
};
const laptop: SkillHost = {
  nodeId: "laptop",
  hostRole: "execution",
  hostCapabilities: ["filesystem.read", "shell.exec"],
  hostOs: "macOS 15.1",
  hostEnv: ["HOME", "GH_TOKEN"],
  hostBinStatus: { gh: true, jq: false },
};
const server: SkillHost = {
  nodeId: "server",
  hostRole: "specialized",
  hostCapabilities: ["text.search"],
  hostOs: "linux",
  hostBinStatus: { jq: true },
};
const evaluate = (changes: Partial<Skill>, surroundings: Partial<SkillSurroundings> = {}) =>
  evaluateSkills([{ ...skill, ...changes }], {
    entries: {},
    hosts: [laptop, server],
    config: {},
    ...surroundings,
  })[0]!;
const hostsFor = (requires: unknown) => evaluate({ requires }).eligibleHosts;

describe("whether a skill can be used", () => {
  it("is true without requirements, with or without hosts", () => {
    expect(evaluate({})).toMatchObject({ eligible: true, reasons: [], eligibleHosts: ["laptop", "server"] });
    expect(evaluate({}, { hosts: [] })).toMatchObject({ eligible: true, eligibleHosts: [] });
    expect(evaluate({ requires: { bins: [], anyBins: [] } }, { hosts: [] }).eligible).toBe(true);
  });

  it("depends on each requirement by its own rule", () => {
    expect(hostsFor({ bins: ["gh"] })).toEqual(["laptop"]);
    expect(hostsFor({ bins: ["gh", "jq"] })).toEqual([]);
    expect(hostsFor({ anyBins: ["gh", "jq"] })).toEqual(["laptop", "server"]);
    expect(hostsFor({ anyBins: ["git"] })).toEqual([]);
    expect(hostsFor({ env: ["GH_TOKEN", "HOME"] })).toEqual(["laptop"]);
    expect(hostsFor({ env: ["GH_TOKEN", "OTHER"] })).toEqual([]);
    expect(hostsFor({ os: ["darwin"] })).toEqual(["laptop"]);
    expect(hostsFor({ os: ["win32", "Linux"] })).toEqual(["server"]);
    expect(hostsFor({ hostRoles: ["specialized"] })).toEqual(["server"]);
    expect(hostsFor({ capabilities: ["filesystem.read", "shell.exec"] })).toEqual(["laptop"]);
    expect(hostsFor({ capabilities: ["shell.exec", "text.search"] })).toEqual([]);
    expect(hostsFor({ anyCapabilities: ["shell.exec", "text.search"] })).toEqual(["laptop", "server"]);
  });

  it("asks that one host has everything, not that all together have", () => {
    const status = evaluate({ requires: { bins: ["gh"], os: ["linux"] } });
    expect(status).toMatchObject({ eligible: false, eligibleHosts: [] });
    expect(status.reasons).toEqual(["laptop: no os linux", "server: no program gh"]);
    expect(status.requirements).toEqual({ bins: ["gh"], os: ["linux"] });
  });

  it("is false without a host where one is needed, and says so", () => {
    const status = evaluate({ requires: { bins: ["gh"], env: ["X"] } }, { hosts: [] });
    expect(status).toMatchObject({ eligible: false, reasons: ["no connected host (it needs bins, env)"] });
  });

  it("does not take a name from an object's prototype for a program", () => {
    expect(hostsFor({ bins: ["constructor"] })).toEqual([]);
  });

  it("asks the configuration for paths that are set", () => {
    const config = { channels: { slack: { botToken: "***", off: false } }, apiKeys: { "a.b": "***" } };
    const reasons = (...paths: string[]) =>
      evaluate({ requires: { config: paths } }, { config, hosts: [] }).reasons;
    expect(reasons("channels.slack.botToken", 'apiKeys["a.b"]')).toEqual([]);
    expect(reasons("channels.slack.off", "channels.nope.deep", "toString", "not a [path")).toEqual([
      "config channels.slack.off is not set",
      "config channels.nope.deep is not set",
      "config toString is not set",
      "config not a [path is not set",
    ]);
  });

  it("takes a configured object or list for set, and a text, number or flag as JavaScript does", () => {
    const config = { a: {}, b: [], c: "x", d: 1, e: true, zero: 0, empty: "", no: false, nothing: null };
    const reasons = evaluate({ requires: { config: Object.keys(config) } }, { config, hosts: [] }).reasons;
    expect(reasons).toEqual(["zero", "empty", "no", "nothing"].map((path) => `config ${path} is not set`));
  });

  it("names every requirement that is not valid, before it looks at hosts", () => {
    const requires = { bins: "gh", env: [""], hostRoles: ["butler"], capabilities: ["fly"], os: [3] };
    const status = evaluate({ requires }, { hosts: [] });
    expect(status.eligible).toBe(false);
    expect(status.reasons).toEqual([
      "requires.bins: expected a list of names",
      "requires.env: expected a list of names",
      "requires.os: expected a list of names",
      "requires.hostRoles: unknown butler",
      "requires.capabilities: unknown fly",
    ]);
    expect(evaluate({ requires: ["gh"] }).reasons).toEqual(["requires: expected a mapping"]);
    expect(evaluate({ fault: "frontmatter: broken" }).reasons).toEqual(["frontmatter: broken"]);
  });

  it("is always true for a skill that says always, whatever it requires", () => {
    const requires = { bins: ["nothing"], config: ["nothing"] };
    expect(evaluate({ always: true, requires })).toMatchObject({ eligible: true, always: true, reasons: [] });
    expect(evaluate({ always: true, requires: { bins: 5 } }).eligible).toBe(true);
  });
});

describe("the programs that skills ask for", () => {
  it("are those of bins and anyBins of every enabled skill, as the configuration overrides them", () => {
    const needs = (directory: string, requires: unknown, changes: Partial<Skill> = {}) => ({
      ...skill,
      name: directory,
      directory,
      requires,
      ...changes,
    });
    const skills = [
      needs("a", { bins: ["gh", "jq"], env: ["TOKEN"] }),
      needs("b", { anyBins: ["wget", "curl", "gh"] }, { always: true }),
      needs("off", { bins: ["never"] }),
      needs("changed", { bins: ["old"], anyBins: ["kept"] }),
      needs("strange", { bins: ["a b", "$(id)", "../x", "__proto__", "x".repeat(101)] }),
      needs("broken", { bins: "gh2" }),
    ];
    const entries = { off: { enabled: false }, changed: { requires: { bins: ["new"] } } };
    expect(requiredBins(skills, entries)).toEqual(["curl", "gh", "jq", "kept", "new", "wget"]);
  });
});

describe("an entry of the configuration", () => {
  const withEntries = (entries: Record<string, SkillEntry>, changes: Partial<Skill> = {}) =>
    evaluate(changes, { entries });

  it("is found by the skill's name, its folder, or its location, in this order", () => {
    for (const key of ["GitHub", "github", "skills/github/SKILL.md"]) {
      expect(withEntries({ [key]: { enabled: false } }).eligible, key).toBe(false);
    }
    expect(withEntries({ github: { enabled: false }, GitHub: { enabled: true } }).eligible).toBe(true);
    expect(withEntries({ another: { enabled: false } }).eligible).toBe(true);
  });

  it("that disables a skill wins over always", () => {
    const status = withEntries({ GitHub: { enabled: false } }, { always: true });
    expect(status).toMatchObject({ eligible: false, reasons: ["disabled by skills.entries"] });
  });

  it("overrides always and the requirements", () => {
    const requires = { bins: ["nothing"] };
    expect(withEntries({ github: { always: true } }, { requires }).eligible).toBe(true);
    expect(withEntries({ github: { always: false } }, { requires, always: true }).eligible).toBe(false);
    expect(withEntries({ github: { requires: { bins: ["jq"] } } }, { requires })).toMatchObject({
      eligible: true,
      eligibleHosts: ["server"],
      requirements: { bins: ["jq"] },
    });
  });

  it("overrides the requirements list by list", () => {
    const requires = { bins: ["nothing"], os: ["linux"] };
    expect(withEntries({ github: { requires: { bins: ["jq"] } } }, { requires })).toMatchObject({
      eligibleHosts: ["server"],
      requirements: { bins: ["jq"], os: ["linux"] },
    });
    expect(withEntries({ github: { requires: { bins: ["gh"] } } }, { requires }).reasons).toEqual([
      "laptop: no os linux",
      "server: no program gh",
    ]);
    expect(withEntries({ github: { requires: { bins: [] } } }, { requires })).toMatchObject({
      eligibleHosts: ["server"],
      requirements: { os: ["linux"] },
    });
    expect(withEntries({ github: { requires: { bins: ["jq"] } } }, { requires: "bad" }).eligible).toBe(true);
  });

  it("is not looked for on an object's prototype", () => {
    expect(withEntries({}, { name: "constructor" }).eligible).toBe(true);
  });
});
