import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startTelegramServer, type TelegramServer } from "./telegram-server.ts";
import {
  documentUpdate,
  editedUpdate,
  groupUpdate,
  photoUpdate,
  textUpdate,
  voiceUpdate,
} from "./telegram-updates.ts";

let telegram: TelegramServer;
beforeEach(async () => {
  telegram = await startTelegramServer();
});
afterEach(() => telegram.close());

async function call(method: string, params: object = {}, token = telegram.token) {
  const response = await fetch(`${telegram.url}/bot${token}/${method}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(params),
  });
  const body = (await response.json()) as {
    ok: boolean;
    result: Record<string, unknown>;
    error_code?: number;
    description?: string;
    parameters?: object;
  };
  expect(body.ok).toBe(response.status === 200);
  if (!body.ok) expect(body.error_code).toBe(response.status);
  return { status: response.status, ...body };
}

const text = (value: string, extra: object = {}) =>
  call("sendMessage", { chat_id: 7, text: value, ...extra });

describe("sendMessage", () => {
  it("answers with the message and stores it", async () => {
    const { result } = await text("  hello there\n");
    expect(result).toMatchObject({
      chat: { id: 7, type: "private" },
      from: telegram.bot,
      text: "hello there",
    });
    expect(telegram.sent).toEqual([result]);
    expect(telegram.calls).toEqual([
      { method: "sendMessage", params: { chat_id: 7, text: "  hello there\n" }, status: 200 },
    ]);
  });

  it("accepts JSON, forms, multipart and the query alike", async () => {
    const url = `${telegram.url}/bot${telegram.token}/sendmessage`;
    const multipart = new FormData();
    for (const [key, value] of Object.entries({ chat_id: "7", text: "three" })) multipart.append(key, value);
    await text("one");
    await fetch(url, { method: "POST", body: new URLSearchParams({ chat_id: "7", text: "two" }) });
    await fetch(url, { method: "POST", body: multipart });
    await fetch(`${url}?chat_id=7&text=four`);
    expect(telegram.sent.map((message) => message.text)).toEqual(["one", "two", "three", "four"]);
  });

  it.each([
    ["no chat", { text: "x" }, "Bad Request: chat_id is empty"],
    ["a chat that is no number", { chat_id: "bob", text: "x" }, "Bad Request: chat not found"],
    ["no text", { chat_id: 7 }, "Bad Request: message text is empty"],
    ["blank text", { chat_id: 7, text: " \n " }, "Bad Request: text must be non-empty"],
    ["4097 characters", { chat_id: 7, text: "é".repeat(4097) }, "Bad Request: message is too long"],
    [
      "an unknown parse mode",
      { chat_id: 7, text: "x", parse_mode: "rtf" },
      "Bad Request: unsupported parse_mode",
    ],
    [
      "a reply to a message it has not",
      { chat_id: 7, text: "x", reply_parameters: { message_id: 1 } },
      "Bad Request: message to be replied not found",
    ],
  ])("refuses %s", async (_name, params, description) => {
    expect(await call("sendMessage", params)).toMatchObject({ status: 400, description });
    expect(telegram.sent).toEqual([]);
  });

  it("counts 4096 characters by code point and without formatting marks", async () => {
    expect((await text("🎈".repeat(4096))).status).toBe(200);
    expect((await text(`<b>${"x".repeat(4096)}</b>`, { parse_mode: "HTML" })).status).toBe(200);
    expect((await text(`<b>${"x".repeat(4096)}</b>`)).status).toBe(400);
  });

  it("replies to a message that was sent or delivered earlier", async () => {
    const first = await text("one");
    const reply = { reply_parameters: { message_id: first.result.message_id } };
    expect((await text("two", reply)).result.reply_to_message).toMatchObject(reply.reply_parameters);
  });
});

describe("formatting", () => {
  it.each([
    [
      "HTML",
      '<b>bold</b> &lt;&amp;&gt; <a href="https://example.com/?a=1">link</a>',
      "bold <&> link",
      ["bold", "text_link"],
    ],
    ["HTML", "<pre><code>a && b</code></pre>", "a && b", ["code", "pre"]],
    [
      "MarkdownV2",
      "*bold* _it_ __un__ ~no~ ||sp||",
      "bold it un no sp",
      ["bold", "italic", "underline", "strikethrough", "spoiler"],
    ],
    ["MarkdownV2", "1\\. `a.b` [x](https://example.com/a_b)", "1. a.b x", ["code", "text_link"]],
    ["MarkdownV2", "```js\nlet a = 1;\n```", "let a = 1;", ["pre"]],
    [
      "Markdown",
      "*bold* _it_ `a_b` [x](https://example.com)",
      "bold it a_b x",
      ["bold", "italic", "code", "text_link"],
    ],
  ])("%s %j", async (parse_mode, source, plain, types) => {
    const { result } = await text(source, { parse_mode });
    expect(result.text).toBe(plain);
    expect((result.entities as { type: string }[]).map((entity) => entity.type)).toEqual(types);
  });

  it("counts entity offsets in UTF-16 units", async () => {
    const { result } = await text("🎈 <i>é</i>", { parse_mode: "HTML" });
    expect(result.entities).toEqual([{ type: "italic", offset: 3, length: 1 }]);
  });

  it.each([
    ["HTML", "a <foo>b</foo>", 'Unsupported start tag "foo" at byte offset 2'],
    ["HTML", "é <b>x", 'Can\'t find end tag corresponding to start tag "b"'],
    ["HTML", "<b><i>x</b></i>", 'Unmatched end tag at byte offset 7, expected "</i>", found "</b>"'],
    ["HTML", "x</b>", "Unexpected end tag at byte offset 1"],
    ["HTML", "1 < 2", "Unclosed start tag at byte offset 2"],
    ["MarkdownV2", "Done.", "Character '.' is reserved and must be escaped with the preceding '\\'"],
    ["MarkdownV2", "é *x", "Can't find end of Bold entity at byte offset 3"],
    ["MarkdownV2", "`x", "Can't find end of Code entity at byte offset 0"],
    ["Markdown", "snake_case", "Can't find end of the entity starting at byte offset 5"],
  ])("%s refuses %j", async (parse_mode, source, reason) => {
    expect(await text(source, { parse_mode })).toMatchObject({
      status: 400,
      description: `Bad Request: can't parse entities: ${reason}`,
    });
  });
});

it("shows a known chat action", async () => {
  expect((await call("sendChatAction", { chat_id: 7, action: "typing" })).result).toBe(true);
  expect((await call("sendChatAction", { chat_id: 7, action: "dance" })).description).toBe(
    "Bad Request: wrong parameter action in request",
  );
});

it("identifies the bot, with the right token only", async () => {
  expect((await call("getMe")).result).toMatchObject({
    id: 7000000001,
    is_bot: true,
    username: "gsv_test_bot",
  });
  expect(await call("getMe", {}, "7000000001:other")).toMatchObject({
    status: 401,
    description: "Unauthorized",
  });
  expect(await call("getMe", {}, "nonsense")).toMatchObject({ status: 404, description: "Not Found" });
  expect(await call("dance")).toMatchObject({ status: 404, description: "Not Found" });
});

it("fails as scripted, then works again", async () => {
  telegram.fail(
    "sendMessage",
    { retryAfter: 5 },
    { status: 403, description: "Forbidden: bot was blocked by the user" },
  );
  expect(await text("one")).toMatchObject({
    status: 429,
    description: "Too Many Requests: retry after 5",
    parameters: { retry_after: 5 },
  });
  expect(await text("one")).toMatchObject({
    status: 403,
    description: "Forbidden: bot was blocked by the user",
  });
  expect((await text("one")).status).toBe(200);
  expect(telegram.calls.map((each) => each.status)).toEqual([429, 403, 200]);
});

it("drops the connection before or after the message was sent", async () => {
  telegram.fail("sendMessage", { drop: true }, { drop: true, after: true });
  await expect(text("one")).rejects.toThrow();
  expect(telegram.sent).toEqual([]);
  await expect(text("two")).rejects.toThrow();
  expect(telegram.sent.map((message) => message.text)).toEqual(["two"]);
  expect(telegram.calls.map((each) => each.status)).toEqual([0, 0]);
});

it("serves files by their path, up to 20 MB", async () => {
  telegram.addFile("photo-1", { path: "photos/file_1.jpg", bytes: Buffer.from("jpeg") });
  telegram.addFile("film", { path: "videos/file_2.mp4", bytes: Buffer.from(""), size: 21 * 1024 * 1024 });
  const { result } = await call("getFile", { file_id: "photo-1" });
  expect(result).toMatchObject({ file_path: "photos/file_1.jpg", file_size: 4 });
  const download = await fetch(`${telegram.url}/file/bot${telegram.token}/${result.file_path}`);
  expect(await download.text()).toBe("jpeg");
  expect((await call("getFile", { file_id: "film" })).description).toBe("Bad Request: file is too big");
  expect((await call("getFile", { file_id: "other" })).description).toBe("Bad Request: invalid file_id");
  expect((await fetch(`${telegram.url}/file/bot1:other/photos/file_1.jpg`)).status).toBe(401);
});

describe("webhooks", () => {
  it("are set, shown and deleted", async () => {
    const url = "https://example.com/telegram/main";
    expect((await call("getWebhookInfo")).result).toMatchObject({ url: "", pending_update_count: 0 });
    expect((await call("setWebhook", { url, secret_token: "s_1" })).description).toBe("Webhook was set");
    expect((await call("setWebhook", { url, secret_token: "s_1" })).description).toBe(
      "Webhook is already set",
    );
    const info = (await call("getWebhookInfo")).result;
    expect(info).toMatchObject({ url, max_connections: 40 });
    expect(JSON.stringify(info)).not.toContain("s_1");
    expect((await call("deleteWebhook")).description).toBe("Webhook was deleted");
    expect((await call("getWebhookInfo")).result.url).toBe("");
  });

  it.each([
    [{ url: "http://example.com" }, "bad webhook: An HTTPS URL must be provided for webhook"],
    [
      { url: "https://example.com:3000" },
      "bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443",
    ],
    [{ url: "https://example.com", secret_token: "a b" }, "secret token contains unallowed characters"],
    [{ url: "https://example.com", secret_token: "a".repeat(257) }, "secret token is too long"],
  ])("are refused for %j", async (params, reason) => {
    expect(await call("setWebhook", params)).toMatchObject({
      status: 400,
      description: `Bad Request: ${reason}`,
    });
  });

  it("receive updates with the secret header, and the last failure is stored", async () => {
    await telegram.close();
    telegram = await startTelegramServer({ local: true });
    const received: { secret: unknown; type: unknown; body: string }[] = [];
    const hook = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk) => {
        body += chunk;
      });
      request.on("end", () => {
        const { "x-telegram-bot-api-secret-token": secret, "content-type": type } = request.headers;
        received.push({ secret, type, body });
        response.writeHead(received.length > 1 ? 500 : 200).end("noted");
      });
    });
    await new Promise<void>((resolve) => hook.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/telegram/main`;
    const update = textUpdate("hello");
    try {
      await call("setWebhook", { url, secret_token: "s_1" });
      expect(await telegram.deliver(update)).toEqual({ status: 200, text: "noted" });
      expect(await telegram.deliver(update, { url, secret: "other" })).toEqual({
        status: 500,
        text: "noted",
      });
    } finally {
      hook.closeAllConnections();
      hook.close();
    }
    expect(received.map((one) => one.secret)).toEqual(["s_1", "other"]);
    expect(received[0]).toMatchObject({ type: "application/json", body: JSON.stringify(update) });
    expect((await call("getWebhookInfo")).result.last_error_message).toBe(
      "Wrong response from the webhook: 500 Internal Server Error",
    );
    const reply = {
      chat_id: update.message?.chat.id,
      text: "hi",
      reply_to_message_id: update.message?.message_id,
    };
    expect((await call("sendMessage", reply)).status).toBe(200);
  });
});

describe("updates", () => {
  it("are numbered and have Telegram's form", () => {
    const [first, second] = [textUpdate("/start now"), textUpdate("hello")];
    expect(second.update_id).toBe(first.update_id + 1);
    expect(first.message).toMatchObject({
      chat: { id: 5001002003, type: "private", first_name: "Ann" },
      from: { id: 5001002003, is_bot: false },
      entities: [{ type: "bot_command", offset: 0, length: 6 }],
    });
    expect(second.message).not.toHaveProperty("entities");
  });

  it("mark mentions in a group", () => {
    const { message } = groupUpdate("hey @gsv_test_bot, mail a@example.com");
    expect(message).toMatchObject({ chat: { type: "supergroup", title: "Family" } });
    expect(message?.entities).toEqual([{ type: "mention", offset: 4, length: 13 }]);
  });

  it("carry photos, voice, documents, edits and replies", () => {
    const original = textUpdate("hello");
    expect(photoUpdate("p", "look").message).toMatchObject({
      caption: "look",
      photo: [{ width: 320 }, { file_id: "p" }],
    });
    expect(voiceUpdate("v").message).toMatchObject({
      voice: { file_id: "v", mime_type: "audio/ogg", duration: 3 },
    });
    expect(documentUpdate("d", { name: "a.pdf", mimeType: "application/pdf" }).message).toMatchObject({
      document: { file_id: "d", file_name: "a.pdf" },
    });
    expect(editedUpdate(original, "bye").edited_message).toMatchObject({
      message_id: original.message?.message_id,
      text: "bye",
    });
    expect(textUpdate("yes", { replyTo: original.message }).message?.reply_to_message?.text).toBe("hello");
  });
});
