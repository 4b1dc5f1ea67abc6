import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { ChannelSender, Channels } from "../../../shared/channels/channel.ts";
import { channels } from "../../../shared/channels/channels.ts";
import { createChannelSender } from "../../../shared/channels/outbound/sender.ts";
import type { Table } from "../../../shared/world/world.ts";
import { type ChannelState, deathAt, originOf, startChannels, watched } from "../fixture.ts";

let on: ChannelState;
let clock: number;
let waits: number[];
let lines: Record<string, unknown>[];
let deliveries = 0;
let id: string;

const toAnn = originOf("dm", "5001002003", "3");
/** Three parts of Telegram's maximum length. */
const long = ["a", "b", "c"].map((letter) => letter.repeat(3000)).join("\n\n");

beforeAll(async () => {
  on = await startChannels();
});
afterAll(() => on.close());
beforeEach(() => {
  clock = 1_800_000_000_000;
  waits = [];
  id = `delivery-${++deliveries}`;
  on.telegram.calls.length = 0;
  on.telegram.sent.length = 0;
  on.telegram.uploads.length = 0;
  lines = [];
  vi.spyOn(process.stdout, "write").mockImplementation((line) => lines.push(JSON.parse(String(line))) > 0);
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** Waiting moves the clock, and lets others run. */
const wait = async (ms: number) => {
  waits.push(ms);
  clock += ms;
  await new Promise((resolve) => setImmediate(resolve));
};
/** No time passes, so that the first sender's claim holds, however slow it is. */
const patient = () => new Promise((resolve) => setImmediate(resolve));
const senderOver = (table: Table = on.table, over: Channels = channels): ChannelSender =>
  createChannelSender({ ...on, table, channels: over, now: () => clock, wait });
const receipt = (part: number) => on.table.get({ pk: `TX#${id}`, sk: String(part).padStart(4, "0") });
const sentTexts = () => on.telegram.sent.map(({ text }) => text?.[0]);
const logged = (event: string) => lines.filter((line) => line.event === event);

const plan = { filename: "plan.pdf", mimeType: "application/pdf", body: Buffer.from("%PDF") };

describe("delivering a file", () => {
  it("comes after the text, with its own receipt: a repeat sends neither again", async () => {
    for (let time = 0; time < 2; time++)
      expect(await senderOver().deliver(toAnn, id, "look", plan)).toEqual({ ok: true });
    expect(on.telegram.calls.map(({ method }) => method)).toEqual(["sendMessage", "sendDocument"]);
    expect(await receipt(1)).toMatchObject({ state: "sent" });
  });

  it("is one message without text, and replies", async () => {
    const inGroup = originOf("group", "-1001", "7");
    expect(await senderOver().deliver(inGroup, id, "", plan)).toEqual({ ok: true });
    expect(on.telegram.calls).toMatchObject([
      { method: "sendDocument", params: { reply_parameters: { message_id: 7 } } },
    ]);
  });

  it("is retried when that may help, and has a longer time limit than a text", async () => {
    on.telegram.fail("sendDocument", { retryAfter: 2 });
    expect(await senderOver().deliver(toAnn, id, "", plan)).toEqual({ ok: true });
    expect(waits).toEqual([2000]);
    const telegram = { ...channels.telegram, sendFile: () => new Promise<never>(() => {}) };
    void senderOver(on.table, { telegram } as Channels).deliver(toAnn, `${id}-2`, "", plan);
    const claim = () => on.table.get({ pk: `TX#${id}-2`, sk: "0000" });
    await expect.poll(async () => (await claim())?.claimedUntil).toBe(clock + 65_000);
  });

  it("fails when the platform accepts no files, before anything is sent", async () => {
    const telegram = { ...channels.telegram, sendFile: undefined };
    const sender = senderOver(on.table, { telegram } as Channels);
    const reason = "telegram accepts no files";
    expect(await sender.deliver(toAnn, id, "look", plan)).toEqual({ ok: false, reason });
    expect(on.telegram.calls).toEqual([]);
  });
});

describe("delivering to a channel", () => {
  it("sends the text and stores a receipt for a week", async () => {
    expect(await senderOver().deliver(toAnn, id, "hello")).toEqual({ ok: true });
    expect(on.telegram.calls).toEqual([
      {
        method: "sendMessage",
        params: { chat_id: "5001002003", text: "hello", link_preview_options: { is_disabled: true } },
        status: 200,
      },
    ]);
    expect(await receipt(0)).toEqual({
      pk: `TX#${id}`,
      sk: "0000",
      state: "sent",
      messageId: String(on.telegram.sent[0]?.message_id),
      expiresAt: clock / 1000 + 7 * 86_400,
    });
  });

  it("sends a long text in parts, in order, the first as the reply", async () => {
    expect(await senderOver().deliver(originOf("group", "-77", "3"), id, long)).toEqual({ ok: true });
    expect(sentTexts()).toEqual(["a", "b", "c"]);
    expect(on.telegram.calls.map(({ params }) => "reply_parameters" in params)).toEqual([true, false, false]);
    for (const part of [0, 1, 2]) expect(await receipt(part)).toMatchObject({ state: "sent" });
    expect(await receipt(3)).toBeUndefined();
  });

  it("sends nothing again when repeated", async () => {
    await senderOver().deliver(toAnn, id, long);
    clock += 3_600_000;
    expect(await senderOver().deliver(toAnn, id, long)).toEqual({ ok: true });
    expect(sentTexts()).toEqual(["a", "b", "c"]);
  });

  it("sends nothing for an empty text", async () => {
    expect(await senderOver().deliver(toAnn, id, " \n")).toEqual({ ok: true });
    expect(on.telegram.calls).toEqual([]);
  });

  it("sends once for several concurrent deliveries", async () => {
    const options = { ...on, now: () => clock, wait: patient };
    const senders = Array.from({ length: 5 }, () => createChannelSender(options));
    const all = senders.map((sender) => sender.deliver(toAnn, id, long));
    expect(await Promise.all(all)).toEqual(Array(5).fill({ ok: true }));
    expect(sentTexts()).toEqual(["a", "b", "c"]);
    expect(logged("channel.resend")).toEqual([]);
  });

  it("ignores an expired receipt that is not deleted yet", async () => {
    await senderOver().deliver(toAnn, id, "hello");
    clock += 8 * 86_400_000;
    await senderOver().deliver(toAnn, id, "hello");
    expect(on.telegram.sent).toHaveLength(2);
  });
});

describe("a crash during a delivery", () => {
  it("loses and duplicates nothing, except the one step with an unknown outcome", async () => {
    const steps = await stepsOf((table, over) => senderOver(table, over).deliver(toAnn, id, long));
    expect(steps).toEqual(Array(3).fill(["put", "send", "update"]).flat());
    for (const [index, step] of steps.entries()) {
      for (const moment of ["before", "after"] as const) {
        id = `crash-${index}-${moment}`;
        on.telegram.sent.length = 0;
        lines.length = 0;
        const { table, over } = dieAt(index, moment);
        await expect(senderOver(table, over).deliver(toAnn, id, long)).rejects.toThrow("the process died");
        clock += 30_000;
        expect(await senderOver().deliver(toAnn, id, long)).toEqual({ ok: true });
        const part = Math.floor(index / 3);
        const isUnknowable =
          (step === "send" && moment === "after") || (step === "update" && moment === "before");
        const doubled = isUnknowable ? ["abc"[part]] : [];
        expect(sentTexts().sort(), `${moment} ${step} ${part}`).toEqual(["a", "b", "c", ...doubled].sort());
        // A part that was claimed and perhaps sent is logged when it is sent again.
        const isClaimed = isUnknowable || (step === "put" && moment === "after") || step === "send";
        expect(logged("channel.resend")).toHaveLength(isClaimed ? 1 : 0);
        expect(logged("channel.resend").every((line) => line.part === part && line.deliveryId === id)).toBe(
          true,
        );
      }
    }
  });

  it("leaves an unsent part to one of all concurrent senders", async () => {
    const { table, over } = dieAt(1, "before");
    await expect(senderOver(table, over).deliver(toAnn, id, "hello")).rejects.toThrow("the process died");
    clock += 30_000;
    const options = { ...on, now: () => clock, wait: patient };
    const all = Array.from({ length: 5 }, () => createChannelSender(options).deliver(toAnn, id, "hello"));
    expect(await Promise.all(all)).toEqual(Array(5).fill({ ok: true }));
    expect(on.telegram.sent).toHaveLength(1);
    expect(logged("channel.resend")).toHaveLength(1);
  });

  it("respects the claim on a part for its maximum duration", async () => {
    const { table, over } = dieAt(1, "before");
    await expect(senderOver(table, over).deliver(toAnn, id, "hello")).rejects.toThrow("the process died");
    expect(await senderOver().deliver(toAnn, id, "hello")).toEqual({ ok: true });
    const waited = waits.reduce((sum, ms) => sum + ms, 0);
    // 15 s for the sender, and 5 s for the difference of the clocks.
    expect(waited).toBeGreaterThan(15_000);
    expect(waited).toBeLessThanOrEqual(21_000);
    expect(on.telegram.sent).toHaveLength(1);
  });
});

describe("a platform that does not accept a message", () => {
  it("gets the wait that it asks for", async () => {
    on.telegram.fail("sendMessage", { retryAfter: 3 }, { retryAfter: 15 });
    expect(await senderOver().deliver(toAnn, id, "hello")).toEqual({ ok: true });
    expect(waits).toEqual([3000, 15_000]);
    expect(on.telegram.sent).toHaveLength(1);
    expect(logged("channel.retry")).toHaveLength(2);
  });

  it("is not called again when it asks for a longer wait than allowed", async () => {
    on.telegram.fail("sendMessage", { retryAfter: 16 });
    const failure = { ok: false, reason: "429 Too Many Requests: retry after 16" };
    expect(await senderOver().deliver(toAnn, id, "hello")).toEqual(failure);
    expect(waits).toEqual([]);
    expect(on.telegram.calls).toHaveLength(1);
  });

  it("gets a minute when the sender allows it", async () => {
    const patientSender = () =>
      createChannelSender({ ...on, now: () => clock, wait, maxWaitMs: 60_000 }).deliver(toAnn, id, "hello");
    on.telegram.fail("sendMessage", { retryAfter: 42 });
    expect(await patientSender()).toEqual({ ok: true });
    on.telegram.fail("sendMessage", { retryAfter: 61 });
    id = `${id}-again`;
    expect(await patientSender()).toMatchObject({ ok: false });
    expect(waits).toEqual([42_000]);
  });

  it("is called three times, with growing waits, and then given up", async () => {
    const down = { status: 502, description: "Bad Gateway" };
    on.telegram.fail("sendMessage", down, { drop: true }, down);
    const failure = { ok: false, reason: "502 Bad Gateway" };
    expect(await senderOver().deliver(toAnn, id, long)).toEqual(failure);
    expect(waits).toEqual([1000, 2000]);
    expect(on.telegram.sent).toEqual([]);
    expect(await receipt(0)).toMatchObject({ state: "failed", reason: "502 Bad Gateway" });
    expect(await receipt(1)).toBeUndefined();
  });

  it("is not called again after a refusal, nor by a repeat", async () => {
    on.telegram.fail("sendMessage", { status: 403, description: "Forbidden: bot was blocked by the user" });
    const failure = { ok: false, reason: "403 Forbidden: bot was blocked by the user" };
    expect(await senderOver().deliver(toAnn, id, long)).toEqual(failure);
    expect(await senderOver().deliver(toAnn, id, long)).toEqual(failure);
    expect(on.telegram.calls).toHaveLength(1);
    expect(waits).toEqual([]);
  });

  it("keeps others from sending the part during the wait", async () => {
    on.telegram.fail("sendMessage", { retryAfter: 14 }, { retryAfter: 14 });
    let until = clock;
    let other: Promise<unknown> | undefined;
    // The other sender's waiting moves the clock, up to the moment that the first one waits for.
    const otherWait = async () => {
      clock = Math.min(until, clock + 250);
      await new Promise((resolve) => setImmediate(resolve));
    };
    const firstWait = async (ms: number) => {
      until += ms;
      other ??= createChannelSender({ ...on, now: () => clock, wait: otherWait }).deliver(toAnn, id, "hello");
      while (clock < until) await new Promise((resolve) => setImmediate(resolve));
    };
    const first = createChannelSender({ ...on, now: () => clock, wait: firstWait });
    expect(await first.deliver(toAnn, id, "hello")).toEqual({ ok: true });
    expect(await other).toEqual({ ok: true });
    expect(on.telegram.sent).toHaveLength(1);
  });
});

describe("a sender that was frozen while it waited", () => {
  it("does not send a part that another sender has taken over", async () => {
    on.telegram.fail("sendMessage", { retryAfter: 5 });
    let other: unknown;
    const frozen = async () => {
      clock += 60_000;
      other = await senderOver().deliver(toAnn, id, "hello");
    };
    const first = createChannelSender({ ...on, now: () => clock, wait: frozen });
    expect(await first.deliver(toAnn, id, "hello")).toEqual({ ok: true });
    expect(other).toEqual({ ok: true });
    expect(on.telegram.sent).toHaveLength(1);
  });

  it("continues when no other sender has", async () => {
    on.telegram.fail("sendMessage", { retryAfter: 5 });
    const frozen = async () => {
      clock += 60_000;
    };
    const sender = createChannelSender({ ...on, now: () => clock, wait: frozen });
    expect(await sender.deliver(toAnn, id, "hello")).toEqual({ ok: true });
    expect(on.telegram.sent).toHaveLength(1);
  });
});

describe("a channel that cannot be delivered to", () => {
  it("is named in the failure's reason", async () => {
    const to = (channel: string, accountId: string) =>
      senderOver().deliver({ ...toAnn, channel, accountId }, id, "hello");
    expect(await to("pigeon", "default")).toEqual({ ok: false, reason: "unknown channel pigeon" });
    expect(await to("toString", "default")).toEqual({ ok: false, reason: "unknown channel toString" });
    for (const account of ["second", "constructor"]) {
      expect(await to("telegram", account)).toEqual({
        ok: false,
        reason: `telegram/${account}: not configured`,
      });
    }
    await on.configuration.set("channels.telegram.accounts.off", { enabled: false, botToken: "1:x" });
    expect(await to("telegram", "off")).toEqual({ ok: false, reason: "telegram/off: stopped" });
    await on.configuration.set("channels.telegram.accounts.half", { botToken: "1:x" });
    expect(await to("telegram", "half")).toEqual({
      ok: false,
      reason: "telegram/half: no webhookSecret configured",
    });
    expect(on.telegram.calls).toEqual([]);
  });
});

describe("the typing indicator", () => {
  it("is sent to the channel of a message, and not for a client", async () => {
    await senderOver().typing({ kind: "client", connectionId: "c" });
    await senderOver().typing(toAnn);
    expect(on.telegram.calls.map(({ method }) => method)).toEqual(["sendChatAction"]);
  });

  it("never fails", async () => {
    await senderOver().typing({ ...toAnn, channel: "pigeon" });
    await senderOver().typing({ ...toAnn, accountId: "nobody" });
    const broken = { load: () => Promise.reject(new Error("no table")) };
    const sender = createChannelSender({ ...on, configuration: broken, now: () => clock, wait });
    await sender.typing(toAnn);
    expect(logged("channel.typing.failed")).toHaveLength(1);
  });
});

/** The writes and sends of a run, in order. */
async function stepsOf(run: (table: Table, over: Channels) => Promise<unknown>): Promise<string[]> {
  const steps: string[] = [];
  const { table, over } = watched(on.table, async (step, go) => {
    steps.push(step);
    return go();
  });
  await run(table, over);
  return steps;
}

const dieAt = (index: number, moment: "before" | "after") => watched(on.table, deathAt(index, moment));
