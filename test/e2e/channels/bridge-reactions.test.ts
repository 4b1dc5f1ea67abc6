import { afterAll, beforeAll, expect, it } from "vitest";
import { createToken } from "../../../shared/peers/tokens.ts";
import { inboundParams, openBridge } from "../../support/bridge.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer } from "../../support/models/scripted-model.ts";
import { until } from "../../support/until.ts";
import { type Stack, startStack } from "../stack.ts";

let stack: Stack;
let model: ModelServer;
let bridge: Awaited<ReturnType<typeof openBridge>>;

beforeAll(async () => {
  model = await startOpenAiServer(() => ({ text: "It is blue." }));
  stack = await startStack();
  await stack.configure({
    model: { provider: "openai-compatible", id: "m", baseUrl: model.url },
    "channels.signal": { dmPolicy: "open", owners: ["ann"] },
  });
  const grant = { name: "signal", scopes: ["channel"] as const, channel: "signal" };
  const { token } = await createToken(stack.table, grant, Date.now());
  bridge = await openBridge(stack.cloud.ws, token, "signal", ["channel-receipts"]);
});
afterAll(async () => {
  expect(stack.roles.refusals()).toEqual([]);
  await bridge?.close();
  await stack?.close();
  await model?.close();
});

const inbound = (id: string, text: string, more: object = {}) =>
  inboundParams("signal", id, text, { message: { id, text, ...more } });
const send = (...message: Parameters<typeof inbound>) => bridge.call("channel.inbound", inbound(...message));
const answersAre = (count: number) => until(() => bridge.said().length === count, "the answer comes");
const newest = () => JSON.stringify(model.requests.at(-1)?.turns.at(-1));

it("a reply and a reaction find the message by the platform's id in its receipt", async () => {
  await send("1", "the sky?");
  await answersAre(1);
  const receipt = { id: bridge.said()[0]?.message.id, messageId: "at-signal" };
  expect(await bridge.call("channel.delivered", receipt)).toEqual({ ok: true });
  const react = (id: string, emoji?: string, of = "at-signal") =>
    send(id, "", { parts: [{ kind: "reaction", of, emoji }] });
  const recorded = (is: boolean) => ({ status: "reaction", recorded: is });
  expect(await react("2", "👎")).toEqual(recorded(true));
  expect(await react("2", "👎")).toEqual(recorded(false));
  expect(await react("3", "🔥")).toEqual(recorded(false));
  expect(await react("4", "👍", "of-somebody")).toEqual(recorded(false));
  await send("5", "why?", { replyToId: "at-signal" });
  await answersAre(2);
  expect(newest()).toContain("[in reply to: It is blue.]");
  expect(newest().match(/reacted (.+?) to your answer: It is blue/gu)).toHaveLength(1);
  expect(newest()).toContain("reacted 👎");
});

it("a reaction that contains a message is refused, and the message is not read", async () => {
  const parts = [{ kind: "reaction", of: "at-signal", emoji: "👍" }];
  const place = { lat: 1, lon: 2 };
  const media = [{ type: "image", mimeType: "image/png", url: "https://example.org/a.png" }];
  for (const [text, more] of [
    ["/reset", { parts }],
    ["", { parts: [...parts, { kind: "text", text: "/reset" }] }],
    ["", { parts, location: place }],
    ["", { parts, media }],
  ] as const) {
    const { error } = await bridge.request("channel.inbound", inbound("6", text, more));
    expect(error).toEqual({ code: 400, message: "message: a reaction contains nothing else" });
  }
});

it("a stopped account records no reaction", async () => {
  await stack.configure({ "channels.signal.accounts.default.enabled": false });
  expect(await send("7", "", { parts: [{ kind: "reaction", of: "at-signal", emoji: "👍" }] })).toEqual({
    status: "reaction",
    recorded: false,
  });
  await stack.configure({ "channels.signal.accounts.default.enabled": true });
});

it("the bridge gets the marks of a message if the channel's setting is on", async () => {
  await stack.configure({ "channels.signal.reactions": true });
  await send("8", "the sea?");
  const marks = () => bridge.events.filter(({ event }) => event === "channel.mark");
  await until(() => marks().length === 2, "both marks come");
  const message = {
    ...{ channel: "signal", accountId: "default", peer: { kind: "dm", id: "ann" } },
    messageId: "8",
  };
  expect(marks().map(({ payload }) => payload)).toEqual([
    { ...message, mark: "accepted" },
    { ...message, mark: "answered" },
  ]);
});
