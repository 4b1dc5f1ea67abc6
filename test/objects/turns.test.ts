import { describe, expect, it } from "vitest";
import { resultsById, toMessages, toTurns, turnsAt } from "../../shared/objects/turns.ts";
import type { AssistantMessage, Message, ToolResultMessage } from "../../shared/protocol/messages.ts";
import { seededRandom } from "../support/random.ts";
import { randomTranscript } from "../support/random-transcript.ts";

const user = (content: string): Message => ({ role: "user", content, timestamp: 1 });
const reply = (text: string, ...ids: string[]): AssistantMessage => ({
  role: "assistant",
  content: [
    { type: "text", text },
    ...ids.map((id) => ({ type: "toolCall" as const, id, name: "t", arguments: {} })),
  ],
  api: "a",
  provider: "p",
  model: "m",
  usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2 },
  stopReason: "stop",
  timestamp: 2,
});
const result = (toolCallId: string, text = "out"): ToolResultMessage => ({
  role: "toolResult",
  toolCallId,
  toolName: "t",
  content: [{ type: "text", text }],
  isError: false,
  timestamp: 3,
});

/** Whether two values have the same JSON. What both of them hold is not looked into. */
function isAlike(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || !one || !other) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const [fields, others] = [Object.entries(one), Object.entries(other)];
  return (
    fields.length === others.length &&
    fields.every(([name, value], i) => name === others[i]?.[0] && isAlike(value, others[i]?.[1]))
  );
}

describe("turns", () => {
  it("M24: a turn has what was said, the reply's blocks, its calls' ids, and what is known of the reply", () => {
    const [turn] = toTurns([user("hi"), reply("hello", "c1"), result("c1")]);
    expect(turn).toEqual({
      user: "hi",
      user_meta: { timestamp: 1 },
      assistant: [
        { type: "text", text: "hello" },
        { type: "toolCall", id: "c1", name: "t", arguments: {} },
      ],
      toolcall_ids: ["c1"],
      assistant_meta: {
        api: "a",
        provider: "p",
        model: "m",
        usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2 },
        stopReason: "stop",
        timestamp: 2,
      },
    });
  });

  it("M25: each model step is a turn: a reply to tool results has no user, a message without a reply no assistant", () => {
    const messages = [
      user("a"),
      user("b"),
      reply("1", "c1", "c2"),
      result("c2"),
      result("c1"),
      reply("2", "c3"),
    ];
    const turns = toTurns(messages);
    expect(
      turns.map(({ user: said, assistant, toolcall_ids }) => [said, assistant.length, toolcall_ids]),
    ).toEqual([
      ["a", 0, []],
      ["b", 3, ["c2", "c1"]],
      [undefined, 2, ["c3"]],
    ]);
    expect(turns.map(({ unanswered }) => unanswered)).toEqual([undefined, undefined, 1]);
    expect(toMessages(turns, resultsById(messages))).toEqual(messages);
  });

  it("M25: an id that names two calls gives each its own result", () => {
    const messages = [
      reply("1", "call_0"),
      reply("2", "call_0"),
      result("call_0", "of the second"),
      user("x"),
    ];
    expect(toMessages(toTurns(messages), resultsById(messages))).toEqual(messages);
  });

  it("M23: the turns of the first n messages are those of a conversation that ended there", () => {
    const random = seededRandom(23);
    for (let i = 0; i < 200; i++) {
      const messages = randomTranscript(random);
      const turns = turnsAt(messages);
      for (let n = 0; n <= messages.length; n++) expect(turns(n)).toEqual(toTurns(messages.slice(0, n)));
    }
  });

  it("M25: 20,000 random conversations are the same after messages, turns, messages", () => {
    const random = seededRandom(15);
    let count = 0;
    for (let i = 0; i < 20_000; i++) {
      const messages = randomTranscript(random);
      count += messages.length;
      const again = toMessages(toTurns(messages), resultsById(messages));
      // Compared by hand first: an expectation of each takes half a minute.
      if (!isAlike(again, messages)) expect(again).toEqual(messages);
    }
    expect(count).toBeGreaterThan(200_000);
  });
});
