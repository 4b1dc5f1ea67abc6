import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { holdSession } from "../../../functions/agent/session-loop.ts";
import { type Message, textOf } from "../../../shared/protocol/messages.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer, Reply } from "../../support/models/scripted-model.ts";
import { type State, startState } from "../../support/state.ts";
import { type Bench, openBench } from "../bench.ts";

let state: State;
let server: ModelServer;
let bench: Bench;
let replies: Reply[] = [];
let sessionKey: string;
let sessions = 0;

beforeAll(async () => {
  state = await startState();
  server = await startOpenAiServer(() => replies.shift() ?? { text: "fine" });
  bench = openBench(state, { provider: "openai-compatible", id: "local", baseUrl: server.url });
});
beforeEach(() => {
  sessionKey = `agent:main:markup${++sessions}`;
  server.requests.length = 0;
});
afterAll(async () => {
  await server?.close();
  await state?.close();
});

interface Told {
  state: string;
  text?: string;
  message?: Message;
  error?: string;
}

/** Sends a message. @returns what a client sees: the streamed text, and the texts and errors of the events with a whole reply */
async function say(id: string, ...answers: Reply[]) {
  replies = answers;
  const origin = { kind: "client" } as const;
  await bench.submit(sessionKey, { id, at: Date.now(), origin, kind: "message", text: `message ${id}` });
  const seen = { streamed: "", told: [] as string[] };
  const agent = bench.agent();
  const tell = (payload: unknown) => {
    const { state: kind, text = "", message, error } = payload as Told;
    if (kind === "delta") seen.streamed += text;
    else if (error !== undefined) seen.told.push(error);
    else if (message && kind !== "user") seen.told.push(textOf(message));
  };
  const broadcast: typeof agent.broadcast = {
    ...agent.broadcast,
    clients: async () => ["client"],
    send: async (_clients, _event, payload) => tell(payload),
    offer: async (_client, _event, payload) => {
      tell(payload);
      return true;
    },
  };
  await holdSession({ ...agent, broadcast }, sessionKey, () => 900_000);
  bench.later += 31_000;
  return seen;
}

const call = '<tool_call>\n{"name": "gsv__ReadFile", "arguments": {"path": "a"}}\n</tool_call>';

it("nobody sees the thinking that a server leaves in the text; the transcript has it as thinking", async () => {
  const seen = await say("1", { text: ["<thi", "nk>Ro", "me?</th", "ink>\n\nIt ", "rains."] });
  expect(seen).toEqual({ streamed: "It rains.", told: ["It rains."] });
  expect((await bench.live(sessionKey)).at(-1)).toMatchObject({
    content: [
      { type: "thinking", thinking: "Rome?" },
      { type: "text", text: "It rains." },
    ],
  });
  await say("2");
  expect(JSON.stringify(server.requests.at(-1)?.body)).not.toContain("Rome?");
});

it("an answer that is only a tool call as text fails with advice, and executes nothing", async () => {
  const seen = await say("1", { text: ["<tool_", call.slice(6)] });
  expect(seen.streamed).toBe("");
  expect(seen.told).toEqual([
    expect.stringMatching(/wrote a tool call as text.*not executed.*enable tool calls/),
  ]);
  expect(server.requests).toHaveLength(1);
  expect(await bench.live(sessionKey)).toHaveLength(2);
  await say("2");
  expect(
    server.requests
      .at(-1)
      ?.turns.map(({ text }) => text)
      .join(),
  ).toMatch(/no answer: .*tool call as text/);
});

it("an answer with text and a tool call as text says that the call was not executed", async () => {
  const { told } = await say("1", { text: `I look.\n${call}` });
  expect(told).toEqual([
    expect.stringMatching(/^I look\.\n\n\[This answer contained a tool call.*not executed\.\]$/),
  ]);
});

it("a reply with a real tool call and one as text executes the real one", async () => {
  const real = { name: "gsv__ReadFile", arguments: { path: "one.md" } };
  const { told } = await say("1", { text: `I look.\n${call}`, toolCalls: [real] });
  expect(told).toEqual(["I look.", "fine"]);
});
