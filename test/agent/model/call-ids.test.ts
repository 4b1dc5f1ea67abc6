import { expect, it } from "vitest";
import { withCallIds } from "../../../functions/agent/model/wire/call-ids.ts";
import { type AssistantMessage, toolCallsOf } from "../../../shared/protocol/messages.ts";

const reply = (...ids: string[]): AssistantMessage => ({
  role: "assistant",
  content: ids.map((id) => ({ type: "toolCall", id, name: "t", arguments: {} })),
  timestamp: 1,
});

it("gives every call a UUID that sorts by time, and keeps the provider's id beside it", () => {
  const said = ["call_0", "x", "x", "", "y".repeat(2000)];
  const calls = toolCallsOf(withCallIds(reply(...said), 1_700_000_000_000));
  expect(calls.map(({ providerId }) => providerId)).toEqual(said);
  expect(new Set(calls.map(({ id }) => id)).size).toBe(said.length);
  for (const { id } of calls)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const [later] = toolCallsOf(withCallIds(reply("a"), 1_700_000_000_001));
  expect(calls.every(({ id }) => id < later!.id)).toBe(true);
});

it("leaves a reply without calls as it is", () => {
  expect(withCallIds(reply(), 1)).toEqual(reply());
});
