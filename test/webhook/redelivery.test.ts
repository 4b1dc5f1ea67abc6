import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Webhook } from "../../functions/webhook/webhook-handler.ts";
import { channels } from "../../shared/channels/channels.ts";
import { readSession } from "../../shared/session/sessions.ts";
import { metaKey } from "../../shared/session/state.ts";
import { remove, set } from "../../shared/world/expression.ts";
import { type Around, aroundWrites, deathAt } from "../channels/fixture.ts";
import {
  eventIdOf,
  type TelegramUpdate,
  textUpdate,
} from "../support/platforms/telegram/telegram-updates.ts";
import { startWebhook, type WebhookState } from "./fixture.ts";

const main = "agent:main:main";
let on: WebhookState;
let clock: number;

beforeEach(async () => {
  on = await startWebhook();
  clock = Date.now();
});
afterEach(() => on.close());

const receipt = (update: TelegramUpdate) =>
  on.table.get({ pk: `RX#telegram#default#${eventIdOf(update)}`, sk: "RECEIPT" });
const five = (update: TelegramUpdate) => Promise.all(Array.from({ length: 5 }, () => on.deliver(update)));

describe("the same update, delivered again and again", () => {
  it("at once and later is one message", async () => {
    const update = textUpdate("hello");
    expect(await five(update)).toEqual(Array(5).fill(200));
    expect(await on.inbox(main)).toHaveLength(1);
    expect(await receipt(update)).toMatchObject({ state: "done", expiresAt: expect.any(Number) });
    const woken = on.woken.length;
    on.telegram.calls.length = 0;
    for (let time = 0; time < 5; time++) expect(await on.deliver(update)).toBe(200);
    expect(await on.inbox(main)).toHaveLength(1);
    expect(on.woken).toHaveLength(woken);
    expect(on.telegram.calls).toEqual([]);
  });

  it("is recognized although its session remembers only the newest", async () => {
    const update = textUpdate("hello");
    await on.deliver(update);
    await on.table.update(metaKey(main), [set("recent", {}), remove("accepted"), set("inbox", [])]);
    expect(await on.deliver(update)).toBe(200);
    expect(await on.inbox(main)).toEqual([]);
  });

  it("is one reply, if it is a command", async () => {
    const update = textUpdate("/status");
    expect(await five(update)).toEqual(Array(5).fill(200));
    expect(await five(update)).toEqual(Array(5).fill(200));
    expect(on.telegram.sent).toHaveLength(1);
  });

  it("is recognized for eight days after the first delivery", async () => {
    const update = textUpdate("hello");
    await on.deliver(update);
    const expiresAt = Number((await receipt(update))?.expiresAt);
    expect(Math.abs(expiresAt - (clock / 1000 + 8 * 86_400))).toBeLessThan(60);
  });

  it("with another number is another message, and so is that number on another account", async () => {
    await on.configuration.set("channels.telegram.accounts.second", {
      botToken: on.telegram.token,
      webhookSecret: "of-the-second",
      apiBaseUrl: on.telegram.url,
    });
    on.webhook = on.build({ now: () => clock });
    await on.deliver(textUpdate("hello", { messageId: 1 }));
    await on.deliver(textUpdate("hello", { messageId: 2 }));
    await on.deliver(textUpdate("hello", { messageId: 1 }), "of-the-second", "second");
    expect((await on.inbox(main)).map(({ id }) => id)).toEqual([
      "telegram:default:5001002003:1",
      "telegram:default:5001002003:2",
      "telegram:second:5001002003:1",
    ]);
  });
});

describe("a fault during an intake", () => {
  it("is answered with 500, and the next delivery is accepted", async () => {
    const update = textUpdate("hello");
    on.webhook = { ...on.build(), wake: () => Promise.reject(new Error("no Lambda today")) };
    expect(await on.deliver(update)).toBe(500);
    expect(await receipt(update)).toMatchObject({ state: "pending" });
    on.webhook = on.build({ now: () => clock });
    expect(await on.deliver(update)).toBe(200);
    expect(await on.inbox(main)).toHaveLength(1);
    expect(on.woken).toEqual([main]);
    expect(await receipt(update)).toMatchObject({ state: "done" });
  });

  it("after a command does not repeat the command: a stop never ends the next run", async () => {
    await on.deliver(textUpdate("hello", { messageId: 1 }));
    const update = textUpdate("/stop", { messageId: 2 });
    on.webhook = watched(deathBefore("send"));
    expect(await on.deliver(update)).toBe(500);
    const stopped = await readSession(on.table, main);
    expect(stopped?.stop).toBe("telegram:default:5001002003:1");
    // The agent ends that run, and starts the next one.
    await on.table.update(metaKey(main), [remove("stop"), set("inbox", [])]);
    await on.deliver(textUpdate("and now?", { messageId: 3 }));
    clock += 30_000;
    on.webhook = on.build({ now: () => clock });
    expect(await on.deliver(update)).toBe(200);
    expect((await readSession(on.table, main))?.stop).toBeUndefined();
    expect(on.telegram.sent.at(-1)?.text).toBe("Stopped run telegram:default:5001002003:1.");
  });

  it("at any step, before or after it, loses nothing and doubles nothing", async () => {
    // Each case has a separate sender, and so a separate session.
    await on.configuration.set("session.dmScope", "per-peer");
    for (const [text, steps, inbox, replies] of [
      ["hello", ["put RX", "put S", "update RX"], 1, 0],
      ["/status", ["put RX", "update RX", "put TX", "send", "update TX", "update RX"], 0, 1],
    ] as const) {
      const seen: string[] = [];
      on.webhook = watched(async (step, go) => {
        seen.push(step);
        return go();
      });
      // The first message creates its session; that needs another write after one that fails.
      await on.deliver(textUpdate(text, { from: { id: 1000 } }));
      expect(seen.filter((step) => step !== "update S")).toEqual(steps);
      for (const [index, step] of seen.entries()) {
        for (const moment of ["before", "after"] as const) {
          await survives(text, { index, step, moment }, inbox, replies);
        }
      }
    }
  });
});

/** A process that dies before a step, and does nothing afterwards. */
function deathBefore(last: string): Around {
  let isDead = false;
  return async (step, go) => {
    isDead ||= step === last;
    if (isDead) throw new Error("the process died");
    return go();
  };
}

let lastSender = 2000;

async function survives(
  text: string,
  fault: { index: number; step: string; moment: "before" | "after" },
  inbox: number,
  replies: number,
): Promise<void> {
  const from = { id: ++lastSender };
  const name = `${text}: ${fault.moment} ${fault.step}`;
  const update = textUpdate(text, { from });
  on.telegram.sent.length = 0;
  on.webhook = watched(deathAt(fault.index, fault.moment));
  expect(await on.deliver(update), name).toBe(500);
  clock += 30_000;
  on.webhook = on.build({ now: () => clock });
  expect(await on.deliver(update), name).toBe(200);
  expect(await on.deliver(update), name).toBe(200);
  const isUnknowable =
    (fault.step === "send" && fault.moment === "after") ||
    (fault.step === "update TX" && fault.moment === "before");
  expect(on.telegram.sent.length, name).toBe(replies + (isUnknowable ? 1 : 0));
  expect(await on.inbox(`agent:main:telegram:guest:${from.id}`), name).toHaveLength(inbox);
}

/** The function in a new process, with a hook around every write and send. */
function watched(around: Around): Webhook {
  const telegram = channels.telegram!;
  const send: typeof telegram.send = (...args) => around("send", () => telegram.send(...args));
  const table = aroundWrites(on.table, around);
  return on.build({ table, channels: { telegram: { ...telegram, send } }, now: () => clock });
}
