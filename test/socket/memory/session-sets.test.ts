import { describe, expect, it } from "vitest";
import { setsOf } from "../../../functions/socket/methods/session-sets.ts";
import type { ClientChange } from "../../../shared/context/activation.ts";
import type { Message } from "../../../shared/protocol/messages.ts";

const call = (id: string, name: string, result: unknown): Message[] => [
  { role: "assistant", content: [{ type: "toolCall", id, name, arguments: {} }], timestamp: 0 },
  {
    role: "toolResult",
    toolCallId: id,
    toolName: name,
    content: [{ type: "text", text: JSON.stringify(result) }],
    isError: false,
    timestamp: 0,
  },
];
const user: Message = { role: "user", content: "go on", timestamp: 0 };
const file = {
  id: "file:gsv:plan.md",
  title: "plan.md",
  source: { kind: "file", path: "plan.md" },
  characters: 3,
} as const;

describe("M40: the sets of a session", () => {
  const messages = [
    user,
    ...call("toolu_1", "gsv__ReadFile", {}),
    ...call("x1", "gsv__deactivate", { ok: true, result: { id: "toolu_1", state: "inactive" } }),
    ...call("x2", "gsv__pin", { ok: true, result: { ...file, state: "pinned" } }),
    user,
  ];

  it("follow the calls of the context tools, message by message, without those calls", () => {
    const setsAt = setsOf(messages);
    const sets = messages.map((_, i) => setsAt(i + 1));
    expect(sets[1]).toEqual({ active: [], inactive: [], pinned: [] });
    expect(sets[2]).toEqual({ active: ["toolu_1"], inactive: [], pinned: [] });
    expect(sets[4]).toEqual({ active: [], inactive: ["toolu_1"], pinned: [] });
    expect(sets[7]).toEqual({ active: [file.id], inactive: ["toolu_1"], pinned: [file.id] });
    expect(setsOf(messages)(8)).toEqual(sets[7]);
  });

  it("follow the changes of clients, from the message after which they were made", () => {
    const changes: ClientChange[] = [{ id: file.id, state: "inactive", after: 8, at: 1 }];
    const setsAt = setsOf([...messages, user], changes);
    expect([7, 8, 9].map((n) => setsAt(n).pinned)).toEqual([[file.id], [], []]);
    expect(setsAt(8).inactive).toEqual(["toolu_1", file.id]);
  });
});
