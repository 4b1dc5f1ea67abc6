import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exportLines } from "../../shared/objects/exports.ts";
import { parseImport } from "../../shared/objects/imports.ts";
import type { Message } from "../../shared/protocol/messages.ts";
import { requestStop } from "../../shared/session/stop.ts";
import { openBench } from "../agent/bench.ts";
import { startAnthropicServer } from "../support/models/anthropic-server.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer, Reply } from "../support/models/scripted-model.ts";
import { bedrockEnvironment, wires } from "../support/models/wires/wires.ts";
import { type State, startState } from "../support/state.ts";

/** M45: a real conversation, exported, is accepted by servers that refuse what the real ones refuse. */

let state: State;
let messages: Message[];
const saved = { ...process.env };
const origin = { kind: "client" } as const;

/** Replies of a model that errs in every way: odd names, ids and arguments, thoughts alone, two calls at once. */
const script: Reply[] = [
  { text: "I look.", toolCalls: [{ id: "call_0", name: "gsv__ReadFile", arguments: { path: "SOUL.md" } }] },
  { thinking: "hm", toolCalls: [{ id: "call_0", name: "multi_tool_use.parallel", arguments: "[1]" }] },
  {
    toolCalls: [
      { id: "call_9hT2kQ0vXbB3mWcE7sYzRf1a", name: "gsv__ReadFile", arguments: { path: "a\ud800" } },
      { id: "", name: "", arguments: "null" },
    ],
  },
  { text: "Done." },
  { text: "Never answered.", toolCalls: [{ name: "gsv__ReadFile", arguments: { path: "" } }] },
  { text: "Once upon a", stopReason: "length" },
];

beforeAll(async () => {
  Object.assign(process.env, bedrockEnvironment);
  state = await startState();
  messages = await converse();
});
afterAll(async () => {
  process.env = saved;
  await state?.close();
});

/** The transcript of a conversation over the gateway's own agent, with a run that was stopped between two questions. */
async function converse(): Promise<Message[]> {
  const replies = [...script];
  let stop = false;
  const sessionKey = "agent:main:real";
  const server = await startOpenAiServer(async () => {
    if (stop) await requestStop(state.table, sessionKey, "stop", Date.now());
    return replies.shift() ?? {};
  });
  const bench = openBench(state, { provider: "openai-compatible", id: "m", baseUrl: server.url });
  for (const text of ["what is here?", "and now?", " ", "a story"]) {
    stop = text === "and now?";
    await bench.submit(sessionKey, { id: randomUUID(), at: Date.now(), origin, kind: "message", text });
    await bench.invoke(sessionKey);
    if (stop) replies.unshift({ text: "as you like" });
  }
  await server.close();
  return bench.live(sessionKey);
}

const linesOf = (format: "openai" | "anthropic", of: readonly Message[]) =>
  [...exportLines({ agentId: "main", sessionId: "s", messages: of, parts: [] }, format, false)].map((line) =>
    JSON.parse(line),
  );
const throughTurns = (of: readonly Message[]) =>
  parseImport(
    [...exportLines({ agentId: "main", sessionId: "s", messages: of, parts: [] }, "turns", false)].join("\n"),
    "turns",
  );

async function statusOf(server: ModelServer, path: string, body: object): Promise<unknown> {
  const keys = { authorization: "Bearer k", "x-api-key": "k", "anthropic-version": "2023-06-01" };
  const headers = { "content-type": "application/json", ...keys };
  const answer = await fetch(server.url + path, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  await answer.text();
  return { status: answer.status, refused: server.requests.at(-1)?.refused };
}

describe("M45: a conversation of a model that errs", () => {
  it("has what servers refuse", () => {
    const text = JSON.stringify(messages);
    for (const odd of [
      "multi_tool_use.parallel",
      '"providerId":"call_0"',
      '"name":""',
      "stopped by the user",
    ])
      expect(text).toContain(odd);
    expect(throughTurns(messages)).toEqual(messages);
  });

  it("is accepted by OpenAI's chat completions after pi, turns, openai", async () => {
    const server = await startOpenAiServer([{ text: "fine" }]);
    const exported = linesOf("openai", throughTurns(messages));
    const body = { model: "m", messages: [...exported, { role: "user", content: "go on" }] };
    expect(await statusOf(server, "/chat/completions", body)).toEqual({ status: 200 });
    await server.close();
  });

  it("is accepted by Anthropic's Messages API after pi, turns, anthropic", async () => {
    const server = await startAnthropicServer([{ text: "fine" }]);
    const exported = linesOf("anthropic", throughTurns(messages));
    const body = {
      model: "claude-sonnet-4-6",
      max_tokens: 100,
      tools: [{ name: "gsv__ReadFile", input_schema: { type: "object" } }],
      messages: [...exported, { role: "user", content: "go on" }],
    };
    expect(await statusOf(server, "/v1/messages", body)).toEqual({ status: 200 });
    await server.close();
  });

  it.each(Object.entries(wires))(
    "goes on over %s, after pi, turns, pi",
    async (name, { start, model, path = "" }) => {
      const server = await start([{ text: "fine" }]);
      const bench = openBench(state, { ...model, baseUrl: server.url + path });
      const sessionKey = `agent:main:on-${Object.keys(wires).indexOf(name)}`;
      await bench.seed(sessionKey, throughTurns(messages));
      await bench.submit(sessionKey, {
        ...{ id: randomUUID(), at: Date.now(), origin, kind: "message" },
        text: "go on",
      });
      await bench.invoke(sessionKey);
      expect((await bench.live(sessionKey)).at(-1)).toMatchObject({ content: [{ text: "fine" }] });
      expect(server.requests.map(({ refused }) => refused)).toEqual([undefined]);
      await server.close();
    },
  );
});
