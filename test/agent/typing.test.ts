import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import type { CallModel } from "../../functions/agent/model/model-call.ts";
import { holdSession } from "../../functions/agent/session-loop.ts";
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
