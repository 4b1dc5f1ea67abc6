import { describe, expect, it } from "vitest";
import { writeTemplates } from "../../functions/socket/templates.ts";
import { identitySection, parseIdentity } from "../../shared/workspace/agent-identity.ts";
import { createMemoryBucket } from "../support/memory-bucket.ts";

const kate = { name: "Kate", creature: "octopus", vibe: "warm but sharp", emoji: "🐙" };
const file = (lines: string[]) => `# IDENTITY.md\n${lines.join("\n")}\n`;

describe("I2: the fields of IDENTITY.md", () => {
  it.each([
    [
      "in bold",
      ["- **Name:** Kate", "- **Creature:** octopus", "- **Vibe:** warm but sharp", "- **Emoji:** 🐙"],
      kate,
    ],
    ["without bold", ["- Name: Plain", "- Emoji: 🤖"], { name: "Plain", emoji: "🤖" }],
    [
      "in italics, with the colon outside",
      ["- *Name*: Kate", "- **Emoji** : 🐙"],
      { name: "Kate", emoji: "🐙" },
    ],
    [
      "in any case, after blanks",
      ["   - **NAME:**   Kate  ", "\t- vibe: calm"],
      { name: "Kate", vibe: "calm" },
    ],
    [
      "with an address",
      ["- **Avatar:** https://example.com/kate.png"],
      { avatar: "https://example.com/kate.png" },
    ],
    ["not filled in", ["- **Name:** Kate", "- **Avatar:**", "- **Emoji:**   "], { name: "Kate" }],
    [
      "that are hints of a template",
      [
        "- **Name:** Kate",
        "- **Creature:** _(AI? robot? familiar?)_",
        "- Vibe: (calm, dry)",
        "- Emoji: *(one)*",
      ],
      { name: "Kate" },
    ],
    ["with commas and brackets inside", ["- Vibe: warm, (mostly) dry"], { vibe: "warm, (mostly) dry" }],
    ["said twice", ["- Name: Old", "- Name: New"], { name: "New" }],
    ["unknown, or no list", ["- Pronouns: they", "Name: Nobody", "- no field"], {}],
  ])("are read %s", (_, lines, expected) => {
    expect(parseIdentity(file(lines))).toEqual(expected);
  });

  it("C4: are read by the names that older templates use, behind their own", () => {
    const older = ["- **Nature:** a fox", "- **Manner:** dry", "- Class designation: Culture ship"];
    expect(parseIdentity(file(older))).toEqual({ creature: "Culture ship", vibe: "dry" });
    expect(parseIdentity(file(["- Creature: octopus", "- Nature: a fox"]))).toEqual({ creature: "octopus" });
  });

  it("are of one line and at most 200 characters, and cost no more time the longer a line is", () => {
    expect(parseIdentity(`- Name: ${"x".repeat(300)}\nmore`).name).toBe("x".repeat(200));
    expect(parseIdentity(`- ${" ".repeat(200_000)}`)).toEqual({});
    expect(parseIdentity(`- ${" ".repeat(200_000)}x`)).toEqual({});
  });
});

describe("I4: the identity in a prompt", () => {
  it("is one line, in the order name, creature, vibe, emoji, without the avatar", () => {
    const lines = [
      "- Emoji: 🐙",
      "- Avatar: https://example.com/k.png",
      "- Vibe: warm but sharp",
      "- Name: Kate",
    ];
    expect(identitySection(file(lines))).toBe("name=Kate, vibe=warm but sharp, emoji=🐙");
  });

  it("C3: is followed by the file's own text, without its fields and the template's explanations", () => {
    const text = file([
      "_Fill this in during your first conversation._",
      "- **Name:** Kate",
      "- **Vibe:** _(warm? sharp?)_",
      "- **Pronouns:** _(which?)_",
      "",
      "",
      "## Where I come from",
      "",
      "Off the coast, *mostly*.",
    ]);
    expect(identitySection(text)).toBe(
      "name=Kate\n\n# IDENTITY.md\n\n## Where I come from\n\nOff the coast, *mostly*.",
    );
  });

  it("C3: is a file without fields as it stands", () => {
    const text = "I am Kate.\n\n*Calm, always.*\n\n- I like: tea";
    expect(identitySection(text)).toBe(text);
  });

  it("I3: holds no hint of a template, whichever it is", async () => {
    const bucket = createMemoryBucket();
    await writeTemplates(bucket, "main");
    const ours = bucket.peek("agents/main/IDENTITY.md") ?? "";
    expect(ours).toContain("_(a ship's mind");
    expect(identitySection(ours)).toBe("");
    const former =
      "# Identity\n\n- **Name:**\n- **Nature:** (what kind of being: a fox)\n- **Manner:** (calm)\n";
    expect(identitySection(former)).toBe("");
    expect(identitySection("_(write who you are)_\n")).toBe("");
  });
});
