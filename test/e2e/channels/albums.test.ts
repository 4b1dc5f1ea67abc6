import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { imageBytes } from "../../support/images.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer } from "../../support/models/scripted-model.ts";
import {
  startTelegramServer,
  type TelegramServer,
} from "../../support/platforms/telegram/telegram-server.ts";
import { photoUpdate, type TelegramUpdate } from "../../support/platforms/telegram/telegram-updates.ts";
import { until } from "../../support/until.ts";
import { type Stack, startStack } from "../stack.ts";

const secret = "the-secret_that-setWebhook-was-given";
let stack: Stack;
let model: ModelServer;
let telegram: TelegramServer;

beforeAll(async () => {
  model = await startOpenAiServer(() => ({ text: "Nice." }));
  telegram = await startTelegramServer({ local: true });
  stack = await startStack();
  const account = { botToken: telegram.token, webhookSecret: secret, apiBaseUrl: telegram.url };
  await stack.configure({
    model: { provider: "openai-compatible", id: "m", baseUrl: model.url },
    "channels.telegram": { dmPolicy: "open", owners: ["5001002003"], accounts: { default: account } },
  });
});
afterEach(() => expect(stack.roles.refusals()).toEqual([]));
afterAll(async () => {
  await stack?.close();
  for (const server of [model, telegram]) await server?.close();
});

/** The photos of an album as Telegram sends them: one update each, the caption in one of them. */
function album(id: string, count: number): TelegramUpdate[] {
  return Array.from({ length: count }, (_, index) => {
    const fileId = `${id}-${index}`;
    telegram.addFile(fileId, { path: `photos/${fileId}.png`, bytes: imageBytes("image/png") });
    const update = photoUpdate(fileId, index === 1 ? "my holiday" : undefined);
    update.message!.media_group_id = id;
    return update;
  });
}

const deliver = async (update: TelegramUpdate) => {
  const to = { url: `${stack.cloud.webhook}/telegram/default`, secret };
  expect((await telegram.deliver(update, to)).status).toBe(200);
};
const fetched = () =>
  telegram.calls.filter(({ method }) => method === "getFile").map(({ params }) => params.file_id);
const bodies = () => model.requests.map(({ body }) => JSON.stringify(body));

it("an album is one message, in order, however its parts come", async () => {
  const [first, ...others] = album("a", 4).toReversed();
  await deliver(first!);
  await Promise.all(others.map(deliver));
  await until(() => telegram.sent.length === 1, "it is answered");
  expect(model.requests).toHaveLength(1);
  expect(fetched()).toEqual(["a-0", "a-1", "a-2", "a-3"]);
  expect(bodies()[0]?.match(/my holiday/g)).toHaveLength(1);
  expect(bodies()[0]?.match(/data:image/g)).toHaveLength(4);
});

it("a part that comes when its album has begun is a message of its own", async () => {
  const [late, ...others] = album("b", 3);
  await Promise.all(others.map(deliver));
  await until(() => telegram.sent.length === 2, "the album is answered");
  await deliver(late!);
  await until(() => telegram.sent.length === 3, "the late part is answered");
  expect(model.requests).toHaveLength(3);
  expect(fetched().slice(4)).toEqual(["b-1", "b-2", "b-0"]);
});
