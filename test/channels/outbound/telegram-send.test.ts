import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ChannelAccount } from "../../../shared/channels/channel.ts";
import { createTelegram } from "../../../shared/channels/telegram/telegram.ts";
import {
  startTelegramServer,
  type TelegramServer,
} from "../../support/platforms/telegram/telegram-server.ts";

let server: TelegramServer;
let account: ChannelAccount;
const telegram = createTelegram();
const link_preview_options = { is_disabled: true };
const ann = { kind: "dm", id: "5001002003" };

const accountAt = (apiBaseUrl: string | undefined, botToken = server.token): ChannelAccount => ({
  accountId: "default",
  settings: { apiBaseUrl },
  secrets: { botToken, webhookSecret: "s" },
});

beforeEach(async () => {
  server = await startTelegramServer();
  account = accountAt(server.url);
});
afterEach(async () => {
  vi.unstubAllGlobals();
  await server.close();
});

describe("sending on Telegram", () => {
  it("sends the text unchanged, with any characters", async () => {
    const text = "*not bold* <b>_ [x](y) `";
    const outcome = await telegram.send(account, { peer: ann, text, replyToId: "3" });
    expect(outcome).toEqual({ status: "sent", messageId: String(server.sent[0]?.message_id) });
    expect(server.calls).toEqual([
      { method: "sendMessage", params: { chat_id: "5001002003", text, link_preview_options }, status: 200 },
    ]);
    expect(server.sent[0]?.text).toBe(text);
  });

  it("sends a text without its formatting if Telegram refuses that, and refuses nothing else twice", async () => {
    const message = {
      peer: ann,
      text: "hi",
      formatting: { entities: [{ type: "bold", offset: 0, length: 9 }] },
    };
    expect(await telegram.send(account, message)).toMatchObject({ status: "sent" });
    expect(server.calls.map(({ params }) => "entities" in params)).toEqual([true, false]);
    expect(server.sent).toMatchObject([{ text: "hi" }]);
    server.fail("sendMessage", { status: 403, description: "Forbidden: bot was blocked by the user" });
    expect(await telegram.send(account, message)).toMatchObject({ status: "failed" });
    expect(server.calls).toHaveLength(3);
  });

  it("replies in rooms, also to a deleted message, and in the topic of the message", async () => {
    const peer = { kind: "thread", id: "-1001234567890/8" };
    expect(await telegram.send(account, { peer, text: "hi", replyToId: "3" })).toMatchObject({
      status: "sent",
    });
    expect(server.calls[0]?.params).toEqual({
      chat_id: "-1001234567890",
      message_thread_id: 8,
      text: "hi",
      link_preview_options,
      reply_parameters: { message_id: 3, allow_sending_without_reply: true },
    });
  });

  it("answers in the topic of a direct message, and without it once the topic is gone", async () => {
    const message = { peer: ann, text: "hi", context: { threadId: "77" } };
    await telegram.send(account, message);
    await telegram.typing(account, message);
    expect(server.calls.map(({ params }) => params.message_thread_id)).toEqual([77, 77]);
    server.fail("sendMessage", { status: 400, description: "Bad Request: message thread not found" });
    expect(await telegram.send(account, message)).toMatchObject({ status: "sent" });
    expect(server.calls.at(-1)?.params).toEqual({ chat_id: "5001002003", text: "hi", link_preview_options });
    expect(server.sent).toHaveLength(2);
  });

  it("follows a group that became a supergroup, without a reply to the old message", async () => {
    server.move(-42, -1001234567890);
    const group = { kind: "group", id: "-42" };
    const file = { filename: "a.pdf", mimeType: "application/pdf", body: Buffer.from("%PDF") };
    expect(await telegram.send(account, { peer: group, text: "hi", replyToId: "3" })).toMatchObject({
      status: "sent",
    });
    expect(server.calls.at(-1)?.params).toEqual({
      chat_id: "-1001234567890",
      text: "hi",
      link_preview_options,
    });
    expect(await telegram.sendFile?.(account, { peer: group, file })).toMatchObject({ status: "sent" });
    expect(server.sent.map(({ chat }) => chat.id)).toEqual([-1001234567890, -1001234567890]);
  });

  it("reports when to retry after 429", async () => {
    server.fail("sendMessage", { retryAfter: 7 });
    expect(await telegram.send(account, { peer: ann, text: "hi" })).toEqual({
      status: "retry",
      reason: "429 Too Many Requests: retry after 7",
      retryAfterMs: 7000,
    });
  });

  it("can be retried after a server error, an invalid answer, and a lost connection", async () => {
    server.fail("sendMessage", { status: 502, description: "Bad Gateway" }, { drop: true });
    expect(await telegram.send(account, { peer: ann, text: "hi" })).toMatchObject({
      status: "retry",
      reason: "502 Bad Gateway",
    });
    expect(await telegram.send(account, { peer: ann, text: "hi" })).toMatchObject({
      status: "retry",
      reason: expect.stringMatching(/^no connection/),
    });
    const page = await startPage(503, "<html>maintenance</html>");
    expect(await telegram.send(accountAt(page.url), { peer: ann, text: "hi" })).toMatchObject({
      status: "retry",
      reason: "503 without a description",
    });
    await page.close();
    expect(await telegram.send(accountAt(page.url), { peer: ann, text: "hi" })).toMatchObject({
      status: "retry",
      reason: "no connection (ECONNREFUSED)",
    });
  });

  it("fails permanently when Telegram refuses", async () => {
    server.fail(
      "sendMessage",
      { status: 403, description: "Forbidden: bot was blocked by the user" },
      { status: 400, description: "Bad Request: chat not found" },
    );
    expect(await telegram.send(account, { peer: ann, text: "hi" })).toEqual({
      status: "failed",
      reason: "403 Forbidden: bot was blocked by the user",
    });
    expect(await telegram.send(account, { peer: ann, text: "hi" })).toMatchObject({ status: "failed" });
    const other = accountAt(server.url, "1:of-another-bot");
    expect(await telegram.send(other, { peer: ann, text: "hi" })).toEqual({
      status: "failed",
      reason: "authentication failed: 401 Unauthorized",
    });
  });

  it("never reveals the token, nor sends it to a redirect's target", async () => {
    server.fail("sendMessage", { status: 400, description: `no route /bot${server.token}/sendMessage` });
    const outcomes = [await telegram.send(account, { peer: ann, text: "hi" })];
    const elsewhere = await startPage(302, "", { location: `${server.url}/bot${server.token}/sendMessage` });
    outcomes.push(await telegram.send(accountAt(elsewhere.url), { peer: ann, text: "hi" }));
    await elsewhere.close();
    outcomes.push(await telegram.send(accountAt("http://127.0.0.1:1"), { peer: ann, text: "hi" }));
    outcomes.push(await telegram.send(accountAt("not a url"), { peer: ann, text: "hi" }));
    expect(outcomes.map(({ status }) => status)).toEqual(["failed", "failed", "retry", "retry"]);
    expect(JSON.stringify(outcomes)).not.toContain(server.token.split(":")[1]);
    expect(server.calls).toHaveLength(1);
  });

  it("gives up a server that does not answer", async () => {
    // The platform's clock: the timeout's own, moved forward.
    vi.stubGlobal("AbortSignal", {
      timeout: (ms: number) => {
        expect(ms).toBe(10_000);
        return realTimeout(20);
      },
    });
    const silent = createServer(() => {});
    const url = await listen(silent);
    expect(await telegram.send(accountAt(url), { peer: ann, text: "hi" })).toEqual({
      status: "retry",
      reason: "no answer within 10 s",
    });
    silent.closeAllConnections();
    silent.close();
  });

  it("uses Telegram's own servers unless another URL is configured", async () => {
    const asked: string[] = [];
    vi.stubGlobal("fetch", async (url: string) => {
      asked.push(url);
      return Response.json({ ok: true, result: { message_id: 4 } });
    });
    const outcome = await telegram.send(accountAt(undefined, "1:abc"), { peer: ann, text: "hi" });
    expect(outcome).toEqual({ status: "sent", messageId: "4" });
    expect(asked).toEqual(["https://api.telegram.org/bot1:abc/sendMessage"]);
  });
});

describe("typing on Telegram", () => {
  it("is shown in the chat and its topic, and its failure is ignored", async () => {
    server.fail("sendChatAction", { status: 500, description: "Internal" });
    await telegram.typing(account, { peer: ann });
    await telegram.typing(account, { peer: { kind: "thread", id: "-5/8" } });
    expect(server.calls).toEqual([
      { method: "sendChatAction", params: { chat_id: "5001002003", action: "typing" }, status: 500 },
      {
        method: "sendChatAction",
        params: { chat_id: "-5", message_thread_id: 8, action: "typing" },
        status: 200,
      },
    ]);
  });
});

const realTimeout = AbortSignal.timeout.bind(AbortSignal);

async function startPage(status: number, body: string, headers: Record<string, string> = {}) {
  const page = createServer((_request, response) => {
    response.writeHead(status, headers);
    response.end(body);
  });
  const url = await listen(page);
  const close = () =>
    new Promise<void>((resolve) => {
      page.close(() => resolve());
      page.closeAllConnections();
    });
  return { url, close };
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
