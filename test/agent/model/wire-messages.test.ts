import { describe, expect, it } from "vitest";
import { rulesOf } from "../../../functions/agent/model/ask-model.ts";
import { withCallIds } from "../../../functions/agent/model/call-ids.ts";
import { toWire as wireMessages } from "../../../shared/objects/wire-messages.ts";
import {
  type AssistantMessage,
  type Message,
  type ToolCallBlock,
  toolCallsOf,
} from "../../../shared/protocol/messages.ts";
import { assistant, result, user } from "../compaction/transcripts.ts";

const anthropic = { api: "anthropic-messages", provider: "anthropic", id: "claude-sonnet-4-6" } as const;
const completions = { api: "openai-completions", provider: "openai-compatible", id: "m" } as const;
const responses = { api: "openai-responses", provider: "openai", id: "gpt-5" } as const;
const mistral = { api: "mistral-conversations", provider: "mistral", id: "mistral-large-latest" } as const;
type Target = Parameters<typeof rulesOf>[0];
const toWire = (messages: readonly Message[], to: Target) => wireMessages(messages, to, rulesOf(to));

/** A reply of `by` with one call, as it is stored, and its result. */
function exchange(by: Target, call: Partial<ToolCallBlock>): Message[] {
  const content: AssistantMessage["content"] = [
    { type: "toolCall", id: "call_1", name: "Bash", arguments: {}, ...call },
  ];
  const { api, provider, id: model } = by;
  const reply = withCallIds({ role: "assistant", api, provider, model, content, timestamp: 2 }, [], 5);
  const [stored] = toolCallsOf(reply);
  return [user("go"), reply, { ...result(stored!.id, "done"), toolName: stored!.name } as Message];
}

/** The call and its result as they are sent. */
function sent(messages: readonly Message[], to: Target) {
  const [, reply, answer] = toWire(messages, to);
  const [call] = toolCallsOf(reply!);
  if (answer?.role !== "toolResult" || !call) throw new Error("the call or its result is missing");
  expect(answer.toolCallId).toBe(call.id);
  expect(answer.toolName).toBe(call.name);
  return call;
}

describe("the id of a call", () => {
  it.each([
    [anthropic, "toolu_01ABC"],
    [completions, "call_0123456789"],
    [responses, "call_1|fc_2"],
    [mistral, "a1B2c3D4e"],
  ])("goes back to the provider that made it: $0.api", (wire, id) => {
    expect(sent(exchange(wire, { id }), wire).id).toBe(id);
  });

  const minted = /^[0-9a-f-]{36}$/;
  const nine = /^[0-9a-f]{9}$/;
  it.each([
    [anthropic, "a.b", minted],
    [anthropic, "x".repeat(65), minted],
    [completions, "x".repeat(41), nine],
    [completions, "", minted],
    [responses, "call_1|item_2", minted],
    [mistral, "call_0123456789", nine],
  ])("is replaced by a stable id if the provider would refuse it: $0.api %j", (wire, id, shape) => {
    const messages = exchange(wire, { id });
    const chosen = sent(messages, wire).id;
    expect(chosen).toMatch(shape);
    expect(sent(messages, wire).id).toBe(chosen);
  });

  it("M18: is the stored id for every other provider that accepts it", () => {
    for (const id of ["toolu_01XFDUDYJgAACzvnptvVer6R", "call_0"]) {
      const messages = exchange(anthropic, { id });
      const [stored] = messages.flatMap(toolCallsOf);
      expect(sent(messages, completions).id).toBe(stored!.id);
      expect(sent(messages, mistral).id).toMatch(nine);
    }
  });

  it("of an earlier stored message stays, if the provider accepts it", () => {
    const stored = (id: string) => [user("go"), assistant("", id), result(id, "done")];
    expect(sent(stored("toolu_1"), anthropic).id).toBe("toolu_1");
    expect(sent(stored("toolu:1"), anthropic).id).toMatch(/^[0-9a-f]{9}$/);
  });

  it("is unique even if the provider repeats it", () => {
    const twice = [...exchange(anthropic, { id: "call_0" }), ...exchange(anthropic, { id: "call_0" })];
    const [first, second] = toWire(twice, anthropic).flatMap(toolCallsOf);
    expect(first?.id).toBe("call_0");
    expect(second?.id).not.toBe("call_0");
    const results = toWire(twice, anthropic).filter((one) => one.role === "toolResult");
    expect(results.map(({ toolCallId }) => toolCallId)).toEqual([first?.id, second?.id]);
  });
});

describe("the name of a tool", () => {
  it.each([
    ["Bash", "Bash"],
    ["multi_tool_use.parallel", "multi_tool_use_parallel"],
    ["a b", "a_b"],
    ["ns:tool", "ns_tool"],
    ["3d", "_3d"],
    ["", "_"],
    ["x".repeat(130), "x".repeat(64)],
  ])("%j is sent as %j", (name, shown) => {
    expect(sent(exchange(anthropic, { name }), anthropic).name).toBe(shown);
  });
});

describe("arguments", () => {
  it.each([
    [{ a: 1 }, { a: 1 }],
    ["text", { arguments: "text" }],
    [7, { arguments: 7 }],
    [["a"], { arguments: ["a"] }],
    [null, {}],
    [{ a: ["\ud800"] }, { a: ["\ufffd"] }],
  ])("%j are sent as %j", (said, shown) => {
    expect(sent(exchange(anthropic, { arguments: said }), anthropic).arguments).toEqual(shown);
  });
});

describe("turns", () => {
  const stopped = [user("go"), assistant("", "a"), result("a", "done"), user("why?"), user("hello?")];
  const roles = (to: Target) => toWire(stopped, to).map(({ role }) => role);

  it.each([
    mistral,
    completions,
    { ...anthropic, api: "bedrock-converse-stream", id: "mistral.mistral-large-2407-v1:0" } as const,
  ])("of an ended run alternate if the model requires it: $api", (wire) => {
    expect(roles(wire)).toEqual(["user", "assistant", "toolResult", "assistant", "user"]);
    expect(toWire(stopped, wire).at(-1)?.content).toMatchObject([{ text: "why?" }, { text: "hello?" }]);
  });

  it("are unchanged for other models", () => {
    expect(roles(anthropic)).toEqual(stopped.map(({ role }) => role));
  });

  it("with only thoughts are omitted, also after an answer", () => {
    const thought = { type: "thinking", thinking: "hm", thinkingSignature: "s" } as const;
    const reply: AssistantMessage = {
      role: "assistant",
      content: [thought, { type: "text", text: "so" }, thought],
      timestamp: 2,
    };
    const messages = [user("go"), reply, user("and?"), { ...reply, content: [thought] }, user("well?")];
    expect(toWire(messages, anthropic)).toMatchObject([
      { role: "user" },
      { content: [thought, { text: "so" }] },
      { role: "user" },
      { role: "user" },
    ]);
  });

  it("with only white space say that they are empty", () => {
    expect(toWire([user(" ")], anthropic)).toMatchObject([{ content: "(empty message)" }]);
  });
});
