import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { ChannelAccount, InboundMessage } from "../../../shared/channels/channel.ts";
import { createTelegram } from "../../../shared/channels/telegram/telegram.ts";
import {
  startTelegramServer,
  type TelegramServer,
} from "../../support/platforms/telegram/telegram-server.ts";
import {
  documentUpdate,
  editedUpdate,
  eventIdOf,
  groupUpdate,
  photoUpdate,
  type TelegramUpdate,
  textUpdate,
  voiceUpdate,
} from "../../support/platforms/telegram/telegram-updates.ts";

const webhookSecret = "s3cret_of-the_webhook";
let server: TelegramServer;
let account: ChannelAccount;
let telegram: ReturnType<typeof createTelegram>;

beforeAll(async () => {
  server = await startTelegramServer();
});
afterAll(() => server.close());
beforeEach(() => {
  telegram = createTelegram();
  server.calls.length = 0;
  account = {
    accountId: "default",
    settings: { apiBaseUrl: server.url },
    secrets: { botToken: server.token, webhookSecret },
  };
});

const post = (body: string, secret: string | undefined = webhookSecret, method = "POST") =>
  telegram.receive(
    { method, headers: { "x-telegram-bot-api-secret-token": secret }, query: {}, body: Buffer.from(body) },
    account,
  );

async function read(update: TelegramUpdate): Promise<InboundMessage | undefined> {
  const received = await post(JSON.stringify(update));
  if (received.status !== "messages") throw new Error(`not taken: ${JSON.stringify(received)}`);
  expect(received.messages.length).toBeLessThanOrEqual(1);
  return received.messages[0];
}

const botId = () => server.bot.id;
const fromBot = (text: string) => textUpdate(text, { from: { ...server.bot } }).message;

describe("a call of Telegram's webhook", () => {
  it("is refused without the secret or with a wrong one", async () => {
    const body = JSON.stringify(textUpdate("hello"));
    for (const secret of [
      "",
      "wrong",
      `${webhookSecret}x`,
      webhookSecret.slice(1),
      webhookSecret.toUpperCase(),
    ]) {
      expect(await post(body, secret)).toMatchObject({ status: "refused", httpStatus: 401 });
    }
    account.secrets.webhookSecret = "";
    expect(await post(body, "")).toMatchObject({ status: "refused", httpStatus: 401 });
  });

  it("is refused when it is not a POST", async () => {
    expect(await post("", webhookSecret, "GET")).toMatchObject({ status: "refused", httpStatus: 405 });
  });

  it("is refused when its body is not an update, but only after verification", async () => {
    const bad = [
      ...["", "{", "null", "[]", "1", '"text"', "{}", '{"update_id":"1"}', '{"update_id":1.5}'],
      '{"update_id":1,"message":7}',
      '{"update_id":1,"message":{"message_id":1,"date":1,"text":"no chat"}}',
      '{"update_id":1,"message":{"message_id":1,"date":1,"chat":{"id":"7","type":"private"},"text":"x"}}',
      '{"update_id":1,"message":{"message_id":1,"date":1,"chat":{"id":7,"type":"private"},"text":{"a":1}}}',
    ];
    for (const body of bad) {
      expect(await post(body), body).toMatchObject({ status: "refused", httpStatus: 400 });
      expect(await post(body, "wrong"), body).toMatchObject({ status: "refused", httpStatus: 401 });
    }
  });
});

describe("an update of Telegram", () => {
  it("with a private message has the sender, the chat and the time", async () => {
    const update = textUpdate("hello\n  there", { date: 1_780_000_000, messageId: 77 });
    expect(await read(update)).toEqual({
      eventId: eventIdOf(update),
      peer: { kind: "dm", id: "5001002003", name: "Ann" },
      sender: { id: "5001002003", name: "Ann Example", handle: "ann_example" },
      messageId: "77",
      text: "hello\n  there",
      timestamp: 1_780_000_000_000,
      wasMentioned: false,
    });
    expect(server.calls).toEqual([]);
  });

  it("has the message that it answers", async () => {
    const replyTo = textUpdate("the question", { messageId: 5 }).message;
    const photo = photoUpdate("p", "a caption", { messageId: 6 }).message;
    expect(await read(textUpdate("yes", { replyTo }))).toMatchObject({
      replyToId: "5",
      replyToText: "the question",
    });
    expect(await read(textUpdate("nice", { replyTo: photo }))).toMatchObject({
      replyToId: "6",
      replyToText: "a caption",
    });
    const quoting = textUpdate("this", { replyTo });
    expect(
      await read({ ...quoting, message: { ...quoting.message!, quote: { text: "question" } } }),
    ).toMatchObject({
      replyToText: "question",
    });
  });

  it("has media next to the caption: the largest photo, voice notes, files", async () => {
    const plan = { name: "plan [1]\n.pdf", mimeType: "application/pdf" };
    const pdf = { filename: plan.name, mimeType: plan.mimeType, size: 1024, source: { fileId: "d" } };
    const file = { file_id: "f", file_unique_id: "u", duration: 4 };
    const photo = { type: "image", mimeType: "image/jpeg", size: 190_000, source: { fileId: "p" } };
    const voice = { type: "audio", mimeType: "audio/ogg", duration: 3, size: 12_000, voice: true };
    const film = { type: "video", mimeType: "video/mp4", duration: 4, source: { fileId: "f" } };
    const song = { mimeType: "audio/mpeg", type: "audio", duration: 4, source: { fileId: "f" } };
    const expected: [TelegramUpdate, string, object][] = [
      [photoUpdate("p"), "", photo],
      [photoUpdate("p", "look at this"), "look at this", photo],
      [voiceUpdate("v"), "", { ...voice, source: { fileId: "v" } }],
      [documentUpdate("d", plan), "", { type: "document", ...pdf }],
      [
        documentUpdate("d", { ...plan, mimeType: "image/png" }),
        "",
        { ...pdf, type: "image", mimeType: "image/png" },
      ],
      [textWith({ video: file }), "", film],
      [textWith({ video_note: file }), "", film],
      [textWith({ audio: file }), "", song],
      [textWith({ animation: file, document: { file_id: "d", file_name: "a.mp4" } }), "", film],
    ];
    for (const [update, text, media] of expected)
      expect(await read(update)).toMatchObject({ text, attachments: [media] });
  });

  it("has, in a group, the file that it answers, which the agent has not seen", async () => {
    const photo = photoUpdate("p", undefined, { messageId: 6, from: { id: 7 } }).message;
    const ask = `@${server.bot.username} what is this?`;
    expect(await read(groupUpdate(ask, { replyTo: photo }))).toMatchObject({
      text: ask,
      replyToText: "image",
      attachments: [{ type: "image", source: { fileId: "p" } }],
    });
    expect(await read(textUpdate("what is this?", { replyTo: photo }))).not.toHaveProperty("attachments");
    const own = photoUpdate("q", undefined, { from: server.bot }).message;
    expect(await read(groupUpdate(ask, { replyTo: own }))).not.toHaveProperty("attachments");
  });

  it("has a note about content that is neither text nor a file", async () => {
    const expected: [TelegramUpdate, string][] = [
      [textWith({ sticker: { file_id: "s", emoji: "👍" } }), "[sticker: 👍]"],
      [textWith({ location: { latitude: 52.37, longitude: 4.9 } }), "[location: 52.37, 4.9]"],
      [textWith({ contact: { phone_number: "1", first_name: "Bob" } }), "[contact: Bob, phone 1]"],
    ];
    for (const [update, text] of expected) {
      const message = await read(update);
      expect(message).toMatchObject({ text: "", shown: text });
      expect(message).not.toHaveProperty("attachments");
    }
  });

  it("with an edit has the message's id, and a later time for a later edit", async () => {
    const original = textUpdate("hello");
    const first = await read(editedUpdate(original, "hello!"));
    const second = await read(editedUpdate(original, "hello?"));
    expect(first).toMatchObject({ eventId: eventIdOf(original), text: "hello!" });
    expect(second?.editedAt).toBeGreaterThan(first?.editedAt ?? Number.POSITIVE_INFINITY);
    expect(await read(original)).not.toHaveProperty("editedAt");
    const posted = { ...original.message, sender_chat: original.message?.chat, edit_date: 5 };
    expect(await read({ update_id: 7, edited_channel_post: posted })).toMatchObject({ editedAt: 5007 });
  });

  it("that does not concern the agent is accepted without a message", async () => {
    const nothing: TelegramUpdate[] = [
      { update_id: 1, callback_query: { id: "1" } },
      { update_id: 2, my_chat_member: {} },
      textWith({ new_chat_members: [] }),
      textUpdate("I am a bot", { from: { is_bot: true, id: 99 } }),
    ];
    for (const update of nothing) expect(await read(update)).toBeUndefined();
  });

  it("in a group, a channel or a topic has the room as its peer", async () => {
    const channel = { id: -1_005, type: "channel" as const, title: "News" };
    const posted = { ...textUpdate("post", { chat: channel }).message, from: undefined };
    expect(await read(groupUpdate("hi"))).toMatchObject({
      peer: { kind: "group", id: "-1001234567890", name: "Family" },
      sender: { id: "5001002003" },
    });
    expect(await read({ update_id: 3, channel_post: posted })).toMatchObject({
      peer: { kind: "channel", id: "-1005", name: "News" },
      sender: { id: "-1005", name: "News" },
    });
    const inTopic = { message_thread_id: 8, is_topic_message: true };
    expect((await read(groupWith("hi", inTopic)))?.peer).toEqual({
      kind: "thread",
      id: "-1001234567890/8",
      name: "Family",
    });
    const direct = textUpdate("hi");
    expect(await read({ ...direct, message: { ...direct.message!, ...inTopic } })).toMatchObject({
      peer: { kind: "dm", id: "5001002003" },
      context: { threadId: "8" },
    });
    // Outside a forum, replies also have a thread, but belong to the group.
    expect((await read(groupWith("hi", { message_thread_id: 8 })))?.peer.kind).toBe("group");
  });

  it("of an anonymous administrator has the group as sender, not the placeholder", async () => {
    const speaksAsGroup = {
      from: { id: 1_087_968_824, is_bot: true, first_name: "Group" },
      sender_chat: { id: -1_001_234_567_890, type: "supergroup", title: "Family" },
    };
    expect((await read(groupWith("hi", speaksAsGroup)))?.sender).toEqual({
      id: "-1001234567890",
      name: "Family",
    });
  });
});

describe("the bot is mentioned in a room", () => {
  const wasMentioned = async (update: TelegramUpdate) => (await read(update))?.wasMentioned;

  it("by its username in any case, in a text or a caption", async () => {
    expect(await wasMentioned(groupUpdate("hello @gsv_test_bot"))).toBe(true);
    expect(await wasMentioned(groupUpdate("🎉 @GSV_Test_Bot?"))).toBe(true);
    const caption_entities = [{ type: "mention", offset: 5, length: 13 }];
    const captioned = { text: undefined, entities: undefined, photo: [], caption: "look @gsv_test_bot" };
    expect(await wasMentioned(groupWith("", { ...captioned, caption_entities }))).toBe(true);
  });

  it("by a mention of its user, a command to it, or a reply to it", async () => {
    const marked = (id: number) => [{ type: "text_mention", offset: 0, length: 3, user: { id } }];
    expect(await wasMentioned(groupWith("Gsv hi", { entities: marked(botId()) }))).toBe(true);
    expect(await wasMentioned(groupWith("Bob hi", { entities: marked(12) }))).toBe(false);
    expect(await wasMentioned(groupUpdate("/status@gsv_test_bot"))).toBe(true);
    expect(await wasMentioned(groupUpdate("yes", { replyTo: fromBot("shall I?") }))).toBe(true);
  });

  it("by nothing else", async () => {
    expect(await wasMentioned(groupUpdate("gsv_test_bot is a name"))).toBe(false);
    expect(await wasMentioned(groupUpdate("hello @gsv_test_bot2 and @somebody"))).toBe(false);
    expect(await wasMentioned(groupUpdate("/status@other_bot"))).toBe(false);
    expect(await wasMentioned(groupUpdate("/status"))).toBe(false);
    expect(await wasMentioned(groupUpdate("yes", { replyTo: textUpdate("of Ann").message }))).toBe(false);
  });

  it("by no message of a topic that it opened, unless the message mentions it", async () => {
    const opened = { ...fromBot(""), text: undefined, forum_topic_created: { name: "Trip" } };
    const update = groupWith("hi", {
      is_topic_message: true,
      message_thread_id: 8,
      reply_to_message: opened,
    });
    const message = await read(update);
    expect(message).toMatchObject({ wasMentioned: false });
    expect(message?.replyToId).toBeUndefined();
  });

  it("with one request to Telegram for its username, for any number of messages", async () => {
    for (const text of ["no name", "@one_name", "@gsv_test_bot", "@another"]) await read(groupUpdate(text));
    expect(server.calls.map(({ method }) => method)).toEqual(["getMe"]);
  });

  it("is unknown while Telegram does not return its username: the update must be redelivered", async () => {
    server.fail("getMe", { status: 502, description: `Bad Gateway for bot${server.token}` });
    const failed = read(groupUpdate("hello @gsv_test_bot"));
    await expect(failed).rejects.toThrow("cannot read the bot's username: 502 Bad Gateway for bot***");
    expect(await wasMentioned(groupUpdate("hello @gsv_test_bot"))).toBe(true);
  });
});

describe("a command on Telegram", () => {
  const textOf = async (update: TelegramUpdate) => (await read(update))?.text;

  it("drops the bot's name after it or before it", async () => {
    expect(await textOf(groupUpdate("/status@gsv_test_bot"))).toBe("/status");
    expect(await textOf(groupUpdate("/model@GSV_test_bot openai/gpt-5"))).toBe("/model openai/gpt-5");
    expect(await textOf(groupUpdate("@gsv_test_bot /status"))).toBe("/status");
    expect(await textOf(groupUpdate("@gsv_test_bot /?"))).toBe("/?");
    expect(await textOf(textUpdate("/new@gsv_test_bot"))).toBe("/new");
  });

  it("for another bot, and any other text, is not changed", async () => {
    for (const text of ["/status@other_bot", "@other_bot /status", "@gsv_test_bot hello /status", "/a/b@c"]) {
      expect(await textOf(groupUpdate(text))).toBe(text);
    }
  });
});

function textWith(content: object): TelegramUpdate {
  const update = textUpdate("");
  return { ...update, message: { ...update.message!, text: undefined, ...content } };
}

function groupWith(text: string, content: object): TelegramUpdate {
  const update = groupUpdate(text);
  return { ...update, message: { ...update.message!, ...content } };
}

describe("a group that becomes a supergroup", () => {
  it("has its new id in the log, and sends nothing to the agent", async () => {
    const lines: string[] = [];
    const stdout = vi
      .spyOn(process.stdout, "write")
      .mockImplementation((line) => lines.push(String(line)) > 0);
    const { message, ...update } = groupUpdate("");
    const moved = { ...message, text: undefined, chat: { id: -42, type: "group" as const } };
    const found = await read({
      ...update,
      message: { ...moved, migrate_to_chat_id: -1001234567890 },
    } as TelegramUpdate);
    stdout.mockRestore();
    expect(found).toBeUndefined();
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { event: "telegram.migrated", accountId: "default", from: "-42", to: "-1001234567890" },
    ]);
  });
});

describe("a file on Telegram", () => {
  it("is located by its path, unless a server that runs with --local has it on its own disk", async () => {
    server.addFile("f1", { path: "documents/a b.pdf", bytes: Buffer.from("%PDF") });
    server.addFile("f2", { path: "/var/lib/telegram-bot-api/documents/a.pdf", bytes: Buffer.from("%PDF") });
    expect(await telegram.locate?.(account, { fileId: "f1" })).toEqual({
      status: "found",
      url: `${server.url}/file/bot${server.token}/documents/a%20b.pdf`,
    });
    expect(await telegram.locate?.(account, { fileId: "f2" })).toEqual({
      status: "failed",
      reason: expect.stringContaining("--local"),
    });
  });
});
