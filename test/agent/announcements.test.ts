import { afterAll, beforeAll, expect, it } from "vitest";
import { holdSession } from "../../functions/agent/session-loop.ts";
import { textOf } from "../../shared/protocol/messages.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer } from "../support/models/scripted-model.ts";
import { type State, startState } from "../support/state.ts";
import { type Bench, openBench } from "./bench.ts";

const sessionKey = "agent:main:announcements";
let state: State;
let model: ModelServer;
let bench: Bench;
/** Whether the table refuses to list clients. */
let down = true;
beforeAll(async () => {
  state = await startState();
  model = await startOpenAiServer(({ turns }) => {
    if (turns.at(-1)?.role === "user")
      return { toolCalls: [{ name: "gsv__ReadFile", arguments: { path: "notes.md" } }] };
    down = false;
    return { text: "the answer" };
  });
  bench = openBench(state, { provider: "openai-compatible", id: "m", baseUrl: model.url });
});
afterAll(async () => {
  await state?.close();
  await model?.close();
});

it("a turn continues if its steps cannot be announced, and no failure is unhandled", async () => {
  const agent = bench.agent();
  const clients = async () => {
    if (down) throw new Error("throttled");
    return agent.broadcast.clients();
  };
  const entry = { id: "run", at: 1, origin: { kind: "client" }, kind: "message", text: "hello" } as const;
  await bench.submit(sessionKey, entry);
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  process.on("unhandledRejection", note);
  await holdSession({ ...agent, broadcast: { ...agent.broadcast, clients } }, sessionKey, () => 900_000);
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
  expect(textOf((await bench.live(sessionKey)).at(-1)!)).toBe("the answer");
});

it("clients are listed for every answer, and for a reply with tool calls if the last list is older than a second", async () => {
  const lists = async (later: number) => {
    let listed = 0;
    let time = 0;
    const agent = bench.agent();
    const broadcast = {
      ...agent.broadcast,
      clients: () => {
        listed++;
        return agent.broadcast.clients();
      },
    };
    const callModel: typeof agent.callModel = async (call) => {
      time ||= later;
      return agent.callModel(call);
    };
    const started = agent.now();
    const id = `after ${later} ms`;
    await bench.submit(sessionKey, { id, at: 1, origin: { kind: "client" }, kind: "message", text: "hello" });
    const now = () => started + time;
    await holdSession({ ...agent, broadcast, callModel, now }, sessionKey, () => 900_000);
    return listed;
  };
  // At the start, for the step in between, and for the answer.
  expect(await lists(1001)).toBe((await lists(0)) + 1);
});
