import type { Context, LambdaFunctionURLEvent } from "aws-lambda";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { startFunctionUrl } from "../../local/http/function-url.ts";
import { openAsyncInvocations } from "../../local/lambda/async-invocations.ts";
import type { FunctionHost } from "../../local/lambda/host.ts";
import { startLambda } from "../../local/lambda/lambda.ts";
import { readSession } from "../../shared/session/sessions.ts";
import { type ChannelState, startChannels, webhookSecret } from "../channels/fixture.ts";
import { textUpdate } from "../support/platforms/telegram-updates.ts";
import { until } from "../support/until.ts";

const woken: unknown[] = [];
const lines: string[] = [];
let on: ChannelState;
let url: string;
const closing: (() => Promise<unknown> | unknown)[] = [];

/** The function as Lambda has it: its handler, its environment, and the agent behind Lambda's Invoke. */
beforeAll(async () => {
  vi.spyOn(process.stdout, "write").mockImplementation((line) => lines.push(String(line)) > 0);
  on = await startChannels();
  const host: FunctionHost = {
    functions: ["agent"],
    invoke: async (_name, event) => void woken.push(event),
    close: async () => {},
  };
  const invocations = openAsyncInvocations({ host });
  const lambda = await startLambda({ host, invocations });
  Object.assign(process.env, {
    AWS_ENDPOINT_URL_LAMBDA: lambda.url,
    TABLE_NAME: "gsv-test",
    BUCKET_NAME: "unused",
    AGENT_FUNCTION: "agent",
    TIMER_FUNCTION_ARN: "unused",
    SCHEDULE_GROUP: "unused",
    SCHEDULE_ROLE_ARN: "unused",
    DEAD_LETTER_ARN: "unused",
    SSM_PREFIX: "/gsv/test",
    WEBSOCKET_API_ENDPOINT: "http://127.0.0.1:1",
  });
  const { handler } = await import("../../functions/webhook/handler.ts");
  const endpoint = await startFunctionUrl({
    invoke: (event) =>
      handler(event as LambdaFunctionURLEvent, { awsRequestId: crypto.randomUUID() } as Context),
  });
  url = endpoint.url;
  closing.push(endpoint.close, () => invocations.close(), lambda.close, on.close);
});
afterAll(async () => {
  vi.restoreAllMocks();
  for (const close of closing) await close();
});

describe("the webhook function", () => {
  it("takes a message of Telegram and wakes the agent through Lambda", async () => {
    const update = textUpdate("a private word");
    const to = { url: `${url}/telegram`, secret: webhookSecret };
    expect(await on.telegram.deliver(update, to)).toEqual({ status: 200, text: "{}" });
    await until(() => woken.length > 0, "the agent was invoked");
    expect(woken).toEqual([{ sessionKey: "agent:main:main" }]);
    const session = await readSession(on.table, "agent:main:main");
    expect(session?.inbox.map(({ id }) => id)).toEqual([`telegram:default:${update.update_id}`]);
  });

  it("answers 500, without a word of why, when something of ours fails", async () => {
    on.telegram.fail("getMe", { status: 500, description: "Internal" });
    const chat = { id: -5, type: "group" as const, title: "Family" };
    const to = { url: `${url}/telegram/default`, secret: webhookSecret };
    const answer = await on.telegram.deliver(textUpdate("@gsv_test_bot hi", { chat }), to);
    expect(answer).toEqual({ status: 500, text: '{"error":"internal error"}' });
    expect(lines.join("")).toContain("the bot's username is not known: 500 Internal");
  });

  it("logs what happened, and neither a secret nor what was written", async () => {
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
