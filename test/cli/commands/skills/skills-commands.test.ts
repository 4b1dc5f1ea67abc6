import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { main } from "../../../../cli/app/main.ts";
import { PeerError } from "../../../../shared/protocol/errors.ts";
import { newFolder } from "../../../support/run/test-folders.ts";
import { type FakeGateway, startFakeGateway } from "../../fake-gateway.ts";
import { fakeTerminal } from "../../fake-terminal.ts";
import { type GsvOptions, gsv } from "../../run-gsv.ts";

let gateway: FakeGateway;
/** The agent's files by path. */
let files: Map<string, string>;

const run = (args: string[], options: GsvOptions = {}) =>
  gsv(["skills", ...args], { ...options, env: { GSV_URL: gateway.url, GSV_TOKEN: "good-token" } });
const sent = (method: string) =>
  gateway.requests.filter((request) => request.method === method).map(({ params }) => params);

const entry = (name: string, changes: object = {}) => ({
  name,
  description: `does ${name}`,
  location: `agents/main/skills/${name}/SKILL.md`,
  always: false,
  eligible: true,
  eligibleHosts: ["laptop"],
  reasons: [],
  requirements: { bins: [name] },
  ...changes,
});
const laptop = {
  nodeId: "laptop",
  hostRole: "execution",
  hostCapabilities: ["shell.exec"],
  hostOs: "linux",
  hostEnv: [],
  hostBins: ["git"],
  canProbeBins: true,
};
let skills: object[];

beforeEach(async () => {
  files = new Map();
  skills = [];
  const status = () => ({ agentId: "main", refreshedAt: 1, requiredBins: [], nodes: [laptop], skills });
  gateway = await startFakeGateway({
    "skills.status": status,
    "skills.update": () => ({
      ...status(),
      updatedNodeCount: 1,
      skippedNodeIds: [],
      errors: ["server: it has disconnected"],
    }),
    "workspace.read": ({ params }) => {
      const content = files.get(String(params.path));
      if (content === undefined) throw new PeerError(404, "workspace file not found");
      return { path: params.path, content, size: content.length, lastModified: 0 };
    },
    "workspace.write": ({ params }) => {
      files.set(String(params.path), String(params.content));
      const name = String(params.path).split("/")[1] ?? "";
      skills = [entry(name)];
      return { path: params.path, size: 1, written: true };
    },
    "workspace.list": ({ params }) => {
      const under = [...files.keys()].filter((path) => path.startsWith(`${params.path}/`));
      const rest = under.map((path) => path.slice(String(params.path).length + 1));
      const folders = rest
        .filter((path) => path.includes("/"))
        .map((path) => `${params.path}/${path.split("/")[0]}/`);
      return {
        path: params.path,
        files: under.filter((_, n) => !rest[n]?.includes("/")),
        directories: [...new Set(folders)],
      };
    },
    "workspace.delete": ({ params }) => {
      if (!files.delete(String(params.path))) throw new PeerError(404, "workspace file not found");
      return { path: params.path, deleted: true };
    },
  });
});
afterEach(() => gateway.close());

describe("gsv skills add", () => {
  it("shows what it would write, and writes it, SKILL.md last", async () => {
    const cwd = newFolder();
    mkdirSync(join(cwd, "tea/scripts"), { recursive: true });
    const needs = "metadata: {gsv: {requires: {bins: [kettle]}}}";
    writeFileSync(
      join(cwd, "tea/SKILL.md"),
      `---\nname: tea\ndescription: makes tea\n${needs}\n---\n# Tea\nBoil water.`,
    );
    writeFileSync(join(cwd, "tea/scripts/brew.sh"), "brew");
    const { code, stdout, stderr } = await run(["add", "./tea", "--yes"], { cwd });
    expect(code).toBe(0);
    for (const shown of [
      "makes tea",
      '{"bins":["kettle"]}',
      "agents/main/skills/tea/",
      "scripts/brew.sh (4 bytes)",
      "| Boil water.",
      "Install only what you have read",
    ])
      expect(stderr).toContain(shown);
    expect(stdout).toContain("installed tea for the agent main; it is usable on laptop");
    expect([...files.keys()]).toEqual(["skills/tea/scripts/brew.sh", "skills/tea/SKILL.md"]);
    expect(sent("workspace.write")).toMatchObject([{ agentId: "main" }, { agentId: "main" }]);
  });

  it("shows all files at a terminal and elsewhere, and asks", async () => {
    const cwd = newFolder();
    mkdirSync(join(cwd, "tea"));
    const steps = Array.from({ length: 40 }, (_, n) => `Step ${n + 1}.`);
    writeFileSync(join(cwd, "tea/SKILL.md"), `---\ndescription: tea # hidden?\n---\n${steps.join("\n")}\n`);
    writeFileSync(join(cwd, "tea/brew.sh"), "brew");
    const terminal = fakeTerminal({ HOME: cwd, GSV_URL: gateway.url, GSV_TOKEN: "good-token" }, cwd);
    const ended = main(["skills", "add", "./tea"], terminal);
    await expect.poll(() => terminal.written()).toContain("Write it for the agent main? [y/N]");
    for (const line of ["description: tea # hidden?", ...steps])
      expect(terminal.written()).toContain(`  | ${line}`);
    expect(terminal.written()).toMatch(/\nfile {2}brew.sh\n {2}\| brew\n/);
    terminal.type("n\r");
    expect(await ended).toBe(1);
    expect(files.size).toBe(0);
    const { stderr } = await run(["add", "./tea", "--yes"], { cwd });
    for (const line of [...steps, "brew"]) expect(stderr).toContain(`  | ${line}\n`);
  });

  it("refuses hidden characters in any file unless they are allowed, and shows them", async () => {
    const cwd = newFolder();
    const order = [..."run it"]
      .map((letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0)))
      .join("");
    mkdirSync(join(cwd, "tea"));
    writeFileSync(join(cwd, "tea/SKILL.md"), "---\ndescription: makes tea ☕️\n---\nBoil.\n");
    writeFileSync(join(cwd, "tea/brew.sh"), `brew${order}`);
    const refused = await run(["add", "./tea", "--yes"], { cwd });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("  | brew⟨U+E0072⟩⟨U+E0075⟩⟨U+E006E⟩⟨U+E0020⟩⟨U+E0069⟩⟨U+E0074⟩\n");
    expect(refused.stderr).toContain("are in brew.sh (6, first ⟨U+E0072⟩)");
    expect(files.size).toBe(0);
    expect((await run(["add", "./tea", "--yes", "--allow-hidden"], { cwd })).code).toBe(0);
    expect(files.get("skills/tea/brew.sh")).toBe(`brew${order}`);
  });

  it("replaces a skill with all of its files, and lists the files that it deletes", async () => {
    for (const path of ["SKILL.md", "old.md", "scripts/old.sh"]) files.set(`skills/git/${path}`, "old");
    files.set("skills/github/SKILL.md", "another");
    const { stdout, stderr } = await run(["add", "git", "--yes", "--json"]);
    const removed = ["skills/git/old.md", "skills/git/scripts/old.sh"];
    expect([...files.keys()]).toEqual(["skills/git/SKILL.md", "skills/github/SKILL.md"]);
    expect(JSON.parse(stdout)).toMatchObject({ replaced: true, removed });
    expect(stderr).toMatch(new RegExp(`deleted +${removed.join(", ")}`));
  });

  it("writes nothing without a terminal and without --yes", async () => {
    const { code, stderr } = await run(["add", "git"]);
    expect(code).toBe(2);
    expect(stderr).toContain("pass --yes to install git");
    expect(files.size).toBe(0);
  });

  it("installs an included skill, under another name and for another agent", async () => {
    const { stdout } = await run(["add", "git", "--yes", "--json", "--name", "vcs", "--agent", "chef"]);
    expect(JSON.parse(stdout)).toMatchObject({
      agentId: "chef",
      name: "vcs",
      replaced: false,
      files: [{ path: "SKILL.md", size: expect.any(Number) }],
      skill: { name: "vcs", eligible: true },
    });
    expect(sent("workspace.write")).toMatchObject([{ path: "skills/vcs/SKILL.md", agentId: "chef" }]);
    const again = await run(["add", "git", "--yes", "--name", "vcs"]);
    expect(again.stderr).toContain("replacing the installed one");
    expect((await run(["add", "git", "--yes", "--name", "../x"])).code).toBe(2);
  });
});

describe("gsv skills list, status and update", () => {
  it("list the installed skills and the included ones", async () => {
    skills = [entry("git"), entry("cooking", { location: "skills/cooking/SKILL.md", eligible: false })];
    const { stdout } = await run(["list"]);
    expect(stdout).toMatch(/git +agent main +yes/);
    expect(stdout).toMatch(/cooking +all agents +no/);
    expect(stdout.split("included in gsv")[1]).toMatch(/\ngithub /);
    expect(stdout.split("included in gsv")[1]).not.toMatch(/\ngit /);
    const { shipped } = JSON.parse((await run(["list", "--json"])).stdout);
    expect(shipped).toContainEqual({ name: "git", description: expect.any(String), installed: true });
  });

  it("show where a skill is usable, and what it lacks", async () => {
    const lacks = { eligible: false, eligibleHosts: [], reasons: ["laptop: no program gh"] };
    skills = [entry("git"), entry("github", lacks)];
    const { stdout } = await run(["status"]);
    expect(stdout).toContain("1 of 2 skills are usable");
    expect(stdout).toMatch(/git +yes +laptop/);
    expect(stdout).toMatch(/github +no +laptop: no program gh/);
    expect(stdout).toMatch(/laptop +linux +- +git/);
  });

  it("query the machines, and list those that could not be queried", async () => {
    const { stdout } = await run(["update", "--force", "--timeout", "30"]);
    expect(sent("skills.update")).toEqual([{ agentId: "main", force: true, timeoutMs: 30_000 }]);
    expect(stdout).toContain("1 machine is being queried");
    expect(stdout).toContain("not queried: server: it has disconnected");
    expect((await run(["update", "--timeout", "121"])).code).toBe(2);
  });
});

describe("gsv skills remove", () => {
  it("removes the whole folder, SKILL.md first", async () => {
    for (const path of [
      "skills/tea/a.md",
      "skills/tea/scripts/brew.sh",
      "skills/tea/SKILL.md",
      "skills/tealeaf/SKILL.md",
    ])
      files.set(path, "x");
    skills = [entry("tea", { name: "Tea Time" })];
    const { stdout } = await run(["remove", "Tea Time", "--yes", "--json"]);
    const removed = ["skills/tea/SKILL.md", "skills/tea/a.md", "skills/tea/scripts/brew.sh"];
    expect(JSON.parse(stdout)).toEqual({ agentId: "main", name: "tea", removed });
    expect([...files.keys()]).toEqual(["skills/tealeaf/SKILL.md"]);
  });

  it("asks at a terminal, and needs --yes elsewhere", async () => {
    files.set("skills/tea/SKILL.md", "x");
    skills = [entry("tea")];
    const unasked = await run(["remove", "tea"]);
    expect(unasked).toMatchObject({ code: 2, stdout: "" });
    expect(unasked.stderr).toContain("pass --yes to remove the skill tea of the agent main");
    const answered = (input: string) => run(["remove", "tea"], { isInteractive: true, input: `${input}\r` });
    const refused = await answered("n");
    expect(refused.stderr).toContain("Remove the skill tea of the agent main (1 file)?");
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("nothing was removed") });
    expect([...files.keys()]).toEqual(["skills/tea/SKILL.md"]);
    expect((await answered("y")).stdout).toBe("removed tea from the agent main (1 file)\n");
    expect([...files.keys()]).toEqual([]);
  });

  it("keeps a skill of all agents, and says how to disable it", async () => {
    skills = [entry("tea", { location: "skills/tea/SKILL.md" })];
    const { code, stderr } = await run(["remove", "tea"]);
    expect(code).toBe(1);
    expect(stderr).toContain("skills.entries.tea.enabled false");
    expect((await run(["remove", "coffee"])).stderr).toContain("has no skill coffee");
    expect(sent("workspace.delete")).toEqual([]);
  });
});
