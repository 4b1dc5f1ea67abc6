import { expect, it } from "vitest";
import { withUniqueCallIds } from "../../../functions/agent/model/call-ids.ts";
import { type AssistantMessage, toolCallsOf } from "../../../shared/protocol/messages.ts";

const reply = (...ids: string[]): AssistantMessage => ({
  role: "assistant",
  content: ids.map((id) => ({ type: "toolCall", id, name: "t", arguments: {} })),
  timestamp: 1,
});

it("leaves ids that are new as the provider made them", () => {
  expect(withUniqueCallIds(reply("a", "b"), [reply("c")])).toEqual(reply("a", "b"));
});

it("replaces an id that occurred before, occurs twice in the reply, or is empty", () => {
  const ids = toolCallsOf(withUniqueCallIds(reply("call_0", "x", "x", ""), [reply("call_0")])).map(
    (call) => call.id,
  );
  expect(ids[1]).toBe("x");
  expect(new Set(ids).size).toBe(4);
  expect(ids).not.toContain("call_0");
  for (const id of ids) expect(id.length).toBeLessThanOrEqual(40);
});
