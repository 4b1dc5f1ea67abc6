import { expect, it } from "vitest";
import { withCallIds } from "../../../functions/agent/model/call-ids.ts";
import { type AssistantMessage, toolCallsOf } from "../../../shared/protocol/messages.ts";

const reply = (...ids: string[]): AssistantMessage => ({
  role: "assistant",
  content: ids.map((id) => ({ type: "toolCall", id, name: "t", arguments: {} })),
  timestamp: 1,
});
const uuid7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const lasting = ["toolu_01XFDUDYJgAACzvnptvVer6R", "call_9hT2kQ0vXbB3mWcE7sYzRf1a"];

it("M16: a call keeps the id of its provider if it is unique", () => {
  const calls = toolCallsOf(withCallIds(reply(...lasting), [], 1));
  expect(calls.map(({ id }) => id)).toEqual(lasting);
  for (const call of calls) expect(call).not.toHaveProperty("providerId");
});

it("M16: a call gets the part of a Responses API id that results refer to, and the whole id is stored", () => {
  const said = `${lasting[1]}|fc_0123456789`;
  expect(toolCallsOf(withCallIds(reply(said), [], 1))).toMatchObject([{ id: lasting[1], providerId: said }]);
});

it("M17: a call with a counted, repeated or odd provider's id gets a UUIDv7 too, which sorts by time", () => {
  const said = ["call_0", "x", "x", "", "y".repeat(2000), "functions.Bash:00001", "__proto__"];
  const calls = toolCallsOf(withCallIds(reply(...said), [], 1_700_000_000_000));
  expect(calls.map(({ providerId }) => providerId)).toEqual(said);
  expect(new Set(calls.map(({ id }) => id)).size).toBe(said.length);
  for (const { id } of calls) expect(id).toMatch(uuid7);
  const [later] = toolCallsOf(withCallIds(reply("a"), [], 1_700_000_000_001));
  expect(calls.every(({ id }) => id < later!.id)).toBe(true);
});

it("M17: a long id that occurs twice, in one reply or in a later one, belongs to the first call", () => {
  const [one = ""] = lasting;
  const first = withCallIds(reply(one, one), [], 1);
  const [kept, twin] = toolCallsOf(first);
  expect(kept).toMatchObject({ id: one });
  expect(twin).toMatchObject({ id: expect.stringMatching(uuid7), providerId: one });
  const [again] = toolCallsOf(withCallIds(reply(one), [first], 2));
  expect(again).toMatchObject({ id: expect.stringMatching(uuid7), providerId: one });
});

it("leaves a reply without calls unchanged", () => {
  expect(withCallIds(reply(), [], 1)).toEqual(reply());
});
