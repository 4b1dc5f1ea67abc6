import { expect, it } from "vitest";
import { createMemoryTable } from "../../local/world/local-table.ts";
import { type Incoming, submitEdit, submitMessage } from "../../shared/session/intake.ts";
import { readSession } from "../../shared/session/sessions.ts";
import { metaKey } from "../../shared/session/state.ts";
import { remove } from "../../shared/world/expression.ts";

const sessionKey = "agent:main:edits";

function openSession() {
  const table = createMemoryTable();
  const intake = { table, now: () => 1, wake: async () => {}, configuration: { load: () => undefined } };
  const incoming = (id: string, text: string): Incoming => ({
    id,
    text,
    origin: { kind: "client" },
    writer: {},
  });
  return {
    say: (text: string) => submitMessage(intake as never, sessionKey, incoming("m", text)),
    edit: (at: number, text: string, isKnown = true) =>
      submitEdit(intake as never, sessionKey, incoming(`m:edit:${at}`, text), { of: "m", at }, isKnown),
    /** The agent takes the oldest entry and forgets nothing. */
    begin: () => table.update(metaKey(sessionKey), [remove(["inbox", 0])]),
    texts: async () =>
      (await readSession(table, sessionKey))?.inbox.map((entry) => "text" in entry && entry.text),
  };
}

it("an edit that arrives after a later one was answered begins nothing, nor does the later one again", async () => {
  const { say, edit, begin, texts } = openSession();
  await say("2+2?");
  await begin();
  await edit(200, "2+4?");
  expect(await texts()).toEqual(["[corrected] 2+4?"]);
  await begin();
  expect(await edit(100, "2+3?")).toEqual({ replaced: true });
  await edit(200, "2+4?");
  expect(await texts()).toEqual([]);
  await edit(300, "2+5?");
  expect(await texts()).toEqual(["[corrected] 2+5?"]);
});

it("also when the edits came before their message, and created the session", async () => {
  const { edit, begin, texts } = openSession();
  await edit(200, "2+4?", false);
  expect(await texts()).toEqual(["2+4?"]);
  await begin();
  await edit(100, "2+3?", false);
  expect(await texts()).toEqual([]);
});
