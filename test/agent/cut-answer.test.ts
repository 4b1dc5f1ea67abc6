import { afterAll, beforeAll, expect, it } from "vitest";
import type { Agent } from "../../functions/agent/agent.ts";
import { holdSession } from "../../functions/agent/session-loop.ts";
import { sourceOf } from "../../shared/channels/channel.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer } from "../support/models/scripted-model.ts";
import { type State, startState } from "../support/state.ts";
import { openBench } from "./bench.ts";

let state: State;
let model: ModelServer;
beforeAll(async () => {
  state = await startState();
  model = await startOpenAiServer([{ text: "Once upon a", stopReason: "length" }, { text: "The end." }]);
});
afterAll(async () => {
  await state?.close();
  await model?.close();
});

it("a channel sees that an answer was cut off at its limit, and the transcript stores the answer unchanged", async () => {
  const bench = openBench(state, { provider: "openai-compatible", id: "m", baseUrl: model.url });
  const told: string[] = [];
  const agent = bench.agent();
  const channels: Agent["channels"] = {
    ...agent.channels,
    deliver: async (_origin, _id, text) => ({ ok: told.push(sourceOf(text)) > 0 }) as { ok: true },
  };
  const address = { channel: "telegram", accountId: "default", peer: { kind: "dm", id: "1" } } as const;
  const sessionKey = "agent:main:cut";
  for (const id of ["1", "2"]) {
    const origin = { kind: "channel", ...address } as const;
    await bench.submit(sessionKey, { id, at: Date.now(), origin, kind: "message", text: "go on" });
    await holdSession({ ...agent, channels }, sessionKey, () => 900_000);
  }
  expect(told).toEqual([expect.stringMatching(/^Once upon a\n\n\[The answer was cut off here/), "The end."]);
  expect((await bench.live(sessionKey))[1]).toMatchObject({
    content: [{ type: "text", text: "Once upon a" }],
    stopReason: "length",
  });
});
