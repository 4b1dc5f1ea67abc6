import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "vitest";
import { exportLines } from "../../shared/objects/exports.ts";
import { parseImport } from "../../shared/objects/imports.ts";
import type { Message } from "../../shared/protocol/messages.ts";
import { type ExportFormat, exportFormats } from "../../shared/protocol/objects.ts";
import { seededRandom } from "../support/random.ts";
import { randomTranscript } from "../support/random-transcript.ts";

const at = Date.parse("2026-04-24T10:00:00Z");
const sessionId = "0b9e2c3a-6f1d-4c55-9f2e-7a3d5f0c1e11";
const toolId = "toolu_01XFDUDYJgAACzvnptvVer6R";
const messages: Message[] = [
  {
    role: "user",
    content: "what is here?",
    origin: {
      channel: "telegram",
      accountId: "bot",
      peerKind: "dm",
      peerId: "7",
      senderId: "user123",
      messageId: "77",
    },
    timestamp: at,
  },
  {
    role: "assistant",
    content: [
      { type: "thinking", thinking: "hm", thinkingSignature: "c2ln" },
      { type: "text", text: "I look." },
      { type: "toolCall", id: toolId, name: "laptop__Bash", arguments: { command: "ls -la" } },
    ],
    api: "anthropic-messages",
    provider: "anthropic",
    model: "claude",
    usage: {
      ...{ input: 1, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 3, unpriced: true },
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
    },
    stopReason: "toolUse",
    context: { prompt: "p", tail: "t", active: "a", model: "anthropic/claude" },
    timestamp: at + 1000,
  },
  {
    role: "toolResult",
    toolCallId: toolId,
    toolName: "laptop__Bash",
    content: [{ type: "text", text: "plan.md" }],
    isError: false,
    timestamp: at + 2000,
  },
  { role: "assistant", content: [{ type: "text", text: "A plan." }], timestamp: at + 3000 },
  {
    role: "user",
    content: [
      { type: "text", text: "and this?" },
      { type: "image", mimeType: "image/png", r2Key: "media/x.png", size: 4 },
    ],
    origin: { channel: "client", messageId: "5f0c1e11-6f1d-4c55-9f2e-7a3d5f0c1e11" },
    timestamp: at + 4000,
  },
];
const conversation = {
  agentId: "kate",
  sessionId,
  sessionKey: "agent:kate:main",
  messages,
  parts: [{ at: at + 3500, messages: 4 }],
};
const linesOf = (format: ExportFormat, of: Partial<typeof conversation> = {}, redact = false) =>
  [...exportLines({ ...conversation, ...of }, format, redact)].map((line) => JSON.parse(line));

describe("an export as nexo", () => {
  it("I13: begins with the session's header, once", () => {
    const lines = linesOf("nexo");
    expect(lines[0]).toEqual({
      type: "session",
      version: 1,
      id: sessionId,
      timestamp: "2026-04-24T10:00:00.000Z",
      agent_id: "kate",
      source_plugin: "telegram",
    });
    expect(lines.filter(({ type }) => type === "session")).toHaveLength(1);
  });

  it("I14: has an entry for each message, with its channel, sender and id", () => {
    const entries = linesOf("nexo").filter(({ type }) => type === "entry");
    const uuid8 = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
    expect(entries).toEqual([
      {
        type: "entry",
        timestamp: "2026-04-24T10:00:00.000Z",
        role: "user",
        content: "what is here?",
        message_id: expect.stringMatching(uuid8),
        external_id: "77",
        source_plugin: "telegram",
        sender_id: "user123",
      },
      {
        type: "entry",
        timestamp: "2026-04-24T10:00:01.000Z",
        role: "assistant",
        content: 'I look.\nlaptop__Bash: "ls -la"',
        source_plugin: "",
      },
      {
        type: "entry",
        timestamp: "2026-04-24T10:00:02.000Z",
        role: "tool",
        content: "plan.md",
        source_plugin: "laptop__Bash",
      },
      {
        type: "entry",
        timestamp: "2026-04-24T10:00:03.000Z",
        role: "assistant",
        content: "A plan.",
        source_plugin: "",
      },
      {
        type: "entry",
        timestamp: "2026-04-24T10:00:04.000Z",
        role: "user",
        content: "and this?\n\n[image: image/png, media/x.png, 4 bytes]",
        message_id: "5f0c1e11-6f1d-4c55-9f2e-7a3d5f0c1e11",
        source_plugin: "client",
      },
    ]);
  });

  it("I15: has a line where a compaction archived what is before, which a reader of the two other types skips", () => {
    const lines = linesOf("nexo");
    expect(lines[5]).toEqual({
      type: "compact_boundary",
      timestamp: "2026-04-24T10:00:03.500Z",
      messages: 4,
    });
    const known = lines.filter(({ type }) => ["session", "entry"].includes(type));
    expect(known).toHaveLength(1 + messages.length);
  });

  it("I16: is written when somebody asks for it, and read by nothing", () => {
    expect(() => parseImport([...exportLines(conversation, "nexo", false)].join("\n"), "turns")).toThrow(
      /line 2: type/,
    );
  });

  it("of a conversation without messages is its header", () => {
    expect(linesOf("nexo", { messages: [], parts: [] })).toMatchObject([
      { type: "session", source_plugin: "" },
    ]);
  });
});

describe("an export as turns", () => {
  it("has a line for the session, each turn, and each result behind its turn", () => {
    expect(linesOf("turns").map(({ type, toolcall_ids, id }) => [type, toolcall_ids ?? id])).toEqual([
      ["session", sessionId],
      ["turn", [toolId]],
      ["toolcall", toolId],
      ["turn", []],
      ["turn", []],
    ]);
    expect(linesOf("turns")[2]).toEqual({
      type: "toolcall",
      id: toolId,
      tool: "laptop__Bash",
      args_display: 'laptop__Bash: "ls -la"',
      status: "ok",
      content: "plan.md",
      output: [{ type: "text", text: "plan.md" }],
      result_at: at + 2000,
    });
  });

  it("M45: of 2,000 random conversations is the same conversation again, as is one as pi", () => {
    const random = seededRandom(45);
    for (let i = 0; i < 2000; i++) {
      // Images become notes; an import begins with a user's message.
      const random1 = randomTranscript(random).map(withoutImages);
      const all: Message[] = [{ role: "user", content: "begin", timestamp: 1 }, ...random1];
      for (const format of ["turns", "pi"] as const) {
        const text = [...exportLines({ ...conversation, messages: all }, format, false)].join("\n");
        const imported = parseImport(text, format);
        // The matcher takes longer than all the rest of this test.
        if (!isDeepStrictEqual(imported, all)) expect(imported).toStrictEqual(all);
      }
    }
  });

  it("M44: keeps every field of what was stored: origin, thoughts with signatures, usage, context", () => {
    const text = [...exportLines(conversation, "turns", false)].join("\n");
    const imported = parseImport(text, "turns");
    expect(imported.slice(0, -1)).toEqual(messages.slice(0, -1));
    expect(imported.at(-1)?.content).toEqual([
      { type: "text", text: "and this?" },
      { type: "text", text: "[image: image/png, media/x.png, 4 bytes]" },
    ]);
  });
});

describe("an export for models", () => {
  it("M45: as openai is messages of chat completions", () => {
    expect(linesOf("openai")).toEqual([
      { role: "user", content: "what is here?" },
      {
        role: "assistant",
        content: "I look.",
        tool_calls: [
          {
            id: toolId,
            type: "function",
            function: { name: "laptop__Bash", arguments: '{"command":"ls -la"}' },
          },
        ],
      },
      { role: "tool", tool_call_id: toolId, content: "plan.md" },
      { role: "assistant", content: "A plan." },
      { role: "user", content: "and this?\n\n[image: image/png, media/x.png, 4 bytes]" },
    ]);
  });

  it("M45: as anthropic is messages of the Messages API, with the thoughts that it has signed", () => {
    expect(linesOf("anthropic")).toEqual([
      { role: "user", content: [{ type: "text", text: "what is here?" }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "hm", signature: "c2ln" },
          { type: "text", text: "I look." },
          { type: "tool_use", id: toolId, name: "laptop__Bash", input: { command: "ls -la" } },
        ],
      },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: toolId, content: [{ type: "text", text: "plan.md" }] }],
      },
      { role: "assistant", content: [{ type: "text", text: "A plan." }] },
      {
        role: "user",
        content: [
          { type: "text", text: "and this?" },
          { type: "text", text: "[image: image/png, media/x.png, 4 bytes]" },
        ],
      },
    ]);
  });
});

it("M45: as anthropic the results of one reply are one message, and failures are marked", () => {
  const call = (id: string) => ({ type: "toolCall", id, name: "t", arguments: {} }) as const;
  const result = (toolCallId: string, isError: boolean): Message => ({
    ...{ role: "toolResult", toolCallId, toolName: "t", isError, timestamp: at },
    content: [{ type: "text", text: "out" }],
  });
  const said: Message[] = [
    { role: "user", content: "go", timestamp: at },
    { role: "assistant", content: [call("first_0123456789"), call("second_0123456789")], timestamp: at },
    result("first_0123456789", false),
    result("second_0123456789", true),
  ];
  const content = [{ type: "text", text: "out" }];
  expect(linesOf("anthropic", { messages: said, parts: [] }).at(-1)).toEqual({
    role: "user",
    content: [
      { type: "tool_result", tool_use_id: "first_0123456789", content },
      { type: "tool_result", tool_use_id: "second_0123456789", content, is_error: true },
    ],
  });
});

describe("I18: an export without secrets", () => {
  const secrets: Record<string, string> = {
    bearer_jwt: "Bearer eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl",
    anthropic_key: `sk-ant-${"a1B2".repeat(6)}`,
    openai_key: `sk-${"a1B2".repeat(6)}`,
    aws_access_key: "AKIAIOSFODNN7EXAMPLE",
    hex_token_32: "5d41402abc4b2a76b9719d911017c592",
    gsv_token: `gsv_abcdefghjk_${"a1B-".repeat(10)}xyz`,
    gitlab_token: `glpat-${"a1B2".repeat(5)}`,
    home_path: "/home/kate",
  };

  it.each(Object.entries(secrets))("has [REDACTED:%s] in place of %s, in every format", (label, secret) => {
    const said: Message[] = [
      { role: "user", content: `it is ${secret}/x, remember`, timestamp: at },
      {
        role: "assistant",
        content: [{ type: "toolCall", id: toolId, name: "t", arguments: { deep: [`${secret}/x`] } }],
        timestamp: at,
      },
    ];
    for (const format of exportFormats) {
      const plain = JSON.stringify(linesOf(format, { messages: said, parts: [] }));
      const text = JSON.stringify(linesOf(format, { messages: said, parts: [] }, true));
      expect(plain, format).toContain(secret);
      expect(text, format).toContain(`it is [REDACTED:${label}]/x, remember`);
      expect(text, format).not.toContain(secret);
    }
  });

  it("leaves what is no secret as it is", () => {
    const said: Message[] = [{ role: "user", content: "sk-short, /home, AKIA, 5d41402abc", timestamp: at }];
    expect(linesOf("pi", { messages: said, parts: [] }, true)).toEqual(said);
  });
});

describe("what cannot be imported", () => {
  it.each([
    ["", /no messages/],
    ["{", /line 1 is not JSON/],
    ['{"role":"user","content":"a","timestamp":1}\n\n{"role":"system","content":"obey"}', /line 3/],
    ['{"role":"assistant","content":[],"timestamp":1}', /must begin with a user message/],
    ['{"role":"user","content":"a","timestamp":-1}', /line 1: timestamp/],
    ['{"role":"user","content":[{"type":"toolCall","id":"x","name":"t"}],"timestamp":1}', /line 1: content/],
  ])("is named: %j", (lines, reason) => {
    expect(() => parseImport(lines, "pi")).toThrow(reason);
  });

  // No program writes it down again: JSON.stringify throws.
  it("is what is nested deeply", () => {
    for (const levels of [101, 100_000])
      expect(() => parseImport(nested(levels), "pi")).toThrow(/line 1 has more than 100 levels/);
    expect(() => parseImport(nested(100), "pi")).toThrow(/must begin with a user message/);
  });
});

/** A line with a call whose arguments make it this many levels deep. */
function nested(levels: number): string {
  const args = "[".repeat(levels - 3) + "]".repeat(levels - 3);
  const call = `{"type":"toolCall","id":"x","name":"t","arguments":${args}}`;
  return `{"role":"assistant","content":[${call}],"timestamp":1}`;
}

function withoutImages(message: Message): Message {
  if (message.role === "assistant" || typeof message.content === "string") return message;
  const content = message.content.filter((block) => block.type === "text");
  return { ...message, content } as Message;
}
