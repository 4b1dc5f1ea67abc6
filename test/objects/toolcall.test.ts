import { describe, expect, it } from "vitest";
import { argsDisplay, callsOf, toolcallObject } from "../../shared/objects/toolcall.ts";
import type { AssistantMessage, Message, ToolResultMessage } from "../../shared/protocol/messages.ts";

const chat = {
  id: "chat:s1",
  version_no: 1,
  at: 2,
  content_hash: "a",
  metadata_view_hash: "b",
  object_hash: "c",
  turn: 0,
};

const calling = (...blocks: [id: string, providerId?: string][]): AssistantMessage => ({
  role: "assistant",
  content: blocks.map(([id, providerId]) => ({
    type: "toolCall",
    id,
    ...(providerId === undefined ? {} : { providerId }),
    name: "laptop__Bash",
    arguments: { command: "ls -la", deep: { list: [1, null] } },
  })),
  timestamp: 2,
});

const result = (toolCallId: string, text: string, isError = false): ToolResultMessage => ({
  role: "toolResult",
  toolCallId,
  toolName: "laptop__Bash",
  content: [{ type: "text", text }],
  isError,
  timestamp: 3,
});

const objectsOf = (messages: readonly Message[]) =>
  callsOf(messages).map((call) => toolcallObject(call, 2, chat));

describe("objects of calls", () => {
  it("M19, M20: a call has its arguments as they were said, one line of them, its outcome, its turn and its output", () => {
    const [object] = objectsOf([calling(["toolu_1"]), result("toolu_1", "total 0\n")]);
    expect(object).toMatchObject({
      id: "toolu_1",
      type: "toolcall",
      content: "total 0\n",
      locked: false,
      provenance: { origin: "laptop", generator: "tool", parent_refs: ["chat:s1"] },
      version_no: 2,
      at: 3,
      tool: "laptop__Bash",
      args: { command: "ls -la", deep: { list: [1, null] } },
      args_display: 'laptop__Bash: "ls -la"',
      status: "ok",
      chat_ref: chat,
      result_at: 3,
    });
    expect(objectsOf([calling(["toolu_1"]), result("toolu_1", "Error: no", true)])[0]?.status).toBe("fail");
  });

  it("M20: version 1 is the call alone, and has no content", () => {
    const [call] = callsOf([calling(["toolu_1"]), result("toolu_1", "out")]);
    if (!call) throw new Error("there is a call");
    const object = toolcallObject(call, 1, chat);
    expect(object).toMatchObject({ version_no: 1, at: 2, status: "pending", content: null });
    expect(object).not.toHaveProperty("result_at");
  });

  it("M16, M17: the object's id is the call's, and the provider's is a field where it differs", () => {
    const objects = objectsOf([calling(["toolu_1"], ["0199-uuid", "call_0"])]);
    expect(objects.map(({ id, provider_id }) => [id, provider_id])).toEqual([
      ["toolu_1", undefined],
      ["0199-uuid", "call_0"],
    ]);
  });

  it("M4, M17: a later call with the id of an earlier one is another object, with its own result", () => {
    const messages = [
      calling(["call_0"]),
      result("call_0", "first"),
      calling(["call_0"]),
      result("call_0", "second"),
    ];
    expect(objectsOf(messages).map(({ id, call_id, content }) => [id, call_id, content])).toEqual([
      ["call_0", undefined, "first"],
      ["call_0~2", "call_0", "second"],
    ]);
  });

  it("M21: a second result of a call changes nothing", () => {
    const messages = [calling(["toolu_1"]), result("toolu_1", "first"), result("toolu_1", "second")];
    expect(objectsOf(messages).map(({ content }) => content)).toEqual(["first"]);
  });
});

describe("the line of a call's arguments", () => {
  it("M19: is the tool and its main argument, in one line of at most 80 characters", () => {
    expect(argsDisplay("bash", { timeout: 3, command: "ls -la" })).toBe('bash: "ls -la"');
    expect(argsDisplay("gsv__Cron", { when: { every: 3 } })).toBe('gsv__Cron: {"when":{"every":3}}');
    expect(argsDisplay("t", {})).toBe("t: {}");
    expect(argsDisplay("t", undefined)).toBe("t:");
    const long = argsDisplay("t", { path: `a\nb\u2028c\u202e${"🐙".repeat(100)}` });
    expect(long.length).toBeLessThanOrEqual(80);
    expect(long).not.toMatch(/[\n\u2028]/);
    expect(long.isWellFormed()).toBe(true);
  });
});
