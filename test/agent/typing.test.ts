import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import type { CallModel, ModelOutcome } from "../../functions/agent/model/model-call.ts";
import { holdSession } from "../../functions/agent/session-loop.ts";
import type { AssistantMessage } from "../../shared/protocol/messages.ts";
import type { InboxEntry } from "../../shared/session/inbox-entry.ts";
import { type State, startState } from "../support/state.ts";
import { openBench } from "./bench.ts";

let state: State;
beforeAll(async () => {
  state = await startState();
});
afterEach(() => {
  vi.useRealTimers();
});
afterAll(() => state.close());

const entry: InboxEntry = {
  id: "one",
  at: 1,
  origin: { kind: "channel", channel: "telegram", accountId: "default", peer: { kind: "dm", id: "1" } },
  kind: "message",
  text: "hello",
};

const ends: Record<string, CallModel> = {
  "the model has answered": async () => ({
    status: "answered",
    message: { role: "assistant", content: [{ type: "text", text: "hi" }], timestamp: 1 },
  }),
  "the model has failed": async () => ({ status: "failed", error: "no", overflow: false }),
  "the function has": () => Promise.reject(new Error("no images today")),
};

it.each(Object.entries(ends))(
  "typing is shown during the model call, and no longer once %s",
  async (name, end) => {
    const bench = openBench(state, { provider: "openai-compatible", id: "m" });
    let shown = 0;
    const channels = { typing: async () => void shown++ };
    const callModel: CallModel = async (call) => {
      vi.advanceTimersByTime(9000);
      return end(call);
    };
    await bench.submit(`agent:main:${name}`, entry);
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const agent = bench.agent();
    Object.assign(agent, { channels: { ...agent.channels, ...channels }, callModel });
    await holdSession(agent, `agent:main:${name}`, () => 900_000).catch(() => {});
    expect(shown).toBe(3);
    vi.advanceTimersByTime(60_000);
    expect(shown).toBe(3);
  },
);

it("typing is shown while a tool of the gateway runs", async () => {
  const bench = openBench(state, { provider: "openai-compatible", id: "m" });
  let shown = 0;
  const seen: number[] = [];
  let steps = 0;
  const reply = (content: AssistantMessage["content"]): ModelOutcome => ({
    status: "answered",
    message: { role: "assistant", content, timestamp: 1 },
  });
  const callModel: CallModel = async () => {
    const id = `call_${++steps}_0123456789abcdef`;
    const read = { type: "toolCall", id, name: "gsv__ReadFile", arguments: { path: "a.md" } } as const;
    seen.push(shown);
    return reply(steps === 1 ? [read] : [{ type: "text", text: "done" }]);
  };
  const agent = bench.agent();
  const workspace: typeof agent.workspace = {
    ...agent.workspace,
    async read() {
      seen.push(shown);
      vi.advanceTimersByTime(9000);
      seen.push(shown);
      throw new Error("no such file");
    },
  };
  Object.assign(agent, {
    channels: { ...agent.channels, typing: async () => void shown++ },
    callModel,
    workspace,
  });
  await bench.submit("agent:main:tool", entry);
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  await holdSession(agent, "agent:main:tool", () => 900_000);
  // At the model's call, at the tool's, twice during it, and at the next model's call.
  expect(seen).toEqual([1, 2, 4, 5]);
  vi.advanceTimersByTime(60_000);
  expect(shown).toBe(5);
});
