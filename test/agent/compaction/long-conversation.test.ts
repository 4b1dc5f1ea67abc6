import { afterAll, beforeAll, expect, it } from "vitest";
import { holdSession } from "../../../functions/agent/session-loop.ts";
import { type Message, textOf, toolCallsOf } from "../../../shared/protocol/messages.ts";
import { readSummaryMessage } from "../../../shared/session/summary-message.ts";
import { isReading, type WindowedScript, withWindow } from "../../support/models/model-window.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelRequest, ModelServer, Reply } from "../../support/models/scripted-model.ts";
import { seededRandom } from "../../support/random.ts";
import { type State, startState } from "../../support/state.ts";
import { openBench } from "../bench.ts";

const contextWindow = 8000;
const turns = 400;
const sessionKey = "agent:main:main";

let state: State;
let model: ModelServer;
let script: WindowedScript;

/** The messages in order, one line each. */
const said: string[] = [];

const words = [
  "ship",
  "harbour",
  "lamp",
  "eleven",
  "grün",
  "naïve",
  "→",
  "\n",
  '"quoted"',
  "日本語",
  "🧭",
  "{}",
];
const random = seededRandom(7);
const prose = (most: number) =>
  `${random.text(
    words.map((word) => `${word} `),
    most,
  )}.`;

let callNumber = 0;
let summaryNumber = 0;

/** Reads a file or two in most turns, now and then a long one, and then answers. */
function talk(request: ModelRequest): Reply {
  if (isReading(request)) {
    const text = `Summary ${++summaryNumber}: ${prose(60)}`;
    return { text: `<summary>${text}</summary><memories>- ${prose(6)}</memories>` };
  }
  const last = request.turns.at(-1)!;
  if (last.role === "user" && random.integer(6) > 0) {
    const file = () =>
      random.pick(["short", "short", "short", "missing", "short", random.pick(["short", "long"])]);
    const toolCalls = Array.from({ length: random.pick([1, 1, 2, 3]) }, () => ({
      id: `call_${++callNumber}`,
      name: "gsv__ReadFile",
      arguments: { path: `notes/${file()}.md` },
    }));
    const text = random.integer(2) === 0 ? prose(20) : "";
    said.push(
      `assistant ${text} ${toolCalls.map(({ id }) => id).join()}`,
      ...toolCalls.map(({ id }) => `result ${id}`),
    );
    return { text, toolCalls };
  }
  const text = prose(40);
  said.push(`assistant ${text} `);
  return { text };
}

/** The model's ids of the calls, by those that the gateway gave them. */
const idsSaid = new Map<string, string | undefined>();

const line = (message: Message): string => {
  if (message.role === "toolResult") return `result ${idsSaid.get(message.toolCallId)}`;
  const calls = toolCallsOf(message).map(({ providerId }) => providerId);
  for (const { id, providerId } of toolCallsOf(message)) idsSaid.set(id, providerId);
  return message.role === "user" ? `user ${textOf(message)}` : `assistant ${textOf(message)} ${calls.join()}`;
};

beforeAll(async () => {
  state = await startState();
  script = withWindow(contextWindow, talk);
  model = await startOpenAiServer(script);
});
afterAll(async () => {
  await model?.close();
  await state?.close();
});

it("of 400 turns with tools stays under a window of 8,000 tokens, and no message is lost", async () => {
  const chosen = { provider: "openai-compatible", id: "m", baseUrl: model.url, contextWindow };
  const bench = openBench(state, chosen);
  let agent = bench.agent();
  await agent.workspace.write("main", "notes/short.md", "a short note\n".repeat(10));
  await agent.workspace.write("main", "notes/long.md", "a line of a long file\n".repeat(350));
  for (let turn = 0; turn < turns; turn++) {
    // A cold start now and then: nothing may depend on the caches of a warm function.
    if (turn % 40 === 0) agent = bench.agent();
    const text = `turn ${turn}: ${prose(random.integer(25) === 0 ? 1500 : 30)}`;
    said.push(`user ${text}`);
    const origin = { kind: "client" } as const;
    await bench.submit(sessionKey, { id: `turn-${turn}`, at: Date.now(), origin, kind: "message", text });
    await holdSession(agent, sessionKey, () => 900_000);
  }

  expect(script.refused).toBe(0);
  expect(Math.max(...script.sizes)).toBeLessThanOrEqual(contextWindow);
  // The server refuses what a provider refuses: a call without its results, a result without its call.
  expect(model.requests.every(({ status }) => status === 200)).toBe(true);
  const bodies = model.requests.map(({ body }) => JSON.stringify(body));
  expect(new Set(bodies).size).toBe(bodies.length);

  const parts = await bench.parts(sessionKey);
  expect(parts.length).toBeGreaterThan(10);
  const live = await bench.live(sessionKey);
  const all = [...parts.flat(), ...live].filter((message) => !readSummaryMessage(message));
  const isMarker = (message: Message) => message.role === "assistant" && message.errorMessage !== undefined;
  expect(all.filter((message) => !isMarker(message)).map(line)).toEqual(said);
  // One summary at the head of each part except the first, and of the live messages: each includes the one before.
  const summaries = [...parts.slice(1), live].map((messages) =>
    messages.map((one) => readSummaryMessage(one)),
  );
  for (const [first, ...others] of summaries) {
    expect(first).toBeDefined();
    expect(others.every((one) => one === undefined)).toBe(true);
  }
  expect(readSummaryMessage(live[0])!.count).toBe(all.length - (live.length - 1));
  const { first, head } = await bench.state(sessionKey);
  expect(await bench.items(sessionKey)).toHaveLength(head - first + 1);
}, 240_000);
