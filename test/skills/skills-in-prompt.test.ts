import type { Context } from "aws-lambda";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createAgentHandler } from "../../functions/agent/agent-handler.ts";
import type { Events } from "../../shared/protocol/events.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelRequest, ModelServer, Reply } from "../support/models/scripted-model.ts";
import { clientParams, nodeParams } from "../support/peer.ts";
import { openSocketWorld, type SocketFunction, type SocketWorld } from "../support/socket-function.ts";
import { type State, startState } from "../support/state.ts";

/** The skills that warm functions show to the model: the socket function, and the agent that it wakes. */

let state: State;
let world: SocketWorld;
let model: ModelServer;
let socket: SocketFunction;
let agent: () => Promise<void>;
let script: (request: ModelRequest) => Reply;

const skill = (requires: string) =>
  `---\ndescription: works on GitHub\nmetadata: {gsv: {requires: {${requires}}}}\n---\nUse it.`;

beforeAll(async () => {
  state = await startState();
  world = openSocketWorld(state);
  model = await startOpenAiServer((request) => script(request));
  await state.bucket.put("skills/github/SKILL.md", skill("bins: [gh]"));
  await state.bucket.put("agents/main/skills/demo/SKILL.md", "How to show something.");
  await state.bucket.put("agents/main/skills/demo/notes/a.md", "a note");
  socket = world.start();
  await socket.open("client", (await world.token(["client", "admin"])).token);
  await socket.request("client", "connect", clientParams("cli"));
  const provider = { provider: "openai-compatible", id: "m", baseUrl: model.url };
  await socket.request("client", "config.set", { path: "model", value: provider });
  await socket.open("node", (await world.token(["node"])).token);
  await socket.request("node", "connect", nodeParams("laptop", ["Bash"]));
  const handler = createAgentHandler(world.outside);
  agent = () =>
    handler({ sessionKey: "agent:main:main" }, { getRemainingTimeInMillis: () => 900_000 } as Context);
});
afterAll(async () => {
  await model.close();
  await state.close();
});
beforeEach(() => {
  script = () => ({ text: "heard" });
});

/** Sends a message, and has the agent answer it. */
async function say(): Promise<void> {
  await socket.request("client", "chat.send", { sessionKey: "main", message: "hello" });
  await agent();
}

/** The folders of the skills in the next message's prompt. */
async function listed(): Promise<string[]> {
  await say();
  const { system = "" } = model.requests.at(-1) ?? {};
  return [...system.matchAll(/<read_path>skills\/(.+)\/SKILL.md</g)].map(([, name = ""]) => name);
}

/** Has the model make one call, and gives what it is answered. */
async function call(name: string, args: Record<string, unknown>): Promise<Record<string, unknown>> {
  script = ({ turns }) =>
    turns.at(-1)?.role === "tool" ? { text: "done" } : { toolCalls: [{ name, arguments: args }] };
  await say();
  const { text } = model.requests.at(-1)?.turns.at(-1) ?? {};
  return JSON.parse(text ?? "") as Record<string, unknown>;
}

const probes = () =>
  world
    .events("node")
    .filter(({ event }) => event === "node.probe")
    .map(({ payload }) => payload as Events["node.probe"]);

const answer = (bins: object) =>
  socket.request("node", "node.probe.result", { probeId: probes().at(-1)?.probeId, ok: true, bins });

describe("the skills in a message's prompt", () => {
  it("change with the next message after a node has told its programs", async () => {
    expect(await listed()).toEqual(["demo"]);
    await answer({ gh: true });
    expect(await listed()).toEqual(["demo", "github"]);
  });

  it("change with the next message after the configuration switches one off or asks for more", async () => {
    const set = (value: unknown) =>
      socket.request("client", "config.set", { path: "skills.entries.github", value });
    await set({ enabled: false });
    expect(await listed()).toEqual(["demo"]);
    await set({ requires: { bins: ["gh", "jq"] } });
    expect(await listed()).toEqual(["demo"]);
    await answer({ jq: true });
    expect(await listed()).toEqual(["demo", "github"]);
    await set({ requires: { os: ["win32"] } });
    expect(await listed()).toEqual(["demo"]);
    await set(null);
    expect(await listed()).toEqual(["demo", "github"]);
  });
});

describe("a skill in the agent's hands", () => {
  it("that it writes has the machines asked for what it needs, and is listed when one has it", async () => {
    const args = { path: "skills/brew/SKILL.md", content: skill("bins: [brewctl]") };
    expect(await call("gsv__WriteFile", args)).toMatchObject({ result: { written: true } });
    expect(probes().at(-1)?.bins).toEqual(["brewctl"]);
    script = () => ({ text: "heard" });
    await answer({ brewctl: true });
    expect(await listed()).toContain("brew");
    await call("gsv__EditFile", { path: args.path, oldString: "brewctl", newString: "brew2" });
    expect(probes().at(-1)?.bins).toEqual(["brew2"]);
  });

  it("says where it was read from, and its folder is listed", async () => {
    const own = "agents/main/skills/demo/SKILL.md";
    expect(await call("gsv__ReadFile", { path: "skills/demo/SKILL.md" })).toMatchObject({
      result: { path: "skills/demo/SKILL.md", resolvedPath: own, resolvedSource: "agent" },
    });
    expect(await call("gsv__ReadFile", { path: "skills/github/SKILL.md" })).toMatchObject({
      result: { resolvedPath: "skills/github/SKILL.md", resolvedSource: "global" },
    });
    expect(await call("gsv__ReadFile", { path: "skills/demo" })).toEqual({
      ok: true,
      result: { path: "skills/demo", files: ["skills/demo/SKILL.md"], directories: ["skills/demo/notes/"] },
    });
    expect(await call("gsv__ReadFile", { path: "skills/nothing" })).toEqual({
      ok: false,
      error: "workspace file not found: skills/nothing",
    });
  });
});
