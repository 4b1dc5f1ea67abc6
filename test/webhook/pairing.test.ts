import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Approving, approveSender, rejectSender } from "../../functions/socket/approval.ts";
import type { InboundMessage } from "../../shared/channels/channel.ts";
import { channels } from "../../shared/channels/channels.ts";
import { handleInbound } from "../../shared/channels/inbound/inbound.ts";
import {
  listRequests,
  maxRequests,
  openRequest,
  requestLifeMs,
} from "../../shared/channels/inbound/pairing.ts";
import { openConfiguration } from "../../shared/configuration/store.ts";
import type { Table } from "../../shared/world/world.ts";
import { type Around, aroundWrites, deathAt } from "../channels/fixture.ts";
import { eventIdOf, groupUpdate, textUpdate } from "../support/platforms/telegram/telegram-updates.ts";
import { startWebhook, type WebhookState } from "./fixture.ts";

const guestOf = (id: string) => `agent:main:telegram:guest:${id}`;
const guest = guestOf("5001002003");
const ann = { channel: "telegram", senderId: "5001002003" };
const waits = /^You don't have access yet\. We kept your message/;
let on: WebhookState;
let clock: number;

beforeEach(async () => {
  on = await startWebhook();
  clock = Date.now();
  await on.configure({ dmPolicy: "pairing", owners: [] });
});
afterEach(() => on.close());

const sent = () => on.telegram.sent.map(({ text }) => text);
const allowed = async () => (await on.configuration.load({ fresh: true })).channels.telegram?.allowFrom;
const requests = () => listRequests(on.table, clock);

/** The dependencies of an approval in a new process. */
function approving(over: Partial<Pick<Approving, "table">> = {}): Approving {
  const table = over.table ?? on.table;
  const configuration = openConfiguration(table, on.secrets);
  return { ...on.build({ table, now: () => clock }), configuration };
}

describe("an unknown sender, if pairing is on", () => {
  it("sees once that the message waits, and becomes a request", async () => {
    const update = textUpdate("hello");
    for (let time = 0; time < 3; time++) expect(await on.deliver(update)).toBe(200);
    expect(await on.deliver(textUpdate("are you there?"))).toBe(200);
    expect(sent()).toEqual([expect.stringMatching(waits)]);
    expect(await requests()).toMatchObject([
      { ...ann, accountId: "default", senderName: "Ann Example", message: { text: "hello" } },
    ]);
    expect(await on.session(guest)).toBeUndefined();
    expect(on.woken).toEqual([]);
  });

  it("runs no command and changes no session", async () => {
    for (const text of ["/status", "/model openai/gpt-5", "/new", "/stop", "/think:high"]) {
      expect(await on.deliver(textUpdate(text))).toBe(200);
    }
    expect(sent()).toEqual([expect.stringMatching(waits)]);
    expect(await on.session(guest)).toBeUndefined();
  });

  it("cannot request access in a group", async () => {
    expect(await on.deliver(groupUpdate("@gsv_test_bot hello"))).toBe(200);
    expect(await requests()).toEqual([]);
    expect(sent()).toEqual([]);
  });

  it("sees it in the platform's own answer if that is shown, and nothing the second time", async () => {
    const address = { channel: "telegram", accountId: "default" };
    const first = await handleInbound(on.webhook, address, message("1"), true);
    expect(first).toMatchObject({ status: "pending_pairing", answer: expect.stringMatching(waits) });
    const second = await handleInbound(on.webhook, address, { ...message("1"), eventId: "other" }, true);
    expect(second).toEqual({ status: "pending_pairing", senderId: "1" });
    expect(sent()).toEqual([]);
  });

  it("is identified only by the id, in any form, and never as everybody", async () => {
    const address = { channel: "whatsapp", accountId: "default" };
    await on.configuration.set("channels.whatsapp", { dmPolicy: "pairing" });
    await handleInbound(on.webhook, address, message("31628552611@s.whatsapp.net"));
    await handleInbound(on.webhook, address, { ...message("+31 6 28552611"), eventId: "second" });
    await handleInbound(on.webhook, address, message(" * "));
    expect((await requests()).map(({ senderId }) => senderId)).toEqual(["31628552611@s.whatsapp.net"]);
    await approveSender(approving(), { channel: "whatsapp", senderId: "+31628552611" });
    expect((await on.configuration.load({ fresh: true })).channels.whatsapp?.allowFrom).toEqual([
      "31628552611@s.whatsapp.net",
    ]);
  });
});

describe("an approval", () => {
  it("admits the sender, and accepts the held message", async () => {
    const update = textUpdate("hello", { date: 1_780_000_000, messageId: 77 });
    await on.deliver(update);
    expect(await approveSender(approving(), ann)).toEqual({
      senderId: ann.senderId,
      senderName: "Ann Example",
      role: "guest",
    });
    expect(await allowed()).toEqual([ann.senderId]);
    expect(await on.inbox(guest)).toMatchObject([
      {
        id: `telegram:default:${eventIdOf(update)}`,
        text: "[telegram · 2026-05-28 20:26]\nhello",
        origin: { channel: "telegram", peer: { id: ann.senderId }, replyToId: "77" },
      },
    ]);
    expect(on.woken).toEqual([guest]);
    expect(await requests()).toEqual([]);
  });

  it("is seen at once by a function with an older cached configuration", async () => {
    await on.deliver(textUpdate("hello"));
    await approveSender(approving(), ann);
    await on.deliver(textUpdate("and this"));
    expect(await on.inbox(guest)).toHaveLength(2);
    expect(sent()).toHaveLength(1);
  });

  it("answers a held command once, even if the approval is repeated or runs in parallel", async () => {
    await on.deliver(textUpdate("/help"));
    await Promise.all([approveSender(approving(), ann), approveSender(approving(), ann)]);
    await approveSender(approving(), ann);
    expect(sent()).toEqual([expect.stringMatching(waits), expect.stringContaining("/help")]);
    expect(await allowed()).toEqual([ann.senderId]);
  });

  it("as an owner handles held messages with an owner's rights, and does not change allowFrom", async () => {
    await on.deliver(textUpdate("/model openai/gpt-5"));
    expect(await approveSender(approving(), { ...ann, owner: true })).toMatchObject({ role: "owner" });
    expect(sent()).toEqual([
      expect.stringMatching(waits),
      expect.stringMatching(/^Model set to openai\/gpt-5\n.*no key for openai/),
    ]);
    const { telegram } = (await on.configuration.load({ fresh: true })).channels;
    expect(telegram).toMatchObject({ owners: [ann.senderId] });
    expect(telegram).not.toHaveProperty("allowFrom");
    expect(await approveSender(approving(), ann)).toMatchObject({ role: "owner" });
  });

  it("makes an owner of a guest, whose next message goes to the owner's session", async () => {
    await on.deliver(textUpdate("hello"));
    await approveSender(approving(), ann);
    expect(await approveSender(approving(), { ...ann, owner: true })).toMatchObject({ role: "owner" });
    await on.deliver(textUpdate("it is me"));
    expect([(await on.inbox(guest)).length, (await on.inbox("agent:main:main")).length]).toEqual([1, 1]);
    await on.configuration.set("channels.telegram.owners", null);
    await on.deliver(textUpdate("no more"));
    expect([(await on.inbox(guest)).length, (await on.inbox("agent:main:main")).length]).toEqual([2, 1]);
  });

  it("by two callers at once accepts the message once", async () => {
    await on.deliver(textUpdate("hello"));
    await Promise.all(Array.from({ length: 5 }, () => approveSender(approving(), ann)));
    expect(await on.inbox(guest)).toHaveLength(1);
  });

  it("of different senders at once loses none of them", async () => {
    const ids = ["11", "12", "13", "14", "15"];
    for (const id of ids) await on.deliver(textUpdate("hello", { from: { id: Number(id) } }));
    await Promise.all(ids.map((senderId) => approveSender(approving(), { ...ann, senderId })));
    expect([...((await allowed()) ?? [])].sort()).toEqual(ids);
    for (const id of ids) expect(await on.inbox(guestOf(id))).toHaveLength(1);
  });

  it("accepts the sender's messages to every account of the channel", async () => {
    await handleInbound(on.webhook, { channel: "telegram", accountId: "default" }, message("7"));
    await handleInbound(on.webhook, { channel: "telegram", accountId: "second" }, message("7"));
    await approveSender(approving(), { ...ann, senderId: "7" });
    expect((await on.inbox(guestOf("7"))).map(({ id }) => id)).toEqual([
      "telegram:default:e-7",
      "telegram:second:e-7",
    ]);
  });

  it("of a sender without a request is refused, and so is one on a closed channel", async () => {
    await expect(approveSender(approving(), ann)).rejects.toMatchObject({ code: 404 });
    await expect(rejectSender(approving(), ann)).rejects.toMatchObject({ code: 404 });
    await on.deliver(textUpdate("hello"));
    await on.configuration.set("channels.telegram.dmPolicy", null);
    await expect(approveSender(approving(), ann)).rejects.toMatchObject({ code: 409 });
    expect(await allowed()).toBeUndefined();
  });

  it("during the holding of a message loses neither", async () => {
    await on.deliver(textUpdate("from the first account"));
    // The approval runs between the other account's read of the list and its request.
    let begun = false;
    const table: Table = {
      ...on.table,
      put: async (...args) => {
        if (String(args[0].pk) === "PAIR" && !begun) {
          begun = true;
          await approveSender(approving(), ann);
        }
        return on.table.put(...args);
      },
    };
    const late = { ...on.build({ table }), configuration: openConfiguration(on.table, on.secrets) };
    const outcome = await handleInbound(
      late,
      { channel: "telegram", accountId: "second" },
      message(ann.senderId),
    );
    expect(outcome).toMatchObject({ status: "started", sessionKey: guest });
    expect(await on.inbox(guest)).toHaveLength(2);
    expect(await requests()).toEqual([]);
  });
});

describe("a rejection", () => {
  it("deletes the request and its message; a later message creates a new request", async () => {
    await on.deliver(textUpdate("hello"));
    expect(await rejectSender(approving(), ann)).toEqual({ senderId: ann.senderId });
    expect(await requests()).toEqual([]);
    expect(await allowed()).toBeUndefined();
    await on.deliver(textUpdate("please"));
    expect(await requests()).toMatchObject([{ message: { text: "please" } }]);
    expect(sent()).toHaveLength(2);
  });
});

describe("requests", () => {
  it("are limited per account", async () => {
    const address = { channel: "telegram", accountId: "default" };
    for (let id = 1; id <= maxRequests; id++) await openRequest(on.table, address, message(`${id}`), clock);
    expect(await on.deliver(textUpdate("hello"))).toBe(200);
    expect(sent()).toEqual([]);
    expect(await requests()).toHaveLength(maxRequests);
    const other = { ...address, accountId: "second" };
    expect(await openRequest(on.table, other, message("1"), clock)).toMatchObject({ state: "open" });
  });

  it("that arrive at once are all kept up to the limit", async () => {
    const address = { channel: "telegram", accountId: "default" };
    const all = Array.from({ length: 8 }, (_, id) => openRequest(on.table, address, message(`${id}`), clock));
    expect(await Promise.all(all)).toHaveLength(8);
    expect(await requests()).toHaveLength(8);
  });

  it("do not store a message that is too large, and say so", async () => {
    const address = { channel: "telegram", accountId: "default" };
    const large = { ...message(ann.senderId), text: "é".repeat(6000) };
    await handleInbound(on.webhook, address, large);
    expect(sent()).toEqual([expect.stringMatching(/too long to keep/)]);
    const [request] = await requests();
    expect(request).not.toHaveProperty("message");
    await approveSender(approving(), ann);
    expect(await on.session(guest)).toBeUndefined();
    await on.deliver(textUpdate("again"));
    expect(await on.inbox(guest)).toHaveLength(1);
  });

  it("expire after two days, even if the table still has them, and may then be created again", async () => {
    await on.deliver(textUpdate("hello"));
    clock += requestLifeMs + 5000;
    expect(await requests()).toEqual([]);
    await expect(approveSender(approving(), ann)).rejects.toMatchObject({ code: 404 });
    on.webhook = on.build({ now: () => clock });
    await on.deliver(textUpdate("still here"));
    expect(await requests()).toMatchObject([{ message: { text: "still here" } }]);
  });
});

describe("a process that dies", () => {
  it("at any step of a request leaves one request and one notice, once the platform has repeated the event", async () => {
    const seen = await steps(async (around) => void (await askAs("9000", around)));
    expect(seen).toEqual(["put PAIR", "put TX", "send", "update TX"]);
    for (const [index, step] of seen.entries()) {
      for (const moment of ["before", "after"] as const) {
        const id = String(9001 + index * 2 + (moment === "after" ? 1 : 0));
        on.telegram.sent.length = 0;
        await expect(askAs(id, deathAt(index, moment))).rejects.toThrow("died");
        clock += 30_000;
        await askAs(id, (_step, go) => go());
        expect(sent().length, `${moment} ${step}`).toBe(isUnknowable(step, moment) ? 2 : 1);
        expect((await requests()).filter(({ senderId }) => senderId === id)).toHaveLength(1);
      }
    }
  });

  it("at any step of an approval loses nothing and doubles nothing, once it is repeated", async () => {
    await on.configuration.set("session.dmScope", "per-peer");
    for (const text of ["hello", "/status"]) {
      const seen = await steps(async (around) => {
        await ask("8000", text);
        await approveAs("8000", around);
        on.telegram.sent.length = 0;
        await on.configuration.set("channels.telegram.allowFrom", null);
      });
      expect(seen[0]).toBe("update CONFIG");
      expect(seen.at(-1)).toBe("put PAIR");
      for (const [index, step] of seen.entries()) {
        for (const moment of ["before", "after"] as const) {
          const id = String((text === "hello" ? 8100 : 8200) + index * 2 + (moment === "after" ? 1 : 0));
          const name = `${text}: ${moment} ${step}`;
          await ask(id, text);
          on.telegram.sent.length = 0;
          await expect(approveAs(id, deathAt(index, moment)), name).rejects.toThrow("died");
          clock += 30_000;
          await approveAs(id, (_step, go) => go());
          const session = await on.inbox(guestOf(id));
          expect(session, name).toHaveLength(text === "hello" ? 1 : 0);
          const replies = text === "hello" ? 0 : isUnknowable(step, moment) ? 2 : 1;
          expect(sent().length, name).toBe(replies);
          expect(await allowed(), name).toContain(id);
          expect((await requests()).filter(({ senderId }) => senderId === id)).toEqual([]);
        }
      }
    }
  });
});

/** Sent, but the response was lost: whether it took effect is unknown. */
function isUnknowable(step: string, moment: "before" | "after"): boolean {
  return (step === "send" && moment === "after") || (step === "update TX" && moment === "before");
}

async function steps(run: (around: Around) => Promise<void>): Promise<string[]> {
  const seen: string[] = [];
  await run(async (step, go) => {
    seen.push(step);
    return go();
  });
  return seen;
}

/** The dependencies of a process, with a hook around every write and send. */
function watched(around: Around): Approving {
  const telegram = channels.telegram!;
  const send: typeof telegram.send = (...args) => around("send", () => telegram.send(...args));
  const table = aroundWrites(on.table, around);
  const over = { table, channels: { telegram: { ...telegram, send } }, now: () => clock };
  return { ...on.build(over), configuration: openConfiguration(table, on.secrets) };
}

const askAs = (id: string, around: Around, text = "hello") =>
  handleInbound(watched(around), { channel: "telegram", accountId: "default" }, { ...message(id), text });
const ask = (id: string, text: string) => askAs(id, (_step, go) => go(), text);
const approveAs = (senderId: string, around: Around) => approveSender(watched(around), { ...ann, senderId });

function message(id: string): InboundMessage {
  return {
    eventId: `e-${id}`,
    peer: { kind: "dm", id },
    sender: { id },
    messageId: "5",
    text: "hello",
    timestamp: clock,
    wasMentioned: false,
  };
}
