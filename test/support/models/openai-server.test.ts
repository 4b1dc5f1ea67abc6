import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startOpenAiServer } from "./openai-server.ts";
import type { ModelServer } from "./scripted-model.ts";

let server: ModelServer;
beforeEach(async () => {
  const toolCalls = [{ id: "call_1", name: "look", arguments: { at: "the sky above" } }];
  server = await startOpenAiServer(
    (request) => (request.tools.length > 0 ? { toolCalls } : { text: ["Hel", "lo"] }),
    {
      apiKey: "right",
    },
  );
});
afterEach(() => server.close());

async function post(path: string, body: unknown, authorization = "Bearer right") {
  const response = await fetch(server.url + path, {
    method: "POST",
    headers: { authorization, "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

async function refusal(path: string, body: unknown, authorization?: string) {
  const { status, text } = await post(path, body, authorization);
  const { error } = JSON.parse(text) as {
    error: { message: string; type: string; param: unknown; code: unknown };
  };
  expect(Object.keys(error).sort()).toEqual(["code", "message", "param", "type"]);
  return `${status} ${error.code ?? error.type}: ${error.message}`;
}

function events(text: string): { name?: string; data: string }[] {
  return text
    .trim()
    .split("\n\n")
    .map((block) => {
      const lines = block.split("\n");
      return {
        name: lines.find((line) => line.startsWith("event: "))?.slice(7),
        data: lines.find((line) => line.startsWith("data: "))?.slice(6) ?? "",
      };
    });
}

const user = { role: "user", content: "hello" };

it("requires the key", async () => {
  for (const path of ["/chat/completions", "/responses"]) {
    expect(await refusal(path, {}, "")).toMatch(/^401 invalid_request_error: You didn't provide an API key/);
    expect(await refusal(path, {}, "Bearer wrong")).toMatch(
      /^401 invalid_api_key: Incorrect API key provided: wron/,
    );
  }
});

describe("chat completions", () => {
  const path = "/chat/completions";
  const good = { model: "m", messages: [user] };
  const tool = { type: "function", function: { name: "look", parameters: { type: "object" } } };
  const call = (id: string) => ({ id, type: "function", function: { name: "look", arguments: "{}" } });
  const asked = { role: "assistant", content: null, tool_calls: [call("a"), call("b")] };
  const result = (id: string) => ({ role: "tool", tool_call_id: id, content: "seen" });

  it("streams the role, the text, the finish reason, the usage and [DONE]", async () => {
    const { text } = await post(path, { ...good, stream: true, stream_options: { include_usage: true } });
    const data = events(text).map((event) => event.data);
    expect(data.at(-1)).toBe("[DONE]");
    const chunks = data.slice(0, -1).map((one) => JSON.parse(one));
    expect(new Set(chunks.map((chunk) => `${chunk.object} ${chunk.id}`)).size).toBe(1);
    expect(chunks[0].choices[0].delta).toMatchObject({ role: "assistant", content: "" });
    expect(chunks.slice(1, 3).map((chunk) => chunk.choices[0].delta)).toEqual([
      { content: "Hel" },
      { content: "lo" },
    ]);
    expect(chunks[3].choices[0]).toMatchObject({ delta: {}, finish_reason: "stop" });
    expect(chunks[4]).toMatchObject({ choices: [], usage: { completion_tokens: 2 } });
    expect(chunks.slice(0, 4).map((chunk) => chunk.usage)).toEqual([null, null, null, null]);
  });

  it("sends no usage chunk unless it is requested", async () => {
    const { text } = await post(path, { ...good, stream: true });
    expect(text).not.toContain("usage");
  });

  it("streams a tool call as its head and then pieces of its arguments", async () => {
    const { text } = await post(path, { ...good, tools: [tool], stream: true });
    const deltas = events(text)
      .slice(0, -1)
      .flatMap((event) => JSON.parse(event.data).choices[0].delta.tool_calls ?? []);
    expect(deltas[0]).toEqual({
      index: 0,
      id: "call_1",
      type: "function",
      function: { name: "look", arguments: "" },
    });
    expect(deltas.length).toBeGreaterThan(2);
    expect(deltas.map((delta) => delta.function.arguments).join("")).toBe('{"at":"the sky above"}');
  });

  it("answers in one piece if no stream is requested", async () => {
    const { text } = await post(path, { ...good, tools: [tool] });
    expect(JSON.parse(text)).toMatchObject({
      object: "chat.completion",
      choices: [
        {
          finish_reason: "tool_calls",
          message: { role: "assistant", content: null, tool_calls: [{ id: "call_1" }] },
        },
      ],
    });
  });

  it.each([
    [
      "a body that is not JSON",
      "{",
      "invalid_request_error: We could not parse the JSON body of your request.",
    ],
    ["no messages", { model: "m" }, "missing_required_parameter: Missing required parameter: 'messages'."],
    ["empty messages", { model: "m", messages: [] }, /^empty_array: Invalid 'messages'/],
    ["an unknown argument", { ...good, foo: 1 }, /Unrecognized request argument supplied: foo$/],
    [
      "an unknown role",
      { model: "m", messages: [{ role: "bot", content: "x" }] },
      /^invalid_value: Invalid value: 'bot'/,
    ],
    [
      "a wrong type",
      { model: "m", messages: [{ role: "user", content: 5 }] },
      /^invalid_type: Invalid type for 'messages\[0\]\.content'/,
    ],
    ["an empty tool list", { ...good, tools: [] }, /^empty_array/],
    ["129 tools", { ...good, tools: Array(129).fill(tool) }, /^array_above_max_length/],
    [
      "a tool name of 65 characters",
      { ...good, tools: [{ type: "function", function: { name: "a".repeat(65) } }] },
      /^string_above_max_length: Invalid 'tools\[0\]\.function\.name'/,
    ],
    [
      "a tool name with a dot",
      { ...good, tools: [{ type: "function", function: { name: "a.b" } }] },
      /^invalid_value/,
    ],
    [
      "stream options without a stream",
      { ...good, stream_options: { include_usage: true } },
      /only allowed when 'stream'/,
    ],
    [
      "an empty assistant message",
      { model: "m", messages: [user, { role: "assistant", content: null }, user] },
      /expected a string, got null/,
    ],
    [
      "a tool call id of 41 characters",
      {
        model: "m",
        messages: [user, { ...asked, tool_calls: [call("a".repeat(41))] }, result("a".repeat(41))],
      },
      /^string_above_max_length: Invalid 'messages\[1\]\.tool_calls\[0\]\.id'/,
    ],
    [
      "an unanswered tool call",
      { model: "m", messages: [user, asked, result("a")] },
      /did not have response messages: b$/,
    ],
    [
      "a user message before the results",
      { model: "m", messages: [user, asked, user, result("a"), result("b")] },
      /response messages: a, b$/,
    ],
    [
      "a result for an unknown call",
      { model: "m", messages: [user, asked, result("c")] },
      /'tool_call_id' of 'c' not found/,
    ],
    [
      "a result without a call",
      { model: "m", messages: [user, result("a")] },
      /must be a response to a preceeding message/,
    ],
  ])("refuses %s", async (_name, body, message) => {
    const refused = await refusal(path, body);
    expect(refused).toMatch(/^400 /);
    const said = refused.slice(4);
    if (typeof message === "string") expect(said).toBe(message);
    else expect(said).toMatch(message);
  });

  it("accepts results in any order", async () => {
    const messages = [user, asked, result("b"), result("a"), { role: "assistant", content: "ok" }, user];
    expect((await post(path, { model: "m", messages })).status).toBe(200);
  });
});

describe("responses", () => {
  const path = "/responses";
  const good = { model: "m", input: "hello" };
  const call = (id: string) => ({ type: "function_call", call_id: id, name: "look", arguments: "{}" });
  const output = (id: string) => ({ type: "function_call_output", call_id: id, output: "seen" });
  const reasoning = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "x" };
  const input = (...items: unknown[]) => ({ model: "m", input: [user, ...items] });

  it("streams the published sequence of events, numbered", async () => {
    const { text } = await post(path, { ...good, stream: true });
    const sent = events(text);
    expect(sent.map((event) => event.name)).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed",
    ]);
    const data = sent.map((event) => JSON.parse(event.data));
    expect(data.map((one) => one.type)).toEqual(sent.map((event) => event.name));
    expect(data.map((one) => one.sequence_number)).toEqual(data.map((_, i) => i));
    expect(data.at(-1).response).toMatchObject({
      status: "completed",
      output: [{ content: [{ text: "Hello" }] }],
    });
  });

  it("answers in one piece when no stream is asked for", async () => {
    const tools = [{ type: "function", name: "look", parameters: {} }];
    expect(JSON.parse((await post(path, { ...good, tools })).text)).toMatchObject({
      object: "response",
      status: "completed",
      output: [{ type: "function_call", call_id: "call_1", arguments: '{"at":"the sky above"}' }],
    });
  });

  it.each([
    ["no input", { model: "m" }, "missing_required_parameter: Missing required parameter: 'input'."],
    ["an unknown parameter", { ...good, foo: 1 }, "unknown_parameter: Unknown parameter: 'foo'."],
    ["too small an output limit", { ...good, max_output_tokens: 15 }, /^integer_below_min_value/],
    [
      "a tool name with a dot",
      { ...good, tools: [{ type: "function", name: "a.b" }] },
      /^invalid_value: Invalid 'tools\[0\]\.name'/,
    ],
    [
      "an unanswered call",
      input(call("a")),
      "invalid_request_error: No tool output found for function call a.",
    ],
    [
      "an output without its call",
      input(output("a")),
      "invalid_request_error: No tool call found for function call output with call_id a.",
    ],
    [
      "an item id of another kind",
      input({ ...call("a"), id: "msg_1" }, output("a")),
      /Expected an ID that begins with 'fc'/,
    ],
    [
      "input parts in an assistant message",
      input({ role: "assistant", content: [{ type: "input_text", text: "x" }] }),
      /Invalid value: 'input_text'/,
    ],
    ["reasoning with nothing after it", input(reasoning), /was provided without its required following item/],
    [
      "reasoning that was never stored",
      input({ ...reasoning, encrypted_content: null }, call("a"), output("a")),
      /Item with id 'rs_1' not found/,
    ],
  ])("refuses %s", async (_name, body, message) => {
    const refused = await refusal(path, body);
    expect(refused).toMatch(/^400 /);
    const said = refused.slice(4);
    if (typeof message === "string") expect(said).toBe(message);
    else expect(said).toMatch(message);
  });

  it("accepts reasoning, calls and their outputs back", async () => {
    const body = input(reasoning, { ...call("a"), id: "fc_1" }, call("b"), output("b"), output("a"));
    expect((await post(path, body)).status).toBe(200);
    expect(server.requests.at(-1)?.turns).toMatchObject([
      { role: "user" },
      { role: "assistant", toolCalls: [{ id: "a" }, { id: "b" }] },
      { role: "tool", toolCallId: "b", text: "seen" },
      { role: "tool", toolCallId: "a" },
    ]);
  });
});
