import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { keepMessage, maxWaiting } from "../../../shared/channels/bridge/bridge-outbox.ts";
import { createToken } from "../../../shared/peers/tokens.ts";
import { bridgeParams, inboundParams, type Outbound, openBridge } from "../../support/bridge.ts";
import { imageBytes } from "../../support/images.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelRequest, ModelServer } from "../../support/models/scripted-model.ts";
import { Peer } from "../../support/peer.ts";
import { until } from "../../support/until.ts";
import { type Stack, startStack } from "../stack.ts";

const lastUser = (request: ModelRequest) =>
  request.turns.findLast((turn) => turn.role === "user")?.text ?? "";
const said = (text: string) => text.split("]\n").at(-1);

let stack: Stack;
let model: ModelServer;
let owner: Peer;
const opened: Peer[] = [];
/** The model waits for this before it answers a message that contains "later". */
let gate: Promise<unknown> = Promise.resolve();

beforeAll(async () => {
  model = await startOpenAiServer(async (request) => {
    const text = said(lastUser(request)) ?? "";
    const isCalled = text.startsWith("send me ") && request.turns.at(-1)?.role === "user";
    const sending = { text: "", media: `gsv:${text.slice("send me ".length)}` };
    if (isCalled) return { toolCalls: [{ name: "gsv__Message", arguments: sending }] };
    if (text.includes("later")) await gate;
    return { text: `answer to ${text}` };
  });
  stack = await startStack();
  const open = { dmPolicy: "open", owners: ["ann"] };
  await stack.configure({
    model: { provider: "openai-compatible", id: "m", baseUrl: model.url },
    "session.dmScope": "per-channel-peer",
    channels: {
      signal: open,
      matrix: open,
      irc: open,
      mychat: open,
      terminal: open,
      closed: {},
      asking: { dmPolicy: "pairing" },
    },
  });
  await stack.configure({
    "channels.telegram.accounts.default": { botToken: "1:a", webhookSecret: "s" },
    "channels.telegram.dmPolicy": "open",
    "channels.telegram.owners": ["ann"],
  });
  owner = await stack.client("owner");
});
afterEach(async () => {
  for (const peer of opened.splice(0)) await peer.close();
});
afterAll(async () => {
  expect(stack.roles.refusals()).toEqual([]);
  await stack?.close();
  await model?.close();
});

const tokens = new Map<string, string>();

/** The token of an account's bridge. Each connection of the bridge uses the same one. */
async function tokenFor(channel: string, accountId?: string): Promise<string> {
  const name = `bridge of ${channel} ${accountId ?? ""}`.trim();
  const known = tokens.get(name);
  if (known !== undefined) return known;
  const purpose = { name, scopes: ["channel"] as const, channel, accountId };
  const { token } = await createToken(stack.table, purpose, Date.now());
  tokens.set(name, token);
  return token;
}

async function attach(channel: string, capabilities: string[] = []) {
  const bridge = await openBridge(stack.cloud.ws, await tokenFor(channel), channel, capabilities);
  opened.push(bridge);
  return bridge;
}

/** Queues a message for a bridge, as the gateway does while the bridge is away. */
async function keep(address: { channel: string; accountId: string }): Promise<void> {
  const id = randomUUID();
  const said = { ...address, peer: { kind: "dm" as const, id: "ann" }, message: { id, text: "hello" } };
  await keepMessage(stack.table, address, { id, at: Date.now(), payload: said });
}

const statusOf = async (channel: string) =>
  (await owner.call<{ accounts: Record<string, unknown>[] }>("channel.status", { channel })).accounts[0];

describe("a bridge that connects in mode channel", () => {
  it("delivers messages, and receives answers and typing events", async () => {
    const bridge = await attach("signal");
    const reply = await bridge.call("channel.inbound", inboundParams("signal", "m1", "hello"));
    expect(reply).toEqual({ status: "started", sessionKey: "agent:main:signal:dm:ann" });
    await until(() => bridge.texts().length === 1, "the answer comes");
    expect(bridge.said()[0]).toEqual({
      channel: "signal",
      accountId: "default",
      peer: { kind: "dm", id: "ann", name: "Ann" },
      sessionKey: "agent:main:signal:dm:ann",
      message: { id: expect.any(String), text: "answer to hello", replyToId: "m1" },
    });
    expect(lastUser(model.requests.at(-1) as ModelRequest)).toMatch(
      /^\[signal · \d{4}-\d\d-\d\d \d\d:\d\d\]\nhello$/,
    );
    const typing = () =>
      bridge.events.filter(({ event }) => event === "channel.typing").map(({ payload }) => payload);
    await until(
      () => typing().some((payload) => !(payload as { typing: boolean }).typing),
      "typing has ended",
    );
    expect(typing()[0]).toEqual({
      channel: "signal",
      accountId: "default",
      peer: { kind: "dm", id: "ann" },
      sessionKey: "agent:main:signal:dm:ann",
      typing: true,
    });
  });

  it("may repeat a message: the gateway accepts and answers it once", async () => {
    const bridge = await attach("signal");
    const params = inboundParams("signal", "again", "once");
    const replies = await Promise.all([1, 2, 3].map(() => bridge.call("channel.inbound", params)));
    for (const reply of replies) expect(reply.status).toBe("started");
    expect(await bridge.call("channel.inbound", params)).toEqual({ status: "started", duplicate: true });
    await until(() => bridge.texts().includes("answer to once"), "the answer comes");
    await bridge.call("channel.inbound", inboundParams("signal", "after", "then"));
    await until(() => bridge.texts().includes("answer to then"), "the next message is answered too");
    expect(bridge.texts().filter((text) => text === "answer to once")).toHaveLength(1);
  });

  it("runs commands with the same code as other channels, including those of the agent", async () => {
    const bridge = await attach("signal");
    const send = (id: string, text: string) =>
      bridge.call("channel.inbound", inboundParams("signal", id, text));
    expect(await send("c1", "/status")).toMatchObject({ status: "command" });
    expect(await send("c2", "/think:high")).toMatchObject({ status: "directive-only" });
    expect(await send("c3", "/new")).toMatchObject({ status: "command" });
    const isReset = (text: string) => text.startsWith("Session reset.");
    await until(() => bridge.texts().some(isReset), "the session is reset");
    expect(bridge.texts()).toEqual(
      expect.arrayContaining([expect.stringMatching(/^Session: agent:main:signal/)]),
    );
  });

  it("refuses senders whom the configuration excludes, and creates requests for those who may ask", async () => {
    const closed = await attach("closed");
    expect(await closed.call("channel.inbound", inboundParams("closed", "1", "/status"))).toEqual({
      status: "blocked",
      reason: "closed",
    });
    const bridge = await attach("asking");
    const params = inboundParams("asking", "1", "let me in");
    expect(await bridge.call("channel.inbound", params)).toEqual({
      status: "pending_pairing",
      senderId: "ann",
    });
    await until(() => bridge.texts().length === 1, "the sender gets one notice");
    expect(bridge.texts()[0]).toMatch(/^You don't have access yet/);
    await owner.call("pair.approve", { channel: "asking", senderId: "ann" });
    await until(() => bridge.texts().length === 2, "they are answered");
    expect(bridge.texts()[1]).toBe("answer to let me in");
    const inRoom = { peer: { kind: "group", id: "g" }, sender: { id: "ann", name: "Ann" } };
    const aside = inboundParams("asking", "2", "by the way", inRoom);
    expect(await bridge.call("channel.inbound", aside)).toEqual({
      status: "blocked",
      reason: "not mentioned",
    });
    const asked = { ...inboundParams("asking", "3", "gsv, what?", inRoom), wasMentioned: true };
    expect(await bridge.call("channel.inbound", asked)).toMatchObject({
      status: "started",
      sessionKey: "agent:main:asking:group:g",
    });
  });

  it("delivers a picture with its bytes, and a location", async () => {
    const bridge = await attach("signal");
    const data = Buffer.from(imageBytes("image/png")).toString("base64");
    const message = {
      id: "media",
      text: "look",
      location: { lat: 52.5, lon: 13.4, name: "Berlin" },
      media: [{ type: "image", mimeType: "image/png", data, filename: "a.png" }],
    };
    await bridge.call("channel.inbound", { ...inboundParams("signal", "", ""), message });
    await until(() => bridge.texts().length === 1, "the answer comes");
    const request = model.requests.find((one) =>
      lastUser(one).includes("look\n[location: Berlin 52.5, 13.4]"),
    );
    expect(JSON.stringify(request?.body)).toContain(data);
  });

  it("receives a file as a URL that is valid for a while", async () => {
    const bridge = await attach("signal");
    await owner.call("workspace.write", { path: "list.md", content: "- milk\n" });
    await bridge.call("channel.inbound", inboundParams("signal", "file", "send me list.md"));
    await until(() => bridge.said().length === 2, "the file and the answer come");
    const [{ message }] = bridge.said() as [Outbound];
    const file = { type: "document", mimeType: "text/plain", filename: "list.md", size: 7 };
    expect(message).toMatchObject({ text: "", media: [{ ...file, url: expect.any(String) }] });
    expect(await (await fetch(String(message.media?.[0]?.url))).text()).toBe("- milk\n");
    expect(bridge.texts()[1]).toBe("answer to send me list.md");
  });

  it("rejects a message that is incomplete or of another account", async () => {
    const bridge = await attach("signal");
    const nowhere = { id: "1", media: [{ type: "image", mimeType: "image/png" }] };
    for (const [what, more, code] of [
      ["without a sender in a room", { peer: { kind: "group", id: "g" } }, 400],
      ["with nothing in it", { message: { id: "1", text: " " } }, 400],
      ["with media that is nowhere", { message: nowhere }, 400],
      ["of another channel", { channel: "matrix" }, 403],
      ["of another account", { accountId: "work" }, 403],
    ] as const) {
      const answer = await bridge.request("channel.inbound", inboundParams("signal", "bad", "hello", more));
      expect(answer.error?.code, what).toBe(code);
    }
  });
});

describe("a token with the scope channel", () => {
  it("is made for one channel and account, and allows nothing else", async () => {
    expect((await owner.request("token.create", { name: "b", scopes: ["channel"] })).error.code).toBe(400);
    expect((await owner.request("token.create", { name: "b", channel: "signal" })).error.code).toBe(400);
    const token = await tokenFor("signal", "work");
    const peer = await Peer.open(stack.cloud.ws, token);
    opened.push(peer);
    for (const [params, code] of [
      [bridgeParams("signal"), 403],
      [bridgeParams("matrix", "work"), 403],
      [{ ...bridgeParams("signal"), client: { ...bridgeParams("signal").client, mode: "client" } }, 403],
    ] as const)
      expect((await peer.request("connect", params)).error.code).toBe(code);
    const again = await Peer.open(stack.cloud.ws, token);
    opened.push(again);
    await again.call("connect", bridgeParams("signal", "work"));
    expect((await again.request("chat.send", { sessionKey: "main", message: "hi" })).error.code).toBe(403);
    expect((await again.request("pair.list")).error.code).toBe(403);
    const { tokens } = await owner.call<{ tokens: object[] }>("token.list");
    expect(tokens).toContainEqual(expect.objectContaining({ channel: "signal", accountId: "work" }));
  });

  it("is refused for an account that the gateway itself serves, and for an invalid name", async () => {
    const peer = await Peer.open(stack.cloud.ws, await tokenFor("telegram"));
    opened.push(peer);
    expect((await peer.request("connect", bridgeParams("telegram"))).error.code).toBe(409);
    const admin = await Peer.open(stack.cloud.ws, stack.token);
    opened.push(admin);
    expect((await admin.request("connect", bridgeParams("a#b"))).error.code).toBe(103);
    await admin.call("connect", bridgeParams("telegram", "linked"));
  });

  it("allows one bridge at a time: a new one replaces the old one", async () => {
    const first = await attach("irc");
    const second = await attach("irc");
    await until(() => first.closed !== undefined, "the first is closed");
    await second.call("channel.inbound", inboundParams("irc", "1", "hello"));
    await until(() => second.texts().length === 1, "the answer comes");
  });
});

describe("an answer for a disconnected bridge", () => {
  it("waits in order, and is sent when the bridge reconnects", async () => {
    let open = () => {};
    gate = new Promise<void>((resolve) => (open = resolve));
    const first = await attach("matrix");
    await first.call("channel.inbound", inboundParams("matrix", "1", "one, later"));
    await first.call("channel.inbound", inboundParams("matrix", "2", "two"));
    await first.close();
    await expect.poll(() => statusOf("matrix")).toMatchObject({ connected: false });
    open();
    await expect
      .poll(() => statusOf("matrix"))
      .toMatchObject({
        connected: false,
        error: "its bridge is not connected",
        extra: { waiting: 2 },
      });
    const second = await attach("matrix");
    await until(() => second.texts().length === 2, "both answers come");
    expect(second.texts()).toEqual(["answer to one, later", "answer to two"]);
    await expect.poll(() => statusOf("matrix")).toMatchObject({ connected: true, extra: { waiting: 0 } });
    await second.close();
    const third = await attach("matrix");
    await third.call("tools.list");
    expect(third.texts()).toEqual([]);
  });

  it("is sent again to a bridge that sends receipts, until its receipt arrives", async () => {
    const receipts = ["channel-receipts"];
    const first = await attach("matrix", receipts);
    await first.call("channel.inbound", inboundParams("matrix", "3", "three"));
    await until(() => first.texts().length === 1, "the answer comes");
    await first.close();
    const second = await attach("matrix", receipts);
    await until(() => second.texts().length === 1, "it comes again");
    expect(second.said()).toEqual(first.said());
    const id = second.said()[0]?.message.id;
    expect(await second.call("channel.delivered", { id })).toEqual({ ok: true });
    expect(await second.call("channel.delivered", { id })).toEqual({ ok: true, dropped: true });
    await second.close();
    const third = await attach("matrix", receipts);
    await third.call("channel.inbound", inboundParams("matrix", "4", "four"));
    await until(() => third.texts().length === 1, "only the next one comes");
    expect(third.texts()).toEqual(["answer to four"]);
    const error = "the room is gone";
    await third.call("channel.delivered", { id: third.said()[0]?.message.id, error });
    expect(await statusOf("matrix")).toMatchObject({ extra: { waiting: 0, lastError: error } });
  });

  it("fails once too many messages wait", async () => {
    const bridge = await attach("irc");
    await bridge.close();
    for (let kept = 0; kept < maxWaiting - 1; kept++) await keep({ channel: "irc", accountId: "default" });
    const test = () => owner.call("channel.test", { channel: "irc", to: "ann" });
    expect(await test()).toMatchObject({ ok: true });
    expect(await test()).toMatchObject({
      ok: false,
      error: expect.stringContaining("the bridge is not connected"),
    });
    await owner.call("channel.remove", { channel: "irc" });
    expect(await test()).toMatchObject({ ok: false, error: "unknown channel irc" });
  });
});

it("a bridge's account is listed, stopped and started like any other", async () => {
  const bridge = await attach("mychat");
  const listed = async () => (await owner.call<{ channels: object[] }>("channels.list")).channels;
  // The gateway records the connection after its response to connect.
  await expect.poll(listed).toContainEqual({
    channel: "mychat",
    accountId: "default",
    connectedAt: expect.any(Number),
    bridge: true,
    stopped: false,
  });
  await owner.call("channel.stop", { channel: "mychat" });
  await expect
    .poll(() => bridge.call("channel.inbound", inboundParams("mychat", "1", "hello")))
    .toEqual({ status: "blocked", reason: "stopped" });
  expect(await owner.call("channel.start", { channel: "mychat" })).toMatchObject({ ok: true });
  await expect
    .poll(() => bridge.call("channel.inbound", inboundParams("mychat", "2", "hello")))
    .toMatchObject({ status: "started" });
});

describe("the reference bridge", () => {
  let child: ChildProcess | undefined;
  afterEach(() => void child?.kill("SIGKILL"));

  async function start(token: string): Promise<{ write(message: object): void; lines: { text?: string }[] }> {
    const env = { PATH: process.env.PATH, GSV_URL: stack.cloud.ws, GSV_TOKEN: token };
    child = spawn(process.execPath, ["examples/bridge.mjs", "terminal"], {
      env,
      stdio: ["pipe", "pipe", "inherit"],
    });
    const lines: { text?: string }[] = [];
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on("line", (line) =>
      lines.push(JSON.parse(line)),
    );
    return { lines, write: (message) => void child?.stdin?.write(`${JSON.stringify(message)}\n`) };
  }
  const texts = (lines: { text?: string }[]) => lines.flatMap(({ text }) => text ?? []);

  it("delivers messages and answers, and receives what it missed while it was dead", async () => {
    const token = await tokenFor("terminal");
    const first = await start(token);
    const peer = { kind: "dm", id: "bob", name: "Bob" };
    first.write({ id: "b1", peer, text: "hello" });
    await until(() => texts(first.lines).length === 1, "the answer is written");
    expect(first.lines.find(({ text }) => text)).toEqual({ peer, text: "answer to hello", replyToId: "b1" });
    expect(first.lines).toContainEqual({ peer: { kind: "dm", id: "bob" }, typing: true });
    first.write({ id: "long", peer, text: "x".repeat(130_000) });
    first.write({ id: "longish", peer, text: "é".repeat(20_000) });
    const isHeard = () => texts(first.lines).some((text) => text.startsWith("éé"));
    await until(isHeard, "what is longer than a frame is answered");
    let open = () => {};
    gate = new Promise<void>((resolve) => (open = resolve));
    first.write({ id: "b2", peer, text: "later, please" });
    const isAsked = () => model.requests.some((one) => lastUser(one).includes("later, please"));
    await until(isAsked, "the model is asked");
    child?.kill("SIGKILL");
    await once(child as ChildProcess, "exit");
    await expect.poll(() => statusOf("terminal")).toMatchObject({ connected: false });
    open();
    await expect.poll(async () => (await statusOf("terminal"))?.extra).toMatchObject({ waiting: 1 });
    const second = await start(token);
    await until(() => texts(second.lines).length === 1, "the answer is written");
    expect(texts(second.lines)).toEqual(["answer to later, please"]);
    await expect.poll(async () => (await statusOf("terminal"))?.extra).toMatchObject({ waiting: 0 });
  });
});
