import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Webhook } from "../../functions/webhook/webhook-handler.ts";
import { handleInbound } from "../../shared/channels/inbound/inbound.ts";
import { metaKey } from "../../shared/session/state.ts";
import { set } from "../../shared/world/expression.ts";
import { type Around, aroundWrites, deathAt } from "../channels/fixture.ts";
import {
  editedUpdate,
  eventIdOf,
  type TelegramUpdate,
  textUpdate,
} from "../support/platforms/telegram/telegram-updates.ts";
import { startWebhook, type WebhookState } from "./fixture.ts";

const main = "agent:main:main";
let on: WebhookState;

beforeEach(async () => {
  on = await startWebhook();
});
afterEach(() => on.close());

/** The waiting messages without the line with their time. */
const waiting = async (session = main) =>
  (await on.inbox(session)).map((entry) => (entry.kind === "message" ? entry.text.replace(/^.*\n/, "") : ""));

/** The oldest entry may be about to begin: only later ones are replaced. */
const older = () => on.deliver(textUpdate("older"));

describe("an edit", () => {
  it("replaces its message in the inbox, which keeps its id, place and writer", async () => {
    await older();
    const update = textUpdate("what is 2+2?", { date: 1_780_000_000 });
    await on.deliver(update);
    await on.deliver(textUpdate("newer"));
    const [, before] = await on.inbox(main);
    expect(await on.deliver(editedUpdate(update, "what is 2+3? /t:high"))).toBe(200);
    expect(await waiting()).toEqual(["older", "what is 2+3?", "newer"]);
    const [, after] = await on.inbox(main);
    expect(after).toMatchObject({
      id: before?.id,
      at: before?.at,
      origin: before?.origin,
      senderId: "5001002003",
    });
    expect(after).toMatchObject({ overrides: { thinkingLevel: "high" } });
    const { inboxBytes } = (await on.session(main)) ?? {};
    expect(inboxBytes).toBe(6000);
  });

  it("follows a message that may have begun, as one line, and a later edit replaces it", async () => {
    const update = textUpdate("what is 2+2?");
    await on.deliver(update);
    await on.deliver(textUpdate("newer"));
    await on.deliver(editedUpdate(update, "what is 2+3?"));
    expect(await waiting()).toEqual(["what is 2+2?", "newer", "[corrected] what is 2+3?"]);
    await on.deliver(editedUpdate(update, "what is 2+4?"));
    expect(await waiting()).toEqual(["what is 2+2?", "newer", "[corrected] what is 2+4?"]);
  });

  it("that changes no word starts nothing, nor does a command in it execute", async () => {
    const update = textUpdate("see https://example.com");
    await on.deliver(update);
    const preview = editedUpdate(update, "see https://example.com");
    preview.edited_message = { ...preview.edited_message!, link_preview_options: { is_disabled: true } };
    expect(await on.deliver(preview)).toBe(200);
    expect(await waiting()).toHaveLength(1);
    await on.deliver(editedUpdate(update, "/stop"));
    expect(await waiting()).toEqual(["see https://example.com", "[corrected] /stop"]);
    expect((await on.session(main))?.stop).toBeUndefined();
  });

  it("that comes before its message takes its place", async () => {
    const update = textUpdate("what is 2+2?");
    const edit = editedUpdate(update, "what is 2+3?");
    for (const one of [edit, update, edit, update]) expect(await on.deliver(one)).toBe(200);
    expect(await waiting()).toEqual(["what is 2+3?"]);
    expect((await on.inbox(main))[0]?.id).toBe(`telegram:default:${eventIdOf(update)}`);
  });

  it("has its message's place among later ones, also when that was not put in order, not accepted, or comes later", async () => {
    await older();
    const date = Math.floor(Date.now() / 1000) - 60;
    await on.deliver(textUpdate("newest", { date: date + 20 }));
    const [first, second, third] = [1, 2, 3].map((at) => textUpdate("2+2?", { date: date + at }));
    expect(await dyingAtWrite(2, first!)).toBe(500);
    expect(await waiting()).toEqual(["older", "newest", "2+2?"]);
    await on.deliver(editedUpdate(first!, "one"));
    expect(await waiting()).toEqual(["older", "one", "newest"]);
    expect(await dyingAtWrite(1, second!)).toBe(500);
    await on.deliver(editedUpdate(second!, "two"));
    await on.deliver(editedUpdate(third!, "three"));
    expect(await waiting()).toEqual(["older", "one", "two", "three", "newest"]);
  });

  it("that comes after a later edit changes nothing, and neither does a repeat", async () => {
    await older();
    const update = textUpdate("one");
    const [first, second] = [editedUpdate(update, "two"), editedUpdate(update, "three")];
    for (const one of [update, second, first, second, update]) expect(await on.deliver(one)).toBe(200);
    expect(await waiting()).toEqual(["older", "three"]);
    // Back to the first text, which was not handled last.
    await on.deliver(editedUpdate(update, "one"));
    expect(await waiting()).toEqual(["older", "one"]);
  });

  it("that comes first and fails is delivered again, and its message stays a duplicate meanwhile", async () => {
    const update = textUpdate("what is 2+2?");
    const edit = editedUpdate(update, "what is 2+3?");
    on.webhook = watched(deathAt(1, "before"));
    expect(await on.deliver(edit)).toBe(500);
    on.webhook = on.build();
    expect(await on.deliver(update)).toBe(200);
    expect(await on.session(main)).toBeUndefined();
    expect(await on.deliver(edit)).toBe(200);
    expect(await waiting()).toEqual(["what is 2+3?"]);
  });

  it("that was accepted is not accepted again after its run has begun", async () => {
    await older();
    const update = textUpdate("one");
    await on.deliver(update);
    const edit = editedUpdate(update, "two");
    on.webhook = watched(async (step, go) => {
      if (step === "update RX") throw new Error("the process died");
      return go();
    });
    expect(await on.deliver(edit)).toBe(500);
    expect(await waiting()).toEqual(["older", "two"]);
    await on.table.update(metaKey(main), [set("inbox", [])]);
    on.webhook = on.build();
    expect(await on.deliver(edit)).toBe(200);
    expect(await waiting()).toEqual([]);
  });

  it("of an old message that the agent never got starts nothing", async () => {
    const old = textUpdate("one", { date: Math.floor(Date.now() / 1000) - 2 * 86_400 });
    expect(await on.deliver(editedUpdate(old, "two"))).toBe(200);
    expect(await on.session(main)).toBeUndefined();
  });

  it("of a stranger stores nothing and requests no access", async () => {
    await on.configure({ dmPolicy: "pairing" });
    const update = textUpdate("hello", { from: { id: 666 } });
    expect(await on.deliver(editedUpdate(update, "let me in"))).toBe(200);
    expect(on.telegram.sent).toEqual([]);
    expect(await on.table.query({ pk: "PAIR" })).toEqual([]);
    expect(
      await on.table.get({ pk: `RX#telegram#default#${eventIdOf(update)}`, sk: "RECEIPT" }),
    ).toBeUndefined();
  });

  it("replaces nothing of another writer", async () => {
    await on.configure({ dmPolicy: "open" });
    const address = { channel: "telegram", accountId: "default" };
    const message = (id: string, text: string) => ({
      ...{ eventId: `-1:${text}`, messageId: "1", text, timestamp: Date.now(), wasMentioned: true },
      ...{ peer: { kind: "group", id: "-1" }, sender: { id } },
    });
    const send = (id: string, text: string, more: object = {}) =>
      handleInbound(on.webhook, address, { ...message(id, text), ...more });
    await send("5001002003", "first");
    await send("5001002003", "mine");
    expect(await send("666", "hers", { eventId: "-1:mine", editedAt: 5 })).toMatchObject({ replaced: false });
    const entries = await on.inbox("agent:main:telegram:group:-1");
    expect(entries).toMatchObject([{ role: "owner" }, { role: "owner" }, { role: "guest", senderId: "666" }]);
    expect(await waiting("agent:main:telegram:group:-1")).toEqual(["first", "mine", "[corrected] hers"]);
  });

  it("of a message that is being accepted takes its place, and the message is not accepted later", async () => {
    await older();
    const update = textUpdate("what is 2+2?");
    expect(await dyingAtWrite(1, update)).toBe(500);
    expect(await on.deliver(editedUpdate(update, "what is 2+3?"))).toBe(200);
    expect(await on.deliver(update)).toBe(200);
    expect(await waiting()).toEqual(["older", "what is 2+3?"]);
  });

  it("is handled once, whenever its process dies", async () => {
    for (const place of ["oldest", "later"] as const)
      for (const moment of ["before", "after"] as const)
        for (const index of [0, 1, 2]) {
          const from = { id: 3000 + on.telegram.calls.length + index };
          await on.configure({ dmPolicy: "open", owners: [String(from.id)] });
          await on.table.delete({ pk: `S#${main}`, sk: "META" });
          if (place === "later") await on.deliver(textUpdate("older", { from }));
          const update = textUpdate("one", { from });
          await on.deliver(update);
          const edit = editedUpdate(update, "two");
          on.webhook = watched(deathAt(index, moment));
          await on.deliver(edit);
          on.webhook = on.build();
          for (const one of [edit, update, edit]) expect(await on.deliver(one)).toBe(200);
          const expected = place === "later" ? ["older", "two"] : ["one", "[corrected] two"];
          expect(await waiting(), `${place}: ${moment} ${index}`).toEqual(expected);
        }
  });
});

/** Delivers to a process that dies before a write of the session. @param nth from 1 */
async function dyingAtWrite(nth: number, update: TelegramUpdate): Promise<number> {
  let writes = 0;
  on.webhook = watched(async (step, go) => {
    if (step === "update S" && ++writes >= nth) throw new Error("the process died");
    return go();
  });
  const status = await on.deliver(update);
  on.webhook = on.build();
  return status;
}

/** The function in a new process, with a hook around every write. */
function watched(around: Around): Webhook {
  return on.build({ table: aroundWrites(on.table, around) });
}
