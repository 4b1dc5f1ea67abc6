import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer } from "../support/models/scripted-model.ts";
import type { Peer } from "../support/peer.ts";
import { channelsOf, type Platform, platformStarts } from "../support/platforms/platforms.ts";
import { until } from "../support/until.ts";
import { type Stack, startStack } from "./stack.ts";

let stack: Stack;
let model: ModelServer;
let platforms: Platform[];
let client: Peer;

beforeAll(async () => {
  model = await startOpenAiServer();
  platforms = await Promise.all(Object.values(platformStarts).map((start) => start()));
  stack = await startStack();
  await stack.configure({
    model: { provider: "openai-compatible", id: "m", baseUrl: model.url },
    "session.dmScope": "per-channel-peer",
    channels: channelsOf(platforms, { dmPolicy: "open" }),
  });
  client = await stack.client();
});
afterEach(() => expect(stack.roles.refusals()).toEqual([]));
afterAll(async () => {
  await stack?.close();
  await model?.close();
  for (const platform of platforms ?? []) await platform.close();
});

const sending = (args: Record<string, unknown>) => ({
  toolCalls: [{ name: "gsv__Message", arguments: args }],
});
/** The last tool result that the model saw. */
const told = () => model.requests.at(-1)?.turns.findLast((turn) => turn.role === "tool")?.text ?? "";
const lastAsked = () => model.requests.at(-1)?.turns.findLast((turn) => turn.role === "user")?.text ?? "";
const named = (name: string) => platforms.find((platform) => platform.name === name)!;

/** Sends a client's message and waits for its answer. */
async function ask(sessionKey: string, message: string) {
  const { runId } = await client.call("chat.send", { sessionKey, message });
  return client.ended(String(runId));
}

const plan = { name: "plan.pdf", type: "application/pdf", bytes: Buffer.from("%PDF-1.7 plan") };

describe.each(Object.keys(platformStarts))("the agent sends a message on %s", (name) => {
  let platform: Platform;
  let answers: number;
  let received: number;
  const said = () => platform.answers().slice(answers);
  const deliver = async (event: object) => (await platform.deliver(stack.cloud.webhook, event)).status;
  beforeEach(() => {
    platform = named(name);
    answers = platform.answers().length;
    received = platform.received().length;
  });

  it("with a file that it received, to the sender of that file, and then answers", async () => {
    model.queue({ text: "thanks" });
    expect(await deliver(platform.attach("keep this", plan))).toBe(200);
    await until(() => said().length === 1, "the file was taken");
    const [, media] = /(media\/\S+)\]$/.exec(lastAsked()) ?? [];
    model.queue(sending({ text: "here you are", media }), { text: "sent" });
    expect(await deliver(platform.direct("send it back"))).toBe(200);
    await until(() => said().length === 3, "both are there");
    expect(said()).toEqual(["thanks", "here you are", "sent"]);
    const [file] = platform.received().slice(received);
    expect(file).toMatchObject({ name: "plan.pdf", type: "application/pdf" });
    expect(Buffer.from((await file?.arrayBuffer()) ?? new ArrayBuffer())).toEqual(plan.bytes);
    expect(JSON.parse(told())).toMatchObject({ ok: true, result: { status: "sent", channel: name } });
  });

  it("with a file and no text, as one message", async () => {
    await client.call("workspace.write", { path: "list.md", content: "- milk\n" });
    model.queue(sending({ text: "", media: "gsv:list.md" }), { text: "sent" });
    expect(await deliver(platform.direct("my list, please"))).toBe(200);
    await until(() => said().length === 1, "it is answered");
    expect(platform.received().slice(received)).toMatchObject([{ name: "list.md", type: "text/plain" }]);
  });

  it("and gets the reason why a message was rejected", async () => {
    platform.refuse("never");
    model.queue(sending({ text: "hello" }), { text: "it was refused" });
    expect(await deliver(platform.direct("say hello"))).toBe(200);
    await until(() => said().length === 1, "it is answered");
    expect(said()).toEqual(["it was refused"]);
    expect(JSON.parse(told())).toMatchObject({ ok: false, error: expect.stringMatching(/^not sent: /) });
  });
});

describe("from a client's session", () => {
  it("the agent sends to the named recipient on a configured channel", async () => {
    const telegram = named("telegram");
    const before = telegram.answers().length;
    model.queue(sending({ text: "dinner?", channel: "telegram", to: telegram.people.bob }), {
      text: "asked",
    });
    await ask("main", "ask Bob on Telegram");
    expect(telegram.answers().slice(before)).toEqual(["dinner?"]);
    expect(JSON.parse(told())).toEqual({
      ok: true,
      result: { status: "sent", channel: "telegram", accountId: "default", to: telegram.people.bob },
    });
  });

  it("the agent gets the reason why a message cannot be sent", async () => {
    const wrong: [args: Record<string, unknown>, error: string | RegExp][] = [
      [{ text: "x" }, "channel: this conversation was not held on a channel yet; give channel and to"],
      [{ text: "x", channel: "matrix", to: "1" }, "not sent: unknown channel matrix"],
      [
        { text: "x", channel: "telegram", accountId: "other", to: "1" },
        "not sent: telegram/other: not configured",
      ],
      [{ text: " " }, "text: there is nothing to send"],
      [{ text: "x", channel: "telegram", to: "1", media: "http://169.254.169.254/latest/" }, /only https/],
      [{ text: "x", channel: "telegram", to: "1", media: "https://127.0.0.1/" }, /not a public address/],
      [{ text: "x", channel: "telegram", to: "1", media: "https://localhost/" }, /not a public address/],
      [{ text: "x", channel: "telegram", to: "1", media: "media/agent:main:other/x.png" }, /no such file/],
    ];
    const telegram = named("telegram");
    const before = telegram.answers().length;
    model.queue({ toolCalls: wrong.flatMap(([args]) => sending(args).toolCalls) }, { text: "I could not" });
    await ask("elsewhere", "send them");
    const outcomes = model.requests.at(-1)?.turns.filter(({ role }) => role === "tool") ?? [];
    expect(outcomes).toHaveLength(wrong.length);
    for (const [index, [args, error]] of wrong.entries()) {
      const outcome = JSON.parse(outcomes[index]?.text ?? "");
      expect(outcome.ok, JSON.stringify(args)).toBe(false);
      expect(outcome.error).toMatch(error);
    }
    expect(telegram.answers()).toHaveLength(before);
  });

  it("the default destination is the session's last channel, although a client asks", async () => {
    const telegram = named("telegram");
    const { ann } = telegram.people;
    model.queue({ text: "hello" });
    const before = telegram.answers().length;
    await telegram.deliver(stack.cloud.webhook, telegram.direct("hello"));
    await until(() => telegram.answers().length > before, "it is answered");
    model.queue(sending({ text: "by the way" }), { text: "told" });
    await ask(`agent:main:telegram:dm:${ann}`, "tell me on Telegram");
    expect(telegram.answers().slice(before)).toEqual(["hello", "by the way"]);
  });
});

describe("a room", () => {
  it("cannot receive private memory, but all other files", async () => {
    const telegram = named("telegram");
    await client.call("workspace.write", { path: "MEMORY.md", content: "a secret" });
    const [answers, received] = [telegram.answers().length, telegram.received().length];
    model.queue(sending({ text: "look", media: "gsv:MEMORY.md" }), { text: "I may not" });
    await telegram.deliver(stack.cloud.webhook, telegram.inRoom?.("send me MEMORY.md") ?? {});
    await until(() => telegram.answers().length > answers, "it is answered");
    expect(told()).toContain("MEMORY.md is private memory");
    expect(telegram.answers().slice(answers)).toEqual(["I may not"]);
    expect(telegram.received()).toHaveLength(received);
  });
});
