import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { shippedSkills } from "../../../../cli/commands/skills/shipped-skills.ts";
import { folderName, readSkill } from "../../../../cli/commands/skills/skill-source.ts";
import {
  createGuardedFetch,
  type Fetched,
  type FetchRequest,
} from "../../../../shared/http/guarded-fetch.ts";
import { evaluateSkills } from "../../../../shared/skills/eligibility.ts";
import { parseSkill } from "../../../../shared/skills/frontmatter.ts";
import { newFolder } from "../../../support/run/test-folders.ts";

const tea = "---\nname: Tea Time\ndescription: makes tea\n---\nBoil water.";

/** A folder with these files. */
function folderWith(files: Record<string, string | Uint8Array>): string {
  const folder = join(newFolder(), "brewing");
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(folder, path, ".."), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}

/** Reads an address with this answer. Any other request fails. */
function readUrl(url: string, answer: Fetched) {
  const asked: FetchRequest[] = [];
  const skill = readSkill(url, "/", async (request) => {
    asked.push(request);
    return answer;
  });
  return { skill, asked };
}

const noNetwork = () => Promise.reject(new Error("nothing is to be fetched"));
const read = (source: string, cwd = "/") => readSkill(source, cwd, noNetwork);

describe("a skill of a folder", () => {
  it("contains all of its text files, SKILL.md last, without hidden files, installed packages and links", async () => {
    const folder = folderWith({
      "SKILL.md": tea,
      "scripts/brew.sh": "brew",
      "a/b/c.md": "deep",
      ".git/config": "hidden",
      "node_modules/x/index.js": "installed",
    });
    symlinkSync("/etc/passwd", join(folder, "link"));
    symlinkSync(folderWith({ "secret.txt": "from outside" }), join(folder, "linked"));
    const skill = await read(folder);
    expect(skill.name).toBe("tea-time");
    expect(skill.files.map(({ path }) => path)).toEqual(["a/b/c.md", "scripts/brew.sh", "SKILL.md"]);
    expect(skill.left).toEqual(["link: not a regular file", "linked: not a regular file"]);
  });

  it("has the folder's name when the skill has none, and a SKILL.md alone is a skill, too", async () => {
    const folder = folderWith({ "SKILL.md": "Boil water.", "notes.md": "not wanted" });
    expect((await read("brewing", join(folder, ".."))).name).toBe("brewing");
    const single = await read("SKILL.md", folder);
    expect(single).toMatchObject({ name: "brewing", files: [{ path: "SKILL.md" }] });
  });

  it.each([
    ["no SKILL.md", { "README.md": "x" }, "has no SKILL.md"],
    ["a SKILL.md with a NUL", { "SKILL.md": `${tea}\0` }, "SKILL.md is not text"],
    ["a large SKILL.md", { "SKILL.md": tea + "x".repeat(300_000) }, "SKILL.md has 293.1 KB"],
    ["a large file", { "SKILL.md": tea, "data.txt": "x".repeat(5_300_000) }, "data.txt has 5.1 MB"],
    [
      "six large files",
      {
        "SKILL.md": tea,
        ...Object.fromEntries(Array.from({ length: 6 }, (_, n) => [`${n}.txt`, "x".repeat(1_000_000)])),
      },
      "the limit is 5 MB",
    ],
    [
      "many files",
      { "SKILL.md": tea, ...Object.fromEntries(Array.from({ length: 201 }, (_, n) => [`${n}.txt`, ""])) },
      "more than 200 files",
    ],
    ["frontmatter that cannot be read", { "SKILL.md": "---\nname: [\n---\nx" }, "SKILL.md: frontmatter"],
    ["nothing in it", { "SKILL.md": "---\nname: x\n---\n" }, "has no description or no instructions"],
  ])("with %s is refused", async (_name, files, reason) => {
    await expect(read(folderWith(files as Record<string, string>))).rejects.toThrow(reason);
  });
});

describe("a skill of an address", () => {
  it("is the SKILL.md there, named after its file or its folder", async () => {
    const body = (text: string): Fetched => ({ ok: true, url: "", body: Buffer.from(text) });
    const { skill, asked } = readUrl("https://example.com/skills/brew/SKILL.md", body("Boil water."));
    expect(await skill).toMatchObject({
      name: "brew",
      files: [{ path: "SKILL.md", text: "Boil water." }],
    });
    expect(asked).toEqual([{ url: "https://example.com/skills/brew/SKILL.md", maxBytes: 256 * 1024 }]);
    expect((await readUrl("https://example.com/a/coffee.md", body("Grind.")).skill).name).toBe("coffee");
    expect((await readUrl("https://example.com/x/SKILL.md", body(tea)).skill).name).toBe("tea-time");
  });

  it("is refused when it is a web page, or cannot be fetched", async () => {
    const page: Fetched = { ok: true, url: "", body: Buffer.from("\n<!DOCTYPE html><p>x") };
    await expect(readUrl("https://example.com/SKILL.md", page).skill).rejects.toThrow("is a web page");
    const failed: Fetched = { ok: false, reason: "answered with 404", passing: false };
    await expect(readUrl("https://example.com/SKILL.md", failed).skill).rejects.toThrow("answered with 404");
  });

  it.each([
    ["https://127.0.0.1/SKILL.md", "not a public address"],
    ["https://[::1]/SKILL.md", "not a public address"],
    ["https://169.254.169.254/latest/SKILL.md", "not a public address"],
    ["https://10.1.2.3/SKILL.md", "not a public address"],
    ["http://example.com/SKILL.md", "only https"],
    ["file:///etc/passwd", "only https"],
  ])("is not fetched from %s", async (url, reason) => {
    await expect(readSkill(url, "/", createGuardedFetch())).rejects.toThrow(reason);
  });
});

describe("the skills included in gsv", () => {
  it.each(shippedSkills)("$name is complete, and its requirements are valid", async ({ name, text }) => {
    const { document, files } = await read(name, newFolder());
    expect(document).toMatchObject({ name, always: false });
    expect(document.description.length).toBeGreaterThan(30);
    expect(document.description.length, "it is part of every prompt").toBeLessThan(150);
    expect(files).toEqual([{ path: "SKILL.md", body: Buffer.from(text), text }]);
    const { requires } = parseSkill(text);
    const location = `skills/${name}/SKILL.md`;
    const listed = {
      name,
      directory: name,
      description: "",
      location,
      readPath: location,
      always: false,
      requires,
    };
    const [status] = evaluateSkills([listed], { entries: {}, hosts: [], config: {} });
    expect(status?.reasons.join()).not.toContain("requires");
  });

  it("are overridden by a folder of the same name", async () => {
    const folder = join(folderWith({ "SKILL.md": tea }), "..");
    mkdirSync(join(folder, "git"));
    writeFileSync(join(folder, "git", "SKILL.md"), "My own way with git.");
    expect((await read("git", folder)).document.body).toBe("My own way with git.");
  });
});

it("a name is converted to a folder name", () => {
  expect(["GitHub", "Tea  Time!", "../../etc", "--x--", "日本", "a".repeat(80)].map(folderName)).toEqual([
    "github",
    "tea-time",
    "etc",
    "x",
    "",
    "a".repeat(64),
  ]);
});
