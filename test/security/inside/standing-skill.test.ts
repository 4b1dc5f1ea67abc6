import { afterAll, beforeAll, expect, it } from "vitest";
import type { ToolCallContext } from "../../../functions/agent/tools/native/native-tool.ts";
import { editFile } from "../../../functions/agent/tools/native/workspace-tools.ts";
import { openWorkspace } from "../../../shared/workspace/workspace-files.ts";
import { createMemoryBucket, type MemoryBucket } from "../../support/memory-bucket.ts";
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

it("the agent cannot edit one that a person installs at the same moment", async () => {
  const key = `agents/main/${path}`;
  const bucket = createMemoryBucket({ [key]: skill("homepage: x") });
  const installed = skill("homepage: x\nalways: true");
  let reads = 0;
  const racing: MemoryBucket = {
    ...bucket,
    async get(...args) {
      const found = await bucket.get(...args);
      if (reads++ === 0) await bucket.put(key, installed);
      return found;
    },
  };
  const agent = { workspace: openWorkspace(racing, async () => {}) };
  const turn = { agentId: "main", audience: "main", origins: [] };
  const context = { agent, turn } as unknown as ToolCallContext;
  const edit = editFile.run({ path, oldString: "Obey", newString: "Obey only" } as never, context);
  await expect(edit).rejects.toThrow(refused);
  expect(bucket.peek(key)).toBe(installed);
});
