import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { metaKey } from "../../../shared/session/state.ts";
import type { AccessRequest } from "../../aws/emulators/access.ts";
import { accessKeyIdOfFunction } from "../../aws/emulators/lambda/process-host.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer } from "../../support/models/scripted-model.ts";
import { openClient, type Peer } from "../../support/peer.ts";
import {
  startTelegramServer,
  type TelegramServer,
} from "../../support/platforms/telegram/telegram-server.ts";
import { textUpdate } from "../../support/platforms/telegram/telegram-updates.ts";
import { until } from "../../support/until.ts";
import { type Stack, startStack } from "../stack.ts";

const webhookSecret = "the-secret-of-the-webhook";
const waits = /^You don't have access yet/;
let stack: Stack;
let model: ModelServer;
let telegram: TelegramServer;
let owner: Peer;
/** Called before each AWS call of the functions; false makes the call fail. */
let onCall: (call: AccessRequest) => boolean = () => true;

beforeAll(async () => {
  model = await startOpenAiServer(() => ({ text: "hello from the agent" }));
  telegram = await startTelegramServer({ local: true });
  stack = await startStack({ authorize: (call) => onCall(call) });
  const account = { botToken: telegram.token, webhookSecret, apiBaseUrl: telegram.url };
  await stack.configure({
    model: { provider: "openai-compatible", id: "m", baseUrl: model.url },
    "session.dmScope": "per-peer",
    "channels.telegram": { dmPolicy: "pairing", accounts: { default: account } },
  });
  owner = await stack.client("owner");
});
afterEach(() => {
  onCall = () => true;
});
afterAll(async () => {
  await stack?.close();
  await telegram?.close();
  await model?.close();
});

async function write(senderId: string, text: string): Promise<void> {
  const update = textUpdate(text, { from: { id: Number(senderId) } });
  const url = `${stack.cloud.webhook}/telegram/default`;
  expect((await telegram.deliver(update, { url, secret: webhookSecret })).status).toBe(200);
}

/** Texts that the bot sent to a user. */
const told = (senderId: string) =>
  telegram.sent.filter(({ chat }) => String(chat.id) === senderId).map(({ text }) => text);
const isTold = (senderId: string, messages: number) =>
  until(() => told(senderId).length === messages, `${senderId} has ${messages} messages`);
const of = (senderId: string) => ({ channel: "telegram", senderId });
const waiting = async () =>
  Object.values((await owner.call<{ pairs: Record<string, { senderId: string }> }>("pair.list")).pairs);

describe("a sender who asks for access", () => {
  it("is listed, approved, and answered", async () => {
    await write("101", "hello");
    expect(told("101")).toEqual([expect.stringMatching(waits)]);
    expect(await waiting()).toMatchObject([
      {
        channel: "telegram",
        accountId: "default",
        senderId: "101",
        senderName: "Ann Example",
        message: "hello",
      },
    ]);
    const approved = await owner.call("pair.approve", of("101"));
    expect(approved).toEqual({
      ...{ approved: true, senderId: "101", senderName: "Ann Example", role: "guest" },
    });
    await isTold("101", 2);
    expect(told("101")[1]).toBe("hello from the agent");
    expect(await waiting()).toEqual([]);
    expect(await owner.call("pair.approve", of("101"))).toEqual({
      ...{ approved: true, senderId: "101", role: "guest" },
    });
    await write("101", "and again");
    await isTold("101", 3);
  });

  it("can be rejected: nothing else is stored, and the model is not called", async () => {
    const asked = model.requests.length;
    await write("102", "/new");
    expect(await owner.call("pair.reject", of("102"))).toEqual({ rejected: true, senderId: "102" });
    expect(await waiting()).toEqual([]);
    expect((await owner.request("pair.approve", of("102"))).error).toMatchObject({ code: 404 });
    expect(told("102")).toHaveLength(1);
    expect(model.requests).toHaveLength(asked);
    expect(await stack.table.get(metaKey("agent:main:dm:102"))).toBeUndefined();
  });

  it("is invisible to a token without the scope admin, which cannot decide either", async () => {
    const { token } = await stack.createToken(["client"]);
    const peer = await openClient(stack.cloud.ws, token, "phone");
    for (const [method, params] of [
      ["pair.list", {}],
      ["pair.approve", of("103")],
      ["pair.reject", of("103")],
    ] as const) {
      expect((await peer.request(method, params)).error.code, method).toBe(403);
    }
    await peer.close();
  });

  it("gets one answer when two owners approve at once", async () => {
    const second = await stack.client("second");
    for (const id of ["104", "105", "106"]) {
      await write(id, "hello");
      const answers = [owner, second].map((peer) => peer.call("pair.approve", of(id)));
      expect((await Promise.all(answers)).map((answer) => answer.approved)).toEqual([true, true]);
      await isTold(id, 2);
    }
    const asked = model.requests.length;
    await write("107", "the last");
    await owner.call("pair.approve", of("107"));
    await isTold("107", 2);
    expect(model.requests).toHaveLength(asked + 1);
    for (const id of ["104", "105", "106"]) expect(told(id)).toHaveLength(2);
    await second.close();
  });
});

it("an approval whose process dies at a write is completed by the next approval, and answered once", async () => {
  const writes = /PutItem|UpdateItem|InvokeFunction/;
  const socket = accessKeyIdOfFunction("socket");
  /** Kills the socket function at its n-th write, before or after it. */
  const killAt = (index: number, moment: "before" | "after") => {
    const state = { writes: 0, killed: false };
    onCall = ({ accessKeyId, action }) => {
      if (accessKeyId !== socket || !writes.test(action) || state.killed) return true;
      if (state.writes++ < index) return true;
      state.killed = true;
      stack.host.kill("socket");
      return moment === "after";
    };
    return state;
  };
  const counted = killAt(Number.POSITIVE_INFINITY, "before");
  await write("200", "hello");
  await owner.call("pair.approve", of("200"));
  await isTold("200", 2);
  expect(counted.writes).toBeGreaterThanOrEqual(6);
  // test/webhook/pairing.test.ts tries every write in one process. Here, real processes die.
  const last = counted.writes - 1;
  for (const [index, moment] of [
    [Math.floor(last / 2), "before"],
    [last, "after"],
  ] as const) {
    const id = `${moment === "before" ? 3 : 4}${String(index).padStart(2, "0")}`;
    onCall = () => true;
    await write(id, "hello");
    const state = killAt(index, moment);
    owner.send({ type: "req", id: `dies-${id}`, method: "pair.approve", params: of(id) });
    const isDead = () => state.killed && stack.host.instances("socket") === 0;
    await until(isDead, `the function dies ${moment} write ${index}`);
    expect(await owner.call("pair.approve", of(id))).toMatchObject({
      approved: true,
      senderId: id,
    });
    await isTold(id, 2);
  }
  // Nobody gets a third answer: these waits leave time for late ones.
  await write("500", "hello");
  await owner.call("pair.approve", of("500"));
  await isTold("500", 2);
  const all = new Set(
    telegram.sent.map(({ chat }) => String(chat.id)).filter((id) => /^[345]\d\d$/.test(id)),
  );
  expect([...all].filter((id) => told(id).length !== 2)).toEqual([]);
  expect(await waiting()).toEqual([]);
});
