import { describe, expect, it } from "vitest";
import { parseSkill } from "../../shared/skills/frontmatter.ts";

const withMetadata = (metadata: string) =>
  parseSkill(`---\nname: x\ndescription: d\nmetadata: ${metadata}\n---\nbody`);

describe("a SKILL.md", () => {
  it("is read with all its fields", () => {
    const source = [
      "---",
      "name: github",
      'description: "Work with GitHub through `gh`."',
      "homepage: https://example.org/gh",
      "always: true",
      "metadata:",
      "  gsv:",
      "    requires:",
      "      bins: [gh]",
      "      capabilities:",
      "        - shell.exec",
      "---",
      "",
      "# GitHub",
      "Use it.",
    ].join("\n");
    expect(parseSkill(source)).toEqual({
      name: "github",
      description: "Work with GitHub through `gh`.",
      homepage: "https://example.org/gh",
      always: true,
      requires: { bins: ["gh"], capabilities: ["shell.exec"] },
      proposal: {},
      body: "# GitHub\nUse it.",
    });
  });

  it("takes metadata as JSON, as JSON in a text, and with trailing commas", () => {
    for (const metadata of [
      '{"gsv":{"requires":{"bins":["gh"]}}}',
      '\'{"gsv":{"requires":{"bins":["gh",],},},}\'',
      '\n  {\n    "gsv":\n      { "requires": { "bins": ["gh"], }, },\n  }',
    ]) {
      expect(withMetadata(metadata).requires).toEqual({ bins: ["gh"] });
    }
  });

  it("takes the first namespace there is: gsv, then openclaw, then clawdbot", () => {
    const of = (name: string) => `"${name}":{"requires":{"bins":["${name}"]}}`;
    const bins = (...names: string[]) => withMetadata(`{${names.map(of).join(",")}}`).requires;
    expect(bins("clawdbot", "openclaw", "gsv")).toEqual({ bins: ["gsv"] });
    expect(bins("clawdbot", "openclaw")).toEqual({ bins: ["openclaw"] });
    expect(bins("clawdbot")).toEqual({ bins: ["clawdbot"] });
    expect(bins("another")).toBeUndefined();
  });

  it("takes `os` and `always` from beside the requirements, where other programs write them", () => {
    const skill = withMetadata('{"openclaw":{"os":["darwin"],"always":true,"requires":{"bins":["gh"]}}}');
    expect(skill).toMatchObject({ always: true, requires: { os: ["darwin"], bins: ["gh"] } });
    expect(withMetadata('{"openclaw":{"os":["darwin"]}}').requires).toEqual({ os: ["darwin"] });
  });

  it("without a description has the first paragraph of its body, 200 characters of it", () => {
    expect(parseSkill("# Title\n\n## More\nFirst line,\nsecond line.\n\nNext.").description).toBe(
      "First line, second line.",
    );
    expect(parseSkill(`---\nname: a\n---\n\n${"🐙".repeat(300)}`).description).toBe("🐙".repeat(100));
    expect(parseSkill("---\nname: a\n---\n# Only a title").description).toBe("");
  });

  it("without frontmatter is all body, also when a rule is in it or the frontmatter does not end", () => {
    for (const source of ["text\n---\nmore\n---\n", "---\nname: x\nno end"]) {
      const skill = parseSkill(source);
      expect(skill.body).toBe(source.trim());
      expect(skill).not.toHaveProperty("name");
      expect(skill).not.toHaveProperty("fault");
    }
  });

  it("is read with a byte order mark, Windows line ends, and an empty frontmatter", () => {
    expect(parseSkill("\uFEFF---\r\nname: a\r\n---\r\nbody\r\n")).toMatchObject({ name: "a", body: "body" });
    expect(parseSkill("---\n---\nbody")).toMatchObject({ body: "body", description: "body" });
  });

  it("says what is wrong with its frontmatter, and keeps its body", () => {
    for (const [frontmatter, reason] of [
      ["name: [", /^frontmatter: .* at line 1, column 8$/],
      ["- a\n- b", /key: value/],
      ["metadata: 5", /metadata: expected a mapping/],
      ["metadata: { gsv: [1] }", /metadata.gsv: expected a mapping/],
      [`name: ${"x".repeat(20_000)}`, /longer/],
    ] as const) {
      const skill = parseSkill(`---\n${frontmatter}\n---\nThe body.`);
      expect(skill.fault).toMatch(reason);
      expect(skill.description).toBe("The body.");
    }
  });

  it("takes a number for a name, and no other type", () => {
    expect(parseSkill("---\nname: 7\n---\n").name).toBe("7");
    expect(parseSkill("---\nname: [7]\n---\n")).not.toHaveProperty("name");
  });
});
