import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { nodeTools } from "../../../cli/node/tools/offered.ts";
import { nativeTools } from "../../../functions/agent/tools/native/native-tools.ts";
import { inputSchemaOf } from "../../../shared/protocol/tool-schema.ts";
import tasks from "./tasks.json" with { type: "json" };

interface Announced {
  properties: Record<string, { description?: string; enum?: string[]; maximum?: number }>;
  required?: string[];
}

const shown = nativeTools.filter(({ isHidden }) => !isHidden);
const definitions = [...shown, ...nodeTools].map(({ definition }) => definition);
const announced = (tool: string) =>
  definitions.find(({ name }) => name === tool)?.inputSchema as Announced | undefined;

describe.each(tasks)("$task: $tool", ({ tool, arguments: given }) => {
  it("is a call that the tool's announced schema allows and the tool accepts", () => {
    const { properties, required = [] } = announced(tool) as Announced;
    expect(Object.keys(properties)).toEqual(expect.arrayContaining(Object.keys(given)));
    expect(Object.keys(given)).toEqual(expect.arrayContaining(required));
    for (const [name, value] of Object.entries(given)) {
      const { enum: choices = [value], maximum = Number.POSITIVE_INFINITY } = properties[name] ?? {};
      expect(choices).toContain(value);
      if (typeof value === "number") expect(value).toBeLessThanOrEqual(maximum);
    }
    const native = nativeTools.find(({ definition }) => definition.name === tool);
    if (native) expect(v.parse(native.schema, given)).toEqual(given);
  });
});

it("the tasks use every tool and every argument", () => {
  const used = (tool: string) =>
    new Set(tasks.flatMap((one) => (one.tool === tool ? Object.keys(one.arguments) : [])));
  for (const { name } of definitions)
    expect([...used(name)].sort(), name).toEqual(Object.keys(announced(name)?.properties ?? {}).sort());
});

/** What a model cannot guess from names: each is stated in a tool's definition. */
const facts: Record<string, string[]> = {
  gsv__ReadFile: ["your workspace", "folder", "empty"],
  gsv__EditFile: ["exactly once", "replaceAll"],
  gsv__ConfigGet: ["session.dmScope", "masked"],
  gsv__Message: [
    "goes automatically",
    "room/thread",
    "Default dm",
    "gsv:path",
    "https://",
    "by default where",
  ],
  gsv__Cron: ["without this conversation", "nextRunAtMs", "Default timezone", "anchor", "tz?", "systemEvent"],
  gsv__Transfer: ["5 GB", "100 MB", "replaces", "Pack", "{nodeId}:/path", "gsv:path", "ending in /"],
  gsv__SessionsList: ["latest first", "default: none"],
  gsv__SessionSend: ["agent:work:main", "waitSeconds is 0", "Default 30", "messengers"],
  gsv__activate: ["next step", "id of its call", "file:gsv:{path}"],
  gsv__pin: ["pinned false", "as it is now"],
  gsv__recall: ["memories and conversations", "YYYY-MM-DD"],
  gsv__session_logs: ["List conversations, or read one"],
  gsv__who_am_i: ["MEMORY.md", "figures"],
  gsv__memory: ["one self-contained fact", "by id"],
  Bash: ["login shell", "together", "200,000", "input is empty", "300000", "Process", "minute"],
  Process: ["30 minutes", "last 200", "as it is", "line feed", "from 0"],
  Read: ["from 1", "100 KB", "PNG, JPEG, GIF, WebP", "10 MB", "nextOffset", "~/", "2000"],
  Write: ["UTF-8", "missing folders", "Edit"],
  Edit: ["exact", "Read's line numbers", "once", "replaceAll"],
  Glob: ["newest first", "1,000", "**/*.ts", "node_modules, .git and .gsv"],
  Grep: ["JavaScript", "(?i)", "100 matches", "node_modules, .git and .gsv", "*.ts"],
};

it("the tools for memories take few characters, because each request has them", () => {
  const names = ["gsv__recall", "gsv__session_logs", "gsv__memory", "gsv__who_am_i"];
  const texts = definitions.filter(({ name }) => names.includes(name)).map((one) => JSON.stringify(one));
  expect(texts.join("").length).toBeLessThanOrEqual(935);
});

it.each(Object.entries(facts))("%s states what a model cannot guess from names", (tool, stated) => {
  const text = JSON.stringify(definitions.find(({ name }) => name === tool));
  for (const fact of stated) expect(text).toContain(fact);
});

it("an announced schema omits what says nothing, but the call is still checked", () => {
  const schema = inputSchemaOf({ path: v.pipe(v.string(), v.minLength(1)), at: v.optional(v.number()) });
  expect(schema).toEqual({
    type: "object",
    properties: { path: { type: "string" }, at: { type: "number" } },
    required: ["path"],
  });
  expect(inputSchemaOf({ at: v.optional(v.number()) })).not.toHaveProperty("required");
  const write = nativeTools.find(({ definition }) => definition.name === "gsv__WriteFile");
  expect(v.safeParse(write?.schema as v.GenericSchema, { path: "", content: "" }).success).toBe(false);
});
