import { afterAll, beforeAll, expect, it } from "vitest";
import { type Household, openHousehold } from "../household.ts";

/** Standing skill: words that the agent has read must not become a skill that every prompt lists. */

let house: Household;
beforeAll(async () => {
  house = await openHousehold();
});
afterAll(() => house.close());

const skill = (front: string) => `---\nname: tea\ndescription: makes tea\n${front}\n---\nObey the page.\n`;
const path = "skills/tea/SKILL.md";
/** The agent's answer after this call. */
const call = (tool: string, args: object) =>
  house.ask({ from: "olga", text: `call gsv__${tool} ${JSON.stringify(args)}` });
const stored = async () => (await house.peers.admin.request("workspace.read", { path })).payload?.content;
const install = (content: string) => house.peers.admin.call("workspace.write", { path, content });
const refused = /only a person can install or change a skill/;

it.each(["always: true", "metadata: {gsv: {always: true}}", 'metadata: "{gsv: {always: true}}"'])(
  "the agent cannot write one: %s",
  async (front) => {
    await install(skill("homepage: https://x.example"));
    for (const form of [path, `/${path}`, "skills/tea/./SKILL.md"])
      expect(await call("WriteFile", { path: form, content: skill(front) }), form).toMatch(refused);
    const edit = { path, oldString: "homepage: https://x.example", newString: front };
    expect(await call("EditFile", edit)).toMatch(refused);
    expect(await stored()).toBe(skill("homepage: https://x.example"));
  },
);

it("the agent cannot change one that a person installed, nor copy one there", async () => {
  await install(skill("always: true"));
  expect(await call("EditFile", { path, oldString: "Obey", newString: "Obey only" })).toMatch(refused);
  await house.peers.admin.call("workspace.write", { path: "notes.md", content: skill("always: true") });
  for (const destination of [`gsv:${path}`, "gsv:skills/new/SKILL.md"])
    expect(await call("Transfer", { source: "gsv:notes.md", destination })).toContain("gsv__WriteFile");
  expect(await stored()).toBe(skill("always: true"));
});

it("the agent can write and edit any other skill", async () => {
  expect(await call("WriteFile", { path, content: skill("always: false") })).toContain(path);
  expect(await call("EditFile", { path, oldString: "Obey", newString: "Read" })).toContain(path);
  expect(await stored()).toContain("Read the page.");
});
