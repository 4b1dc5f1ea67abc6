import { describe, expect, it } from "vitest";
import type { InboundMessage } from "../../../shared/channels/channel.ts";
import { createSlack } from "../../../shared/channels/slack/slack.ts";
import { decodeSlackText, encodeSlackText } from "../../../shared/channels/slack/slack-text.ts";
import {
  appMention,
  channelMessage,
  directMessage,
  envelopeOf,
  messageChanged,
} from "../../support/platforms/slack/slack-events.ts";
import { signSlack } from "../../support/platforms/slack/slack-server.ts";

const signingSecret = "5f2d0c7a9be84b1fa3c6d8e7f0a1b2c3";
const now = 1_780_000_000_000;
const slack = createSlack({ now: () => now });
const account = { accountId: "default", settings: {}, secrets: { botToken: "xoxb", signingSecret } };

const receive = (body: string, method = "POST") => {
  const { headers } = signSlack(signingSecret, body, now / 1000);
  return slack.receive({ method, headers, query: {}, body: Buffer.from(body) }, account);
};

async function read(event: object): Promise<InboundMessage | undefined> {
  const received = await receive(JSON.stringify(event));
  if (received.status !== "messages") throw new Error(`not taken: ${JSON.stringify(received)}`);
  expect(received.messages.length).toBeLessThanOrEqual(1);
  return received.messages[0];
}
const textOf = async (event: object) => (await read(event))?.text;

describe("a call of the Events API", () => {
  it("is refused when it is not a POST, or not a call", async () => {
    expect(await receive("{}", "GET")).toMatchObject({ status: "refused", httpStatus: 405 });
    const bad = [
      ...["", "{", "null", "[]", "7", "{}", '{"type":7}', '{"type":"url_verification"}'],
      '{"type":"event_callback"}',
      '{"type":"event_callback","event_id":"","event":{"type":"message"}}',
      '{"type":"event_callback","event_id":"Ev1","event":{}}',
      "payload=%7B%7D",
    ];
    for (const body of bad)
      expect(await receive(body), body).toMatchObject({ status: "refused", httpStatus: 400 });
  });

  it("with a direct message has the sender, the conversation and the time", async () => {
    const event = directMessage("hello\n  there", { ts: "1780000000.123456" });
    expect(await read(event)).toEqual({
      eventId: "D024BE91L:1780000000.123456",
      peer: { kind: "dm", id: "D024BE91L" },
      sender: { id: "U061F7AUR" },
      messageId: "1780000000.123456",
      text: "hello\n  there",
      timestamp: 1_780_000_000_123,
      wasMentioned: false,
    });
  });

  it("with a message in a thread has the thread as its peer, unless it is direct", async () => {
    const thread_ts = "1780000000.000001";
    expect(await read(appMention("hi", { thread_ts }))).toMatchObject({
      peer: { kind: "thread", id: `C0LAN2Q65/${thread_ts}` },
      wasMentioned: true,
    });
    expect(await read(directMessage("hi", { thread_ts }))).toMatchObject({
      peer: { kind: "dm", id: "D024BE91L" },
      context: { threadTs: thread_ts },
    });
    expect((await read(appMention("hi")))?.peer).toEqual({ kind: "channel", id: "C0LAN2Q65" });
    expect(await read(appMention("hi"))).not.toHaveProperty("context");
  });

  it("with an answer to the bot in a thread is a mention, and to somebody else is not", async () => {
    const reply = (parent_user_id: string, text = "yes") =>
      channelMessage(text, { thread_ts: "1780000000.000001", parent_user_id });
    expect(await read(reply("U0LAN0Z89"))).toMatchObject({ wasMentioned: true });
    expect(await read(reply("U061F7AUR"))).toMatchObject({ wasMentioned: false });
    // These also arrive as mentions, in separate events.
    expect(await read(reply("U0LAN0Z89", "<@U0LAN0Z89> yes"))).toBeUndefined();
    expect(await read(channelMessage("you, <@U0LAN0Z89|gsv>?"))).toBeUndefined();
    expect(await read(directMessage("<@U0LAN0Z89> hello"))).toMatchObject({ text: "hello" });
    expect(await read(channelMessage("hello"))).toMatchObject({ wasMentioned: false });
  });

  it("drops the bot's name at its start", async () => {
    expect(await textOf(appMention("<@U0LAN0Z89> hello"))).toBe("hello");
    expect(await textOf(appMention(" <@U0LAN0Z89|gsv>, /status"))).toBe("/status");
    expect(await textOf(appMention("hey <@U0LAN0Z89>"))).toBe("hey @U0LAN0Z89");
    expect(await textOf(appMention("<@U2> hello <@U0LAN0Z89>"))).toBe("@U2 hello @U0LAN0Z89");
    expect(await textOf(appMention("<@U0LAN0Z89>"))).toBe("@U0LAN0Z89");
  });

  it("has files next to the text, and notes about those that Slack does not host", async () => {
    const url_private = "https://files.slack.com/files-pri/T061EG9R6-F1/ghost.png";
    const files = [
      { id: "F1", name: "ghost [1].png", mimetype: "image/png", mode: "hosted", size: 5, url_private },
      { id: "F2", name: null, mimetype: null, file_access: "check_file_info" },
      { id: "F3", mode: "tombstone" },
      { id: "F4", mode: "external", name: "elsewhere.pdf", url_private: "https://elsewhere.example/" },
    ];
    const message = await read(directMessage("look", { subtype: "file_share", files }));
    const source = { fileId: "F1", url: url_private };
    expect(message).toMatchObject({ text: "look", shown: "[file]\n[file: elsewhere.pdf]" });
    expect(message?.attachments).toEqual([
      { type: "image", mimeType: "image/png", filename: "ghost [1].png", size: 5, source },
      { type: "document", source: { fileId: "F2" } },
    ]);
    expect(await read(directMessage("", { files: files.slice(0, 1) }))).toMatchObject({ text: "" });
  });

  it("has a spoken clip as a voice note", async () => {
    const clip = { id: "F1", mimetype: "audio/mp4", subtype: "slack_audio", duration_ms: 2500 };
    const message = await read(directMessage("", { subtype: "file_share", files: [clip] }));
    expect(message?.attachments).toMatchObject([{ type: "audio", voice: true, duration: 2.5 }]);
  });

  it("with an edit has the message's id, in a channel too, where a mention may be new", async () => {
    const original = directMessage("helo", { ts: "1780000000.000007" });
    expect(await read(messageChanged(original, "hello"))).toEqual({
      ...(await read(original)),
      text: "hello",
      editedAt: 1_780_000_060_000,
    });
    const inChannel = messageChanged(channelMessage("hello"), "<@U0LAN0Z89> hello");
    expect(await read(inChannel)).toMatchObject({
      text: "hello",
      wasMentioned: true,
      editedAt: 1_780_000_060_000,
    });
    // Slack adds a preview, or counts the answers in a thread.
    expect(await read(messageChanged(original, "helo", { edited: undefined }))).toBeUndefined();
  });

  it("that does not concern the agent is accepted without a message", async () => {
    const nothing = [
      envelopeOf({ type: "reaction_added", user: "U1", event_ts: "1.2" }),
      directMessage(""),
      directMessage("of a bot", { bot_id: "B1" }),
      directMessage("its own", { user: "U0LAN0Z89" }),
      directMessage("gone", { subtype: "message_deleted" }),
      directMessage("no sender", { user: undefined }),
      { type: "app_rate_limited" },
    ];
    for (const event of nothing) expect(await read(event)).toBeUndefined();
    expect(await read(directMessage("a user's", { bot_id: null }))).toBeDefined();
  });
});

describe("Slack's marks", () => {
  it("become the text that people see", () => {
    const expected: [string, string][] = [
      ["1 &lt; 2 &amp;&amp; 3 &gt; 2", "1 < 2 && 3 > 2"],
      ["&amp;lt;", "&lt;"],
      ["<@U1|ann> in <#C1|general>", "@ann in #general"],
      ["<#C1> <!here> <!channel>", "#C1 @here @channel"],
      ["<!subteam^S1|@team> <!date^1^{date}|today>", "@team today"],
      ["<https://example.com/a?b=1&amp;c=2>", "https://example.com/a?b=1&c=2"],
      ["<https://example.com|here>", "here (https://example.com)"],
      ["<http://example.com|example.com>", "example.com"],
      ["<mailto:a@example.com|a@example.com>", "a@example.com"],
      ["<https://bank.example|mybank.com>", "mybank.com (https://bank.example)"],
      ["a < b", "a < b"],
    ];
    for (const [given, text] of expected) expect(decodeSlackText(given)).toBe(text);
  });

  it("do not occur in an answer", () => {
    expect(encodeSlackText("<!channel> & <@U1>")).toBe("&lt;!channel&gt; &amp; &lt;@U1&gt;");
    for (const text of ["a < b && c > d", "&amp;", "<x|y>", "plain"])
      expect(decodeSlackText(encodeSlackText(text))).toBe(text);
  });
});
