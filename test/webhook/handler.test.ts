import type { Context, LambdaFunctionURLEvent } from "aws-lambda";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createWebhookHandler } from "../../functions/webhook/webhook-handler.ts";
import { startFunctionUrl } from "../../local/http/function-url.ts";
import { readSession } from "../../shared/session/sessions.ts";
import { type ChannelState, startChannels, webhookSecret } from "../channels/fixture.ts";
import { eventIdOf, textUpdate } from "../support/platforms/telegram/telegram-updates.ts";

const woken: string[] = [];
const lines: string[] = [];
let on: ChannelState;
let url: string;
const closing: (() => Promise<unknown> | unknown)[] = [];

beforeAll(async () => {
  vi.spyOn(process.stdout, "write").mockImplementation((line) => lines.push(String(line)) > 0);
  on = await startChannels();
  const { table, secrets } = on;
  const wake = async (sessionKey: string) => void woken.push(sessionKey);
  const handler = createWebhookHandler({ table, secrets, wake, now: Date.now });
  const endpoint = await startFunctionUrl({
    invoke: (event) =>
      handler(event as LambdaFunctionURLEvent, { awsRequestId: crypto.randomUUID() } as Context),
  });
  url = endpoint.url;
  closing.push(endpoint.close, on.close);
});
afterAll(async () => {
  vi.restoreAllMocks();
  for (const close of closing) await close();
});

describe("the webhook function", () => {
  it("accepts a message of Telegram and wakes the agent", async () => {
    const update = textUpdate("a private word");
    const to = { url: `${url}/telegram`, secret: webhookSecret };
    expect(await on.telegram.deliver(update, to)).toEqual({ status: 200, text: "{}" });
    expect(woken).toEqual(["agent:main:main"]);
    const session = await readSession(on.table, "agent:main:main");
    expect(session?.inbox.map(({ id }) => id)).toEqual([`telegram:default:${eventIdOf(update)}`]);
  });

  it("answers 500 without a reason after an internal error", async () => {
    on.telegram.fail("getMe", { status: 500, description: "Internal" });
    const chat = { id: -5, type: "group" as const, title: "Family" };
    const to = { url: `${url}/telegram/default`, secret: webhookSecret };
    const answer = await on.telegram.deliver(textUpdate("@gsv_test_bot hi", { chat }), to);
    expect(answer).toEqual({ status: 500, text: '{"error":"internal error"}' });
    expect(lines.join("")).toContain("cannot read the bot's username: 500 Internal");
  });

  it("logs events, but no secret and no message text", async () => {
    const to = { url: `${url}/telegram/default`, secret: "a-wrong-secret" };
    await on.telegram.deliver(textUpdate("a private word"), to);
    const log = lines.join("");
    for (const event of ["webhook.in", "webhook.out", "webhook.message", "webhook.refused", "webhook.failed"])
      expect(log).toContain(`"event":"${event}"`);
    for (const secret of [
      webhookSecret,
      "a-wrong-secret",
      on.telegram.token,
      "a private word",
      "Ann Example",
    ])
      expect(log).not.toContain(secret);
  });
});
