import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { readActivity } from "../../shared/channels/activity.ts";
import {
  changeOf,
  notificationOf,
  notify,
  statusOf,
  whatsappMessage,
} from "../support/platforms/whatsapp/whatsapp-notifications.ts";
import {
  graphError,
  startWhatsappServer,
  type WhatsappServer,
} from "../support/platforms/whatsapp/whatsapp-server.ts";
import { until } from "../support/until.ts";
import { type Bench, startBench } from "./bench.ts";

const main = "agent:main:main";
const verifyToken = "a-text-that-was-given-to-Meta";
let on: Bench;
let whatsapp: WhatsappServer;
let lines: string[];

beforeEach(async () => {
  lines = [];
  vi.spyOn(process.stdout, "write").mockImplementation((line) => lines.push(String(line)) > 0);
  [on, whatsapp] = await Promise.all([startBench(), startWhatsappServer()]);
  await configure({ dmPolicy: "open" });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await whatsapp.close();
  await on.close();
});

const accountSettings = (): Record<string, string> => ({
  accessToken: whatsapp.accessToken,
  appSecret: whatsapp.appSecret,
  verifyToken,
  phoneNumberId: whatsapp.phoneNumberId,
  apiBaseUrl: whatsapp.url,
});
const configure = (settings: object) =>
  on.configure("channels.whatsapp", {
    owners: ["16505551234", "447700900123"],
    ...settings,
    accounts: { default: accountSettings() },
  });
const deliver = async (body: object) => (await whatsapp.deliver(on.url, body)).status;
/** The origin of a message after typing was shown for it: later calls are answers. */
const originOfMessage = async () => {
  await deliver(notify(whatsappMessage("hello")));
  await until(() => whatsapp.typing.length > 0, "typing was shown");
  return on.origin(main);
};
const logged = (event: string) =>
  lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter((line) => line.event === event);

describe("WhatsApp", () => {
  it("gets its webhook verified with the configured text", async () => {
    expect(await whatsapp.challenge(on.url, verifyToken)).toEqual({
      status: 200,
      text: "1158201444",
      contentType: "text/plain",
    });
    for (const wrong of ["", "wrong", `${verifyToken}x`, verifyToken.toUpperCase()]) {
      const answer = await whatsapp.challenge(on.url, wrong);
      expect([answer.status, answer.text]).toEqual([403, '{"error":"wrong verify token"}']);
    }
    const asks = [
      `hub.verify_token=${verifyToken}&hub.challenge=1`,
      `hub.mode=subscribe&hub.verify_token=${verifyToken}`,
    ];
    for (const query of [...asks, `hub.mode=unsubscribe&${asks[0]}`, ""])
      expect((await fetch(`${on.url}/whatsapp/default?${query}`)).status).toBe(403);
  });

  it("delivers a message to the inbox, shows that it is read, and gets the answer", async () => {
    const message = whatsappMessage("hello");
    expect(await deliver(notify(message))).toBe(200);
    expect(await on.inbox(main)).toMatchObject([
      {
        id: `whatsapp:default:${message.id}`,
        text: expect.stringMatching(/^\[whatsapp · [-\d]+ [:\d]+\]\nhello$/),
        origin: {
          channel: "whatsapp",
          peer: { kind: "dm", id: "16505551234", name: "Ann Example" },
          replyToId: message.id,
        },
      },
    ]);
    await until(() => whatsapp.typing.length > 0, "typing was shown");
    expect(whatsapp.typing).toEqual([message.id]);
    const long = `${"a".repeat(4000)}\n\n${"b".repeat(4000)}`;
    expect(await on.deliver(await on.origin(main), "a", long)).toEqual({ ok: true });
    expect(whatsapp.sent.map(({ to, text, replyTo }) => [to, text[0], replyTo])).toEqual([
      ["16505551234", "a", message.id],
      ["16505551234", "b", undefined],
    ]);
  });

  it("delivers several messages in one call: of several accounts, changes and people", async () => {
    const [one, two, three] = ["one", "two", "three"].map(whatsappMessage);
    const other = whatsappMessage({ from: "447700900123", type: "text", text: { body: "four" } });
    const elsewhere = changeOf({ messages: [whatsappMessage("for another number")] }, "999999999999999");
    const body = notificationOf(
      changeOf({ messages: [one, two], statuses: [statusOf("delivered")] }),
      elsewhere,
      changeOf({ messages: [{ id: "wamid.broken" }, three, "nonsense"] }),
      { field: "account_update", value: { event: "VERIFIED_ACCOUNT" } },
    ) as { entry: object[] };
    const more = notificationOf(changeOf({ messages: [other] })) as { entry: object[] };
    expect(await deliver({ ...body, entry: [...body.entry, ...more.entry] })).toBe(200);
    expect(
      (await on.inbox(main)).map((entry) => entry.kind === "message" && entry.text.split("\n")[1]),
    ).toEqual(["one", "two", "three", "four"]);
    expect(logged("whatsapp.skipped")).toMatchObject([{ accountId: "default", messages: 2 }]);
  });

  it("may deliver a batch again if a part of it failed: each message is accepted once", async () => {
    const messages = ["one", "two", "three"].map(whatsappMessage);
    const { wake } = on.webhook;
    let calls = 0;
    on.webhook = {
      ...on.webhook,
      wake: (key) => (++calls === 1 ? Promise.reject(new Error("no Lambda today")) : wake(key)),
    };
    expect(await deliver(notify(...messages))).toBe(500);
    for (let time = 0; time < 4; time++) expect(await deliver(notify(...messages))).toBe(200);
    expect((await on.inbox(main)).map(({ id }) => id)).toEqual(
      messages.map(({ id }) => `whatsapp:default:${id}`),
    );
  });

  it("reports the status of a message, which is only recorded", async () => {
    const error = { code: 131047, title: "Re-engagement message" };
    const statuses = [statusOf("read"), statusOf("failed", error)];
    expect(await deliver(notificationOf(changeOf({ statuses })))).toBe(200);
    expect(on.writes).toBe(0);
    const activityOf = await readActivity(on.table, Date.now());
    expect(activityOf({ channel: "whatsapp", accountId: "default" }).lastError).toMatch(/24-hour window/);
    const messageId = "wamid.HBgLTEST00000001=";
    expect(logged("whatsapp.status")).toMatchObject([
      { accountId: "default", messageId, status: "read" },
      { messageId, status: "failed", reason: "outside WhatsApp's 24-hour window: the user must write first" },
    ]);
  });

  it("identifies people by their numbers in any form, or by their ids", async () => {
    const allowFrom = ["+1 (650) 555-1234", "US.13491208655302741918"];
    await configure({ dmPolicy: "allowlist", owners: allowFrom });
    await on.configure("session.dmScope", "per-peer");
    const named = { from: undefined, from_user_id: "US.13491208655302741918" };
    await deliver(notify(whatsappMessage("hello")));
    await deliver(notify(whatsappMessage({ ...named, type: "text", text: { body: "no number" } })));
    await deliver(notify(whatsappMessage({ from: "16505551235", type: "text", text: { body: "who?" } })));
    expect(on.woken).toEqual(["agent:main:dm:16505551234", "agent:main:dm:us.13491208655302741918"]);
    await on.deliver(await on.origin("agent:main:dm:us.13491208655302741918"), "a", "hi");
    expect(whatsapp.sent).toMatchObject([{ to: "US.13491208655302741918", text: "hi" }]);
    expect(whatsapp.calls.at(-1)?.body).toMatchObject({ recipient: "US.13491208655302741918" });
  });

  it("admits no unknown sender, and no group", async () => {
    await deliver(
      notify(whatsappMessage({ group_id: "Y2FwaV9ncm91cDox", type: "text", text: { body: "hi" } })),
    );
    for (const settings of [{}, { dmPolicy: "allowlist", allowFrom: ["16505551235"], owners: [] }]) {
      await configure(settings);
      for (const text of ["hello", "/status", "/model openai/gpt-5"])
        expect(await deliver(notify(whatsappMessage(text)))).toBe(200);
    }
    expect(on.writes).toBe(0);
    expect(whatsapp.calls).toEqual([]);
  });

  it("answers a command at once, once", async () => {
    const body = notify(whatsappMessage("/status"));
    for (let time = 0; time < 3; time++) expect(await deliver(body)).toBe(200);
    expect(whatsapp.sent).toMatchObject([{ text: expect.stringContaining(`Session: ${main}`) }]);
    expect(await on.inbox(main)).toEqual([]);
  });

  it("is refused without its secrets and its number", async () => {
    for (const missing of ["accessToken", "appSecret", "verifyToken", "phoneNumberId"]) {
      const { [missing]: _left, ...rest } = accountSettings();
      await on.configure("channels.whatsapp.accounts.half", rest);
      const body = notify(whatsappMessage("hello"));
      expect(await whatsapp.deliver(on.url, body, "/whatsapp/half")).toMatchObject({ status: 503 });
      expect((await fetch(`${on.url}/whatsapp/half?hub.mode=subscribe`)).status).toBe(503);
    }
    expect(on.writes).toBe(0);
  });

  it("gives the reason if the user has to write first", async () => {
    const origin = await originOfMessage();
    whatsapp.away.add("16505551234");
    const reason = "outside WhatsApp's 24-hour window: the user must write first";
    expect(await on.deliver(origin, "a", "hi")).toEqual({ ok: false, reason });
    expect(whatsapp.calls.filter(({ body }) => body?.type === "text")).toHaveLength(1);
  });

  it("gets a wait at its limits, and another attempt after a fault", async () => {
    const origin = await originOfMessage();
    const limits: [number, number, number][] = [
      [400, 131056, 6000],
      [429, 130429, 1000],
      [400, 80007, 1000],
      [400, 4, 1000],
      [500, 131000, 1000],
      [503, 2, 1000],
    ];
    for (const [status, code, wait] of limits) {
      const waits: number[] = [];
      whatsapp.fail("/messages", graphError(status, code, "too many"));
      expect(await on.deliver(origin, `code-${code}`, "hi", (ms) => waits.push(ms))).toEqual({ ok: true });
      expect(waits, String(code)).toEqual([wait]);
    }
    whatsapp.fail("/messages", { status: 502, body: "<html>" }, { drop: true });
    const waits: number[] = [];
    expect(await on.deliver(origin, "page", "hi", (ms) => waits.push(ms))).toEqual({ ok: true });
    expect(waits).toEqual([1000, 2000]);
  });

  it("gives the reason why it refuses an answer, without the token", async () => {
    const origin = await originOfMessage();
    whatsapp.fail(
      "/messages",
      graphError(400, 131026, "Message undeliverable", `not to ${whatsapp.accessToken}`),
    );
    expect(await on.deliver(origin, "a", "hi")).toEqual({ ok: false, reason: "131026 not to ***" });
    await on.configure("channels.whatsapp.accounts.default.accessToken", "an-old-one");
    expect(await on.deliver(origin, "b", "hi")).toEqual({
      ok: false,
      reason: "authentication failed: 190 Invalid OAuth access token - Cannot parse access token",
    });
  });

  it("leaves no secret and no message text in the log", async () => {
    await deliver(notify(whatsappMessage("a private word")));
    await deliver(notify(whatsappMessage("/status")));
    const log = lines.join("");
    expect(log).toContain('"senderId":"16505551234"');
    const secrets = [whatsapp.accessToken, whatsapp.appSecret, verifyToken];
    for (const secret of [...secrets, "a private word", "Ann Example", "Session:"])
      expect(log).not.toContain(secret);
  });
});
