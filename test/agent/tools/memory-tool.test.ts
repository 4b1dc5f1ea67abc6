import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { holdSession } from "../../../functions/agent/session-loop.ts";
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
async function used(sessionKey: string, args: object): Promise<string> {
  reply = { toolCalls: [{ name: "gsv__memory", arguments: JSON.stringify(args) }] };
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
