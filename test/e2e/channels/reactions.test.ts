import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer } from "../../support/models/scripted-model.ts";
import { directMessage, envelopeOf } from "../../support/platforms/slack/slack-events.ts";
import { type SlackServer, startSlackServer } from "../../support/platforms/slack/slack-server.ts";
import {
  startTelegramServer,
  type TelegramServer,
} from "../../support/platforms/telegram/telegram-server.ts";
import {
  editedUpdate,
  reactionUpdate,
  type TelegramUpdate,
  textUpdate,
} from "../../support/platforms/telegram/telegram-updates.ts";
import { notify, whatsappMessage } from "../../support/platforms/whatsapp/whatsapp-notifications.ts";
import {
  startWhatsappServer,
  type WhatsappServer,
} from "../../support/platforms/whatsapp/whatsapp-server.ts";
import { until } from "../../support/until.ts";
import { type Stack, startStack } from "../stack.ts";

const secret = "the-secret_that-setWebhook-was-given";
let stack: Stack;
let model: ModelServer;
let telegram: TelegramServer;
let slack: SlackServer;
let whatsapp: WhatsappServer;
let release: () => void = () => {};

beforeAll(async () => {
  model = await startOpenAiServer(async ({ turns }) => {
    const said = JSON.stringify(turns.at(-1));
    if (said.includes("slow")) await new Promise<void>((resolve) => (release = resolve));
    return said.includes("fail") ? { error: { status: 400, message: "no" } } : { text: "It is blue." };
  });
  telegram = await startTelegramServer({ local: true });
  slack = await startSlackServer();
  whatsapp = await startWhatsappServer();
  stack = await startStack();
  const account = { botToken: telegram.token, webhookSecret: secret, apiBaseUrl: telegram.url };
  const shared = { dmPolicy: "open", reactions: true };
  await stack.configure({
    model: { provider: "openai-compatible", id: "m", baseUrl: model.url },
    "channels.telegram": { ...shared, owners: ["5001002003"], accounts: { default: account } },
    "channels.slack": {
      ...{ ...shared, owners: ["U061F7AUR"] },
      accounts: {
        default: { botToken: slack.botToken, signingSecret: slack.signingSecret, apiBaseUrl: slack.url },
      },
    },
    "channels.whatsapp": {
      ...{ ...shared, owners: ["16505551234"] },
      accounts: {
        default: {
          ...{ phoneNumberId: "106540352242922", accessToken: "EAAJBtestTokenOfASystemUser" },
          ...{ appSecret: whatsapp.appSecret, verifyToken: "v", apiBaseUrl: whatsapp.url },
        },
      },
    },
  });
});
afterEach(() => expect(stack.roles.refusals()).toEqual([]));
afterAll(async () => {
  await stack?.close();
  for (const server of [model, telegram, slack, whatsapp]) await server?.close();
});

const deliver = async (update: TelegramUpdate) =>
  telegram.deliver(update, { url: `${stack.cloud.webhook}/telegram/default`, secret });
const newest = () => JSON.stringify(model.requests.at(-1)?.turns.at(-1));

it("a question that is corrected while it is answered is answered again, and a preview is not", async () => {
  const update = textUpdate("what is slow 2+2?");
  await deliver(update);
  await until(() => newest()?.includes("2+2"), "the model is asked");
  const preview = editedUpdate(update, "what is slow 2+2?");
  await deliver(preview);
  await deliver(editedUpdate(update, "what is 2+3?"));
  release();
  await until(() => telegram.sent.length === 2, "both are answered");
  expect(newest()).toContain("[corrected] what is 2+3?");
  expect(model.requests).toHaveLength(2);
});

it("marks show on three platforms that a message was accepted, and how its run has ended", async () => {
  const update = textUpdate("the sky?");
  await deliver(update);
  const key = `5001002003/${update.message?.message_id}`;
  await until(() => telegram.reactions.get(key) === "👌", "it is answered");
  const failing = textUpdate("fail");
  await deliver(failing);
  await until(() => telegram.reactions.get(`5001002003/${failing.message?.message_id}`) === "😢", "it fails");
  const used = telegram.calls.filter(({ method }) => method === "setMessageReaction");
  expect(used.map(({ params, status }) => [(params.reaction as object[])[0], status])).toContainEqual([
    { type: "emoji", emoji: "👀" },
    200,
  ]);
  const message = whatsappMessage("the sky?");
  await whatsapp.deliver(stack.cloud.webhook, notify(message));
  await until(() => whatsapp.reactions.get(message.id) === "✅", "it is answered");
  await slack.deliver(stack.cloud.webhook, directMessage("the sky?", { ts: "1790000000.000001" }));
  await until(
    () => String([...slack.reactions]) === "D024BE91L/1790000000.000001/white_check_mark",
    "it is answered",
  );
});

it("the owner's verdict on an answer is a line of the next turn and starts nothing, unlike a stranger's", async () => {
  const asked = model.requests.length;
  const answer = telegram.sent.findLast(({ text }) => text === "It is blue.")!;
  for (const update of [
    reactionUpdate(answer, "🔥"),
    reactionUpdate(answer, "👎"),
    // The last verdict on an answer counts.
    reactionUpdate(answer, "👍", { id: 666 }),
  ])
    expect((await deliver(update)).status).toBe(200);
  await deliver(textUpdate("and now?"));
  await until(() => model.requests.length === asked + 1, "the model is asked");
  expect(newest()).toContain("[the owner reacted 👎 to your answer: It is blue.]");
  expect(newest()).not.toContain("👍");
  await until(() => telegram.reactions.size === 4, "it is answered");
  await deliver(textUpdate("once more?"));
  await until(() => model.requests.length === asked + 2, "the model is asked");
  expect(newest()).not.toContain("reacted");
});

it("a verdict on Slack and WhatsApp counts, and an answer to a WhatsApp message has its text", async () => {
  const { id } = whatsapp.sent.at(-1)!;
  const reaction = { type: "reaction", reaction: { message_id: id, emoji: "👍🏽" } };
  await whatsapp.deliver(stack.cloud.webhook, notify(whatsappMessage(reaction)));
  const { ts, channel } = slack.posted.at(-1)!;
  const item = { type: "message", channel, ts };
  const event = { type: "reaction_added", user: "U061F7AUR", reaction: "thumbsdown::skin-tone-3", item };
  await slack.deliver(stack.cloud.webhook, envelopeOf({ ...event, event_ts: "1.2" }));
  const asked = model.requests.length;
  await whatsapp.deliver(
    stack.cloud.webhook,
    notify(whatsappMessage({ type: "text", text: { body: "why?" }, context: { id } })),
  );
  await until(() => model.requests.length === asked + 1, "the model is asked");
  expect(newest()).toContain("[in reply to: It is blue.]");
  expect(newest()).toContain("reacted 👍 to");
  expect(newest()).toContain("reacted 👎 to");
});
