import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { holdSession } from "../../../functions/agent/session-loop.ts";
import { memoryId } from "../../../shared/memory/memory-line.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer, Reply } from "../../support/models/scripted-model.ts";
import { type State, startState } from "../../support/state.ts";
import { type Bench, openBench } from "../bench.ts";

let state: State;
let model: ModelServer;
let bench: Bench;
let reply: Reply;
let messages = 0;

beforeAll(async () => {
  state = await startState();
  model = await startOpenAiServer(({ turns }) => (turns.at(-1)?.role === "tool" ? { text: "done" } : reply));
  bench = openBench(state, { provider: "openai-compatible", id: "m", baseUrl: model.url });
});
afterAll(async () => {
  await model.close();
  await state.close();
});

/** The result of a call of the tool in a session, as the model sees it. */
async function used(sessionKey: string, args: object, name = "gsv__memory"): Promise<string> {
  reply = { toolCalls: [{ name, arguments: JSON.stringify(args) }] };
  const entry = { id: `m${++messages}`, at: Date.now(), kind: "message", text: "go" } as const;
  await bench.submit(sessionKey, { ...entry, origin: { kind: "client" } });
  await holdSession(bench.agent(), sessionKey, () => 900_000);
  return model.requests.at(-1)?.turns.at(-1)?.text ?? "";
}
const notes = async () => {
  const { objects } = await state.bucket.list("agents/main/memory/");
  const bodies = await Promise.all(objects.map(async ({ key }) => (await state.bucket.get(key))?.body));
  return bodies.map((body) => Buffer.from(body ?? "").toString());
};

describe("gsv__memory", () => {
  it("I26: is refused in a conversation that others read, even to the owner, and nothing changes", async () => {
    const made = await used("agent:main:main", { action: "remember", content: "the code is 4711" });
    const { id } = JSON.parse(made).result as { id: string };
    for (const args of [
      { action: "recall" },
      { action: "recall", query: "code" },
      { action: "remember", content: "planted by a room" },
      { action: "remember", content: "the code is 4712", supersedes: id },
      { action: "forget", id },
    ])
      expect(await used("agent:main:telegram:group:1", args)).toContain("Memories are private");
    expect(await notes()).toEqual(["- the code is 4711\n"]);
    expect(await used("agent:main:notes", { action: "recall", query: "code" })).toContain("4711");
  });

  it("is not offered if the settings say so", async () => {
    bench.configuration.memory.tool = false;
    expect(await used("agent:main:main", { action: "recall" })).not.toContain("4711");
  });
});

describe("a memory file that the agent writes", () => {
  const sessionKey = "agent:main:main";
  const record = async (text: string) =>
    (await (await bench.agent().memories()).ledger.all("main")).get(memoryId(text));

  it("has the conversation as the origin of what was added, and of nothing else", async () => {
    await state.bucket.put("agents/main/MEMORY.md", "- Ada typed this by hand\n");
    const edit = {
      path: "/MEMORY.md",
      oldString: "by hand\n",
      newString: "by hand\n1. Zoe is allergic to nuts\n",
    };
    expect(await used(sessionKey, edit, "gsv__EditFile")).toContain('"replacements":1');
    const content = "Ada lives in Bergen.\n\n| what | when |\n|--|--|\n| dentist | 4 May |\n";
    await used(sessionKey, { path: "USER.md", content }, "gsv__WriteFile");
    await used(sessionKey, { path: "plans.md", content: "- Ada paints" }, "gsv__WriteFile");
    const { sessionId } = await bench.state(sessionKey);
    for (const added of ["Zoe is allergic to nuts", "Ada lives in Bergen", "what: dentist, when: 4 May"])
      expect(await record(added), added).toMatchObject({
        ...{ sessionKey, sessionId, kind: "main", by: "agent", origins: [] },
      });
    for (const other of ["Ada typed this by hand", "Ada paints"]) expect(await record(other)).toBeUndefined();
  });

  it("keeps no origin of an edit that is refused", async () => {
    const edit = { path: "MEMORY.md", oldString: "a", newString: "a\n- Max is six\n" };
    expect(await used(sessionKey, edit, "gsv__EditFile")).toContain("occurrences");
    expect(await record("Max is six")).toBeUndefined();
  });
});
