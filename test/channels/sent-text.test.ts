import { expect, it } from "vitest";
import { createMemoryTable } from "../../local/world/local-table.ts";
import { findSentText, keepSentText, type SentId } from "../../shared/channels/sent-text.ts";

const [now, day] = [1_800_000_000_000, 86_400_000];
const at = (kind: SentId["peer"]["kind"], id: string): SentId => ({
  ...{ channel: "signal", accountId: "default", messageId: "5", peer: { kind, id } },
});

it.each<[string, SentId, SentId, boolean]>([
  ["a room and its thread", at("channel", "42"), at("thread", "42/7"), true],
  ["two threads of a room", at("thread", "42/7"), at("thread", "42/8"), true],
  ["a direct message and a room", at("dm", "42"), at("group", "42"), false],
  ["threads whose rooms are unknown", at("thread", "t1"), at("thread", "t2"), false],
])("%s: whether they number their messages together", async (_which, one, other, areOne) => {
  const table = createMemoryTable();
  await keepSentText(table, one, { text: "hello", sessionKey: "agent:main:main" }, now);
  expect(await findSentText(table, one, now)).toMatchObject({ text: "hello" });
  expect((await findSentText(table, other, now)) !== undefined).toBe(areOne);
});

it("a text is found for 30 days", async () => {
  const table = createMemoryTable();
  const id = at("dm", "42");
  await keepSentText(table, id, { text: "hello", sessionKey: "agent:main:main" }, now);
  expect(await findSentText(table, id, now + 30 * day - 1000)).toBeDefined();
  expect(await findSentText(table, id, now + 30 * day)).toBeUndefined();
});
