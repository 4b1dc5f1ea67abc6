import { expect, it } from "vitest";
import { createMemoryTable } from "../../local/world/local-table.ts";
import { submitEntry } from "../../shared/session/intake.ts";
import { readSession } from "../../shared/session/sessions.ts";

const sessionKey = "agent:main:order";
const peer = { kind: "dm", id: "ann" } as const;

function openInbox() {
  const table = createMemoryTable();
  const intake = { table, now: () => 1, wake: async () => {}, configuration: { load: () => undefined } };
  return {
    /** A message of Ann that was written at `sentAt`. */
    say: (id: string, sentAt: number, text = id, album?: string) =>
      submitEntry(intake as never, sessionKey, {
        ...{ id, at: 1, kind: "message", text, sentAt, ...(album ? { album } : {}) },
        origin: { kind: "channel", channel: "sim", accountId: "default", peer },
      }),
    texts: async () =>
      (await readSession(table, sessionKey))?.inbox.map((entry) => "text" in entry && entry.text),
  };
}

it("a message that was written before a waiting one, and comes after it, is moved before it", async () => {
  const { say, texts } = openInbox();
  await say("oldest", 9);
  await say("late", 8);
  await say("early", 3);
  expect(await texts()).toEqual(["oldest", "early", "late"]);
});

it("parts of the oldest album keep their places, because the agent may be about to begin them", async () => {
  const { say, texts } = openInbox();
  await say("part 3", 8, "part 3", "album");
  await say("part 2", 7, "part 2", "album");
  await say("part 1", 6, "part 1", "album");
  await say("late", 9);
  await say("early", 3);
  expect(await texts()).toEqual(["part 3", "part 2", "part 1", "early", "late"]);
});

it("a repeated message moves nothing and changes no text, though it has another time", async () => {
  const { say, texts } = openInbox();
  await say("oldest", 1);
  await say("one", 2);
  await say("two", 3, "corrected");
  await say("two", 1, "as it was before its edit");
  expect(await texts()).toEqual(["oldest", "one", "corrected"]);
});
