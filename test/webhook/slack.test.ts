import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { appMention, channelMessage, directMessage } from "../support/platforms/slack/slack-events.ts";
import { type SlackServer, startSlackServer } from "../support/platforms/slack/slack-server.ts";
import { type Bench, startBench } from "./bench.ts";

const main = "agent:main:main";
const room = "agent:main:slack:channel:c0lan2q65";
let on: Bench;
let slack: SlackServer;

beforeEach(async () => {
  [on, slack] = await Promise.all([startBench(), startSlackServer()]);
  await on.configure("channels.slack", {
    dmPolicy: "open",
    owners: ["U061F7AUR"],
    accounts: { default: accountSettings() },
  });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await slack.close();
  await on.close();
});

const accountSettings = () => ({
  botToken: slack.botToken,
  signingSecret: slack.signingSecret,
  apiBaseUrl: slack.url,
});
const deliver = async (body: object) => (await slack.deliver(on.url, body)).status;
const texts = () => slack.posted.map(({ text }) => text);

describe("Slack", () => {
  it("gets its address verification answered, if the request is really from Slack", async () => {
    const body = { token: "t", challenge: "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P" };
    const asked = { ...body, type: "url_verification" };
    expect(await slack.deliver(on.url, asked)).toEqual({
      status: 200,
      text: JSON.stringify({ challenge: body.challenge }),
      contentType: "application/json",
    });
    const unsigned = await fetch(`${on.url}/slack/default`, { method: "POST", body: JSON.stringify(asked) });
    expect([unsigned.status, await unsigned.text()]).toEqual([
      401,
      '{"error":"wrong signature or timestamp"}',
    ]);
  });

  it("delivers a direct message to the inbox, and gets the answer in the same place", async () => {
    const event = directMessage("what is 1 &lt; 2?", { ts: "1780000000.000100" });
    expect(await deliver(event)).toBe(200);
    expect(await on.inbox(main)).toMatchObject([
      {
        id: "slack:default:D024BE91L:1780000000.000100",
        text: "[slack · 2026-05-28 20:26]\nwhat is 1 < 2?",
        origin: { channel: "slack", accountId: "default", peer: { kind: "dm", id: "D024BE91L" } },
      },
    ]);
    expect(on.woken).toEqual([main]);
    expect(slack.calls).toEqual([]);
    expect(await on.deliver(await on.origin(main), "a", "yes & <no>")).toEqual({ ok: true });
    expect(slack.posted).toEqual([
      { channel: "D024BE91L", text: "yes &amp; &lt;no&gt;", ts: "1700000000.000001" },
    ]);
  });

  it("delivers mentions to the channel's session, and threads to their own, where they are answered", async () => {
    await deliver(appMention("<@U0LAN0Z89> hello"));
    await deliver(appMention("<@U0LAN0Z89> and here?", { thread_ts: "1780000000.000200" }));
    const thread = `agent:main:slack:thread:${"c0lan2q65_1780000000.000200"}`;
    expect(on.woken).toEqual([room, thread]);
    expect(await on.inbox(room)).toMatchObject([{ text: expect.stringMatching(/ · U061F7AUR\]\nhello$/) }]);
    for (const key of [room, thread]) await on.deliver(await on.origin(key), key, "hi");
    expect(slack.posted).toMatchObject([
      { channel: "C0LAN2Q65", text: "hi" },
      { channel: "C0LAN2Q65", text: "hi", thread_ts: "1780000000.000200" },
    ]);
    expect(slack.posted[0]).not.toHaveProperty("thread_ts");
  });

  it("is answered in the thread of a direct message, which is the same conversation", async () => {
    await deliver(directMessage("and this?", { thread_ts: "1780000000.000300" }));
    expect(on.woken).toEqual([main]);
    await on.deliver(await on.origin(main), "a", "x".repeat(4_001));
    expect(slack.posted).toMatchObject([
      { channel: "D024BE91L", thread_ts: "1780000000.000300" },
      { channel: "D024BE91L", thread_ts: "1780000000.000300" },
    ]);
  });

  it("may deliver an event again, at once or later: it is one message with one answer", async () => {
    const event = directMessage("hello");
    const status = directMessage("/status");
    const five = (body: object) => Promise.all(Array.from({ length: 5 }, () => deliver(body)));
    for (const body of [event, status, event, status]) expect(await five(body)).toEqual(Array(5).fill(200));
    expect(await on.inbox(main)).toHaveLength(1);
    expect(texts()).toEqual([expect.stringContaining(`Session: ${main}`)]);
  });

  it("may send its longest message, which is cut if it exceeds the inbox's limit", async () => {
    expect(await deliver(directMessage("漢".repeat(40_000)))).toBe(200);
    const cut = /^\[slack · [^\]]+\]\n漢{30000,}\n\[cut here: the message has 40000 characters\]$/;
    expect(await on.inbox(main)).toMatchObject([{ text: expect.stringMatching(cut) }]);
  });

  it("sends many events that the agent ignores", async () => {
    const nothing = [
      channelMessage("what a day"),
      channelMessage("<@U0LAN0Z89> comes as a mention too"),
      directMessage("mine", { user: "U0LAN0Z89" }),
      directMessage("a bot's", { bot_id: "B061F7AUR" }),
      directMessage("", { subtype: "message_changed", message: { text: "x" } }),
      directMessage("joined", { subtype: "channel_join" }),
      { type: "app_rate_limited", team_id: "T061EG9R6", minute_rate_limited: 1_518_467_820 },
    ];
    for (const body of nothing) expect(await deliver(body)).toBe(200);
    expect(on.writes).toBe(0);
    expect(on.woken).toEqual([]);
  });

  it("gets every message in a channel answered once if configured, but only those of admitted users", async () => {
    const settings = { dmPolicy: "allowlist", allowFrom: ["U061F7AUR"], requireMention: false };
    await on.configure("channels.slack", { ...settings, accounts: { default: accountSettings() } });
    const text = "and <@U0LAN0Z89>?";
    for (const body of [channelMessage("what a day"), channelMessage(text), appMention(text)])
      expect(await deliver(body)).toBe(200);
    await deliver(channelMessage("a stranger's", { user: "U2" }));
    expect(await on.inbox(room)).toMatchObject([
      { text: expect.stringMatching(/what a day$/) },
      { text: expect.stringMatching(/and @U0LAN0Z89\?$/) },
    ]);
  });

  it("is refused without its secrets", async () => {
    for (const missing of ["botToken", "signingSecret"]) {
      const { [missing]: _left, ...rest } = accountSettings() as Record<string, string>;
      await on.configure("channels.slack.accounts.half", rest);
      expect(await slack.deliver(on.url, directMessage("hi"), "/slack/half")).toMatchObject({ status: 503 });
    }
    expect(on.writes).toBe(0);
  });

  it("admits no unknown sender", async () => {
    for (const settings of [{}, { dmPolicy: "allowlist", allowFrom: ["U2"] }]) {
      await on.configure("channels.slack", { ...settings, accounts: { default: accountSettings() } });
      for (const text of ["hello", "/status", "/model openai/gpt-5"]) {
        expect(await deliver(directMessage(text))).toBe(200);
        expect(await deliver(appMention(`<@U0LAN0Z89> ${text}`))).toBe(200);
      }
    }
    expect(on.writes).toBe(0);
    expect(slack.calls).toEqual([]);
  });

  it("admits by the id of a user or a channel, ignoring case", async () => {
    const settings = { dmPolicy: "allowlist", owners: [], allowFrom: ["u061f7aur"] };
    await on.configure("channels.slack", { ...settings, accounts: { default: accountSettings() } });
    await deliver(directMessage("hello"));
    await on.configure("channels.slack.allowFrom", ["C0LAN2Q65"]);
    await deliver(appMention("hello", { thread_ts: "1780000000.000200" }));
    await deliver(directMessage("hello"));
    expect(on.woken).toEqual([
      "agent:main:slack:guest:u061f7aur",
      "agent:main:slack:thread:c0lan2q65_1780000000.000200",
    ]);
  });

  it("gets the requested wait, and another attempt after a fault", async () => {
    await deliver(directMessage("hello"));
    const origin = await on.origin(main);
    const waits: number[] = [];
    slack.fail(
      "chat.postMessage",
      { status: 429, body: { ok: false, error: "ratelimited" }, headers: { "retry-after": "3" } },
      { drop: true },
    );
    expect(await on.deliver(origin, "a", "hi", (ms) => waits.push(ms))).toEqual({ ok: true });
    expect(waits).toEqual([3000, 2000]);
    expect(texts()).toEqual(["hi"]);
  });

  it("gives the reason why it refuses an answer", async () => {
    await deliver(directMessage("hello"));
    const origin = await on.origin(main);
    slack.closed.add("D024BE91L");
    expect(await on.deliver(origin, "a", "hi")).toEqual({ ok: false, reason: "200 not_in_channel" });
    await on.configure("channels.slack.accounts.default.botToken", "xoxb-an-old-one");
    expect(await on.deliver(origin, "b", "hi")).toEqual({
      ok: false,
      reason: "authentication failed: invalid_auth",
    });
  });

  it("leaves no secret and no message text in the log", async () => {
    const lines: string[] = [];
    vi.spyOn(process.stdout, "write").mockImplementation((line) => lines.push(String(line)) > 0);
    const event = directMessage("a private word");
    await deliver(event);
    await deliver({ ...event, event: { ...event.event, ts: "1780000009.000000", text: "/status" } });
    const log = lines.join("");
    expect(log).toContain('"senderId":"U061F7AUR"');
    const { "x-slack-signature": signature } = slack.sign(event).headers;
    for (const secret of [slack.botToken, slack.signingSecret, signature!, "a private word"])
      expect(log).not.toContain(secret);
  });
});
