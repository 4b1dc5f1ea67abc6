import { afterEach, beforeEach, expect, it } from "vitest";
import { startAnthropicServer } from "./anthropic-server.ts";
import type { ModelServer } from "./scripted-model.ts";

let server: ModelServer;
beforeEach(async () => {
  server = await startAnthropicServer(() => ({ text: ["Hel", "lo"] }), { apiKey: "right" });
});
afterEach(() => server.close());

const headers = {
  "x-api-key": "right",
  "anthropic-version": "2023-06-01",
  "content-type": "application/json",
};
const user = { role: "user", content: "hello" };
const tool = { name: "look", input_schema: { type: "object" } };
const use = (id: string) => ({ type: "tool_use", id, name: "look", input: {} });
const result = (id: string) => ({ type: "tool_result", tool_use_id: id, content: "seen" });
const good = { model: "m", max_tokens: 100, messages: [user] };

async function post(body: unknown, extra: Record<string, string> = {}) {
  const response = await fetch(`${server.url}/v1/messages?beta=true`, {
    method: "POST",
    headers: { ...headers, ...extra },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

async function refusal(body: unknown, extra: Record<string, string> = {}) {
  const { status, text } = await post(body, extra);
  const { type, error } = JSON.parse(text) as { type: string; error: { type: string; message: string } };
  expect(type).toBe("error");
  return `${status} ${error.type}: ${error.message}`;
}

it("streams the published sequence of events", async () => {
  const { text } = await post({ ...good, stream: true });
  const events = text
    .trim()
    .split("\n\n")
    .map((one) => one.split("\n"));
  expect(events.map(([name]) => name)).toEqual(
    [
      "message_start",
      "content_block_start",
      "ping",
      "content_block_delta",
      "content_block_delta",
      "content_block_stop",
      "message_delta",
      "message_stop",
    ].map((name) => `event: ${name}`),
  );
  for (const [name, data] of events) {
    expect(JSON.parse(data?.replace("data: ", "") ?? "").type).toBe(name?.replace("event: ", ""));
  }
});

it("answers in one piece if no stream is requested", async () => {
  const { status, text } = await post(good);
  expect(status).toBe(200);
  expect(JSON.parse(text)).toMatchObject({
    type: "message",
    role: "assistant",
    content: [{ type: "text", text: "Hello" }],
    stop_reason: "end_turn",
    usage: { output_tokens: 2 },
  });
});

it("requires the key and the version header", async () => {
  expect(await refusal(good, { "x-api-key": "" })).toBe(
    "401 authentication_error: x-api-key header is required",
  );
  expect(await refusal(good, { "x-api-key": "wrong" })).toBe("401 authentication_error: invalid x-api-key");
  expect(await refusal(good, { "anthropic-version": "1" })).toMatch(/^400 .*"1" is not a valid version/);
});

it.each([
  ["not JSON", "{", "The request body is not valid JSON"],
  ["no max_tokens", { model: "m", messages: [user] }, "max_tokens: Field required"],
  ["max_tokens 0", { ...good, max_tokens: 0 }, "max_tokens: Input should be greater than or equal to 1"],
  ["no messages", { ...good, messages: [] }, "messages: at least one message is required"],
  ["an unknown field", { ...good, foo: 1 }, "foo: Extra inputs are not permitted"],
  [
    "an assistant message first",
    { ...good, messages: [{ role: "assistant", content: "hi" }, user] },
    'messages: first message must use the "user" role',
  ],
  [
    "an assistant message last",
    { ...good, messages: [user, { role: "assistant", content: "hi" }] },
    /prefill/,
  ],
  [
    "empty text",
    { ...good, messages: [{ role: "user", content: "" }] },
    /text content blocks must be non-empty/,
  ],
  [
    "blank text",
    { ...good, messages: [{ role: "user", content: " \n" }] },
    /must contain non-whitespace text/,
  ],
  [
    "a part of unknown type",
    { ...good, messages: [{ role: "user", content: [{ type: "foo" }] }] },
    /^messages\.0\.content\.0\.type: Input should be /,
  ],
  [
    "a tool name with a dot",
    { ...good, tools: [{ ...tool, name: "a.b" }] },
    "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
  ],
  [
    "a tool name of 129 characters",
    { ...good, tools: [{ ...tool, name: "a".repeat(129) }] },
    /match pattern/,
  ],
  ["two tools of one name", { ...good, tools: [tool, tool] }, "tools: Tool names must be unique."],
  [
    "five cache marks",
    {
      ...good,
      messages: [
        {
          role: "user",
          content: [1, 2, 3, 4, 5].map((n) => ({ type: "text", text: `${n}`, cache_control: {} })),
        },
      ],
    },
    "A maximum of 4 blocks with cache_control may be provided. Found 5.",
  ],
  [
    "a thinking budget over max_tokens",
    { ...good, max_tokens: 1024, thinking: { type: "enabled", budget_tokens: 1024 } },
    /`max_tokens` must be greater than `thinking.budget_tokens`/,
  ],
  [
    "a thinking block it did not write",
    {
      ...good,
      messages: [
        user,
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "hm", signature: "x" },
            { type: "text", text: "so" },
          ],
        },
        user,
      ],
    },
    "messages.1.content.0: Invalid `signature` in `thinking` block",
  ],
  [
    "a reply that ends in thought",
    {
      ...good,
      messages: [
        user,
        { role: "assistant", content: [{ type: "thinking", thinking: "hm", signature: "x" }] },
        user,
      ],
    },
    "messages.1: The final block in an assistant message cannot be `thinking`.",
  ],
  [
    "the same id for two calls",
    {
      ...good,
      tools: [{ name: "look", input_schema: { type: "object" } }],
      messages: [
        user,
        { role: "assistant", content: [use("a")] },
        { role: "user", content: [result("a")] },
        { role: "assistant", content: [use("a")] },
        { role: "user", content: [result("a")] },
      ],
    },
    "messages: `tool_use` ids must be unique",
  ],
])("refuses %s", async (_name, body, message) => {
  const refused = await refusal(body);
  expect(refused).toMatch(/^400 invalid_request_error: /);
  const said = refused.replace("400 invalid_request_error: ", "");
  if (typeof message === "string") expect(said).toBe(message);
  else expect(said).toMatch(message);
});

it("requires a result for every tool call at the start of the next user turn, and for nothing else", async () => {
  const turns = (...messages: unknown[]) => ({ ...good, tools: [tool], messages: [user, ...messages] });
  const asked = { role: "assistant", content: [{ type: "text", text: "so" }, use("a"), use("b")] };
  const both = { role: "user", content: [result("b"), result("a"), { type: "text", text: "go on" }] };
  expect((await post(turns(asked, both))).status).toBe(200);
  expect(
    (
      await post(
        turns(asked, { role: "user", content: [result("a")] }, { role: "user", content: [result("b")] }),
      )
    ).status,
  ).toBe(200);

  expect(await refusal(turns(asked, { role: "user", content: [result("a")] }))).toMatch(
    /messages\.1: `tool_use` ids were found without `tool_result` blocks immediately after: b\./,
  );
  expect(await refusal(turns(asked, user))).toMatch(/immediately after: a, b\./);
  const late = { role: "user", content: [{ type: "text", text: "first" }, result("a"), result("b")] };
  expect(await refusal(turns(asked, late))).toMatch(/immediately after: a, b\./);
  const stray = { role: "user", content: [result("a"), result("b"), result("c")] };
  expect(await refusal(turns(asked, stray))).toMatch(
    /messages\.2\.content\.2: unexpected `tool_use_id` found in `tool_result` blocks: c\./,
  );
  expect(
    await refusal(
      turns(asked, both, { role: "assistant", content: "ok" }, { role: "user", content: [result("a")] }),
    ),
  ).toMatch(/messages\.4\.content\.0: unexpected `tool_use_id`/);
});

it("requires a tool turn to start with thinking while thinking is on, and then always thinks", async () => {
  const on = { ...good, max_tokens: 4000, thinking: { type: "enabled", budget_tokens: 1024 }, tools: [tool] };
  const answer = JSON.parse((await post(on)).text) as { content: { type: string }[] };
  expect(answer.content.map((block) => block.type)).toEqual(["thinking", "text"]);
  const results = { role: "user", content: [result("a")] };
  const kept = { role: "assistant", content: [answer.content[0], use("a")] };
  expect((await post({ ...on, messages: [user, kept, results] })).status).toBe(200);
  const lost = { role: "assistant", content: [use("a")] };
  expect(await refusal({ ...on, messages: [user, lost, results] })).toMatch(
    /messages\.1\.content\.0\.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`/,
  );
});

it("records refused requests without using up the script", async () => {
  await refusal({ ...good, max_tokens: -1 });
  await post(good);
  expect(server.requests.map((request) => request.status)).toEqual([400, 200]);
  expect(server.requests[0]).toMatchObject({ body: { max_tokens: -1 }, refused: { type: "error" } });
});

it("answers 404 outside its path and 413 to a body over 32 MB", async () => {
  expect((await fetch(`${server.url}/v1/other`, { method: "POST" })).status).toBe(404);
  const big = JSON.stringify({ ...good, system: "x".repeat(32 * 1024 * 1024) });
  expect(await refusal(big)).toMatch(/^413 request_too_large/);
});
