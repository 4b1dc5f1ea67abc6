import { describe, expect, it } from "vitest";
import { createSkillLister } from "../../shared/skills/skill-lister.ts";
import { createMemoryBucket } from "../support/memory-bucket.ts";

const source = (description: string, name?: string) =>
  `---\n${name ? `name: ${name}\n` : ""}description: ${description}\n---\nbody`;

describe("listing skills", () => {
  it("puts the agent's own first, and leaves out shared ones of the same folder", async () => {
    const bucket = createMemoryBucket({
      "skills/tea/SKILL.md": source("shared tea"),
      "skills/coffee/SKILL.md": source("shared coffee", "espresso"),
      "agents/main/skills/tea/SKILL.md": source("own tea"),
      "agents/main/skills/zen/SKILL.md": source("own zen"),
      "agents/other/skills/rum/SKILL.md": source("not mine"),
    });
    expect(await createSkillLister(bucket).list("main", 0)).toMatchObject([
      {
        name: "tea",
        directory: "tea",
        description: "own tea",
        location: "agents/main/skills/tea/SKILL.md",
        readPath: "skills/tea/SKILL.md",
        always: false,
      },
      { name: "zen", location: "agents/main/skills/zen/SKILL.md" },
      {
        name: "espresso",
        directory: "coffee",
        location: "skills/coffee/SKILL.md",
        readPath: "skills/coffee/SKILL.md",
      },
    ]);
  });

  it("reads nothing but the SKILL.md of each folder", async () => {
    const bucket = createMemoryBucket({
      "skills/tea/SKILL.md": source("tea"),
      "skills/tea/scripts/brew.sh": "",
      "skills/tea/deeper/SKILL.md": source("deeper"),
      "skills/milk/SKILL.md/SKILL.md": source("a folder with the name of the file"),
      "skills/SKILL.md": source("no folder"),
      "skills/README.md": "",
    });
    const skills = await createSkillLister(bucket).list("main", 0);
    expect(skills.map(({ directory }) => directory)).toEqual(["tea"]);
    expect(bucket.downloads).toEqual(["skills/tea/SKILL.md"]);
  });

  it("when warm makes one request a prefix each half a minute, and downloads only what has changed", async () => {
    const bucket = createMemoryBucket({
      "skills/a/SKILL.md": source("a"),
      "skills/b/SKILL.md": source("b"),
      "agents/main/skills/c/SKILL.md": source("c"),
    });
    const lister = createSkillLister(bucket);
    const cold = await lister.list("main", 0);
    bucket.resetCounters();
    expect(await lister.list("main", 29_999)).toEqual(cold);
    expect(bucket.requests).toEqual([]);
    expect(await lister.list("main", 30_000)).toEqual(cold);
    expect(bucket.requests).toEqual([
      { operation: "list", key: "agents/main/skills/" },
      { operation: "list", key: "skills/" },
    ]);
    await bucket.put("skills/b/SKILL.md", source("better"));
    await bucket.delete("skills/a/SKILL.md");
    bucket.resetCounters();
    lister.forget();
    expect((await lister.list("main", 30_001)).map(({ description }) => description)).toEqual([
      "c",
      "better",
    ]);
    expect(bucket.downloads).toEqual(["skills/b/SKILL.md"]);
  });

  it("lists the shared skills once for all agents", async () => {
    const bucket = createMemoryBucket({ "skills/a/SKILL.md": source("a") });
    const lister = createSkillLister(bucket);
    await Promise.all(["main", "other", "third"].map((agentId) => lister.list(agentId, 0)));
    expect(bucket.requests.filter(({ operation }) => operation === "list").map(({ key }) => key)).toEqual([
      "agents/main/skills/",
      "skills/",
      "agents/other/skills/",
      "agents/third/skills/",
    ]);
  });

  it("lists a skill whose frontmatter is broken, with the fault", async () => {
    const bucket = createMemoryBucket({ "skills/a/SKILL.md": "---\nname: [\n---\nWhat it is for." });
    expect(await createSkillLister(bucket).list("main", 0)).toMatchObject([
      { name: "a", description: "What it is for.", fault: expect.stringContaining("frontmatter") },
    ]);
  });

  it("refuses an agent id that is not normalized", async () => {
    await expect(createSkillLister(createMemoryBucket()).list("a/../b", 0)).rejects.toMatchObject({
      code: 400,
    });
  });
});
