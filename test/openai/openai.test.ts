import { readFileSync } from "node:fs";
import { join } from "node:path";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Dev, startDev } from "../../local/dev/dev.ts";
import { createToken } from "../../shared/peers/tokens.ts";
import type { Scope } from "../../shared/protocol/methods.ts";
import { imageBytes } from "../support/images.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer, Turn } from "../support/models/scripted-model.ts";
import { openClient } from "../support/peer.ts";
import { newFolder } from "../support/run/test-folders.ts";
import { until } from "../support/until.ts";

let dev: Dev;
let model: ModelServer;
let client: OpenAI;
/** Ends the answers to messages that begin with "wait". */
let goOn = () => {};
const long = new Promise<void>((resolve) => {
  goOn = resolve;
});

const lastText = (turns: Turn[]) => turns.findLast(({ role }) => role === "user")?.text ?? "";
const askedFor = (text: string) =>
  model.requests.filter(({ turns }) => lastText(turns).includes(text)).length;

beforeAll(async () => {
  model = await startOpenAiServer(async ({ turns }) => {
    const text = lastText(turns);
    if (text.startsWith("wait")) await long;
    if (text.startsWith("fail")) return { error: { status: 400, message: "no such model" } };
    if (text.startsWith("pieces")) return { text: ["one ", "two ", "three"], delayMs: 400 };
    if (text.startsWith("cut")) return { text: ["all I may"], stopReason: "length" };
    return { text: [`heard: ${text}`] };
  });
  dev = await startDev({ dir: join(newFolder(), ".gsv") });
  await dev.configuration.set("budgets", { enabled: false });
  await dev.configuration.set("model", { provider: "openai-compatible", id: "m", baseUrl: model.url });
  client = new OpenAI({ baseURL: dev.cloud.openai, apiKey: dev.token, maxRetries: 0 });
});
afterAll(async () => {
  goOn();
  await dev?.close();
  await model?.close();
});

const ask = (content: string) => ({ model: "main", messages: [{ role: "user" as const, content }] });
const named = (key: string) => ({ headers: { "Idempotency-Key": key } });
const tokenOf = async (name: string, scopes: Scope[]) =>
  (await createToken(dev.cloud.world.table, { name, scopes }, Date.now())).token;

async function textOf(stream: AsyncIterable<OpenAI.ChatCompletionChunk>): Promise<string[]> {
  const pieces = [];
  for await (const { choices } of stream)
    if (choices[0]?.delta.content) pieces.push(choices[0].delta.content);
  return pieces;
}

describe("with OpenAI's own client", () => {
  it("answers a message whole, with its usage", async () => {
    const answer = await client.chat.completions.create(ask("hello"));
    expect(answer.choices[0]).toMatchObject({
      message: { role: "assistant", content: "heard: hello" },
      finish_reason: "stop",
    });
    expect(answer.usage?.total_tokens).toBeGreaterThan(0);
  });

  it("streams a text while the model writes it, and its usage when that is asked for", async () => {
    const options = { stream: true, stream_options: { include_usage: true } } as const;
    const stream = await client.chat.completions.create({ ...ask("pieces"), ...options });
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    const texts = chunks.flatMap(({ choices }) => choices[0]?.delta.content || []);
    expect(texts.join("")).toBe("one two three");
    expect(texts.length, "not all at once").toBeGreaterThan(1);
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe("stop");
    expect(chunks.at(-1)?.usage?.completion_tokens).toBeGreaterThan(0);
  });

  it("says that an answer was cut off", async () => {
    const answer = await client.chat.completions.create(ask("cut"));
    expect(answer.choices[0]?.finish_reason).toBe("length");
  });

  it("keeps the conversations of users apart, and sends only the newest message of each", async () => {
    await client.chat.completions.create({ ...ask("my name is Ann"), user: "ann" });
    const messages = [
      { role: "system" as const, content: "You are a pirate." },
      { role: "user" as const, content: "something that the session has not heard" },
      { role: "assistant" as const, content: "aye" },
      { role: "user" as const, content: "who am I?" },
    ];
    await client.chat.completions.create({ model: "main", messages, user: "ann" });
    const request = JSON.stringify(model.requests.at(-1)?.turns);
    expect(request).toContain("my name is Ann");
    expect(request).not.toMatch(/pirate|not heard/);
    await client.chat.completions.create({ ...ask("who am I?"), user: "bob" });
    expect(JSON.stringify(model.requests.at(-1)?.turns)).not.toContain("Ann");
  });

  it("stops listening without stopping the run, and gets its answer when it comes back", async () => {
    const stream = await client.chat.completions.create({ ...ask("wait for it"), stream: true }, named("w"));
    await until(() => askedFor("wait for it") === 1, "the model was asked");
    stream.controller.abort();
    await until(async () => (await clientsNow()) === 0, "the connection of the stream has ended");
    const again = client.chat.completions.create({ ...ask("wait for it"), stream: true }, named("w"));
    goOn();
    expect((await textOf(await again)).join("")).toBe("heard: wait for it");
    const whole = await client.chat.completions.create(ask("wait for it"), named("w"));
    expect(whole.choices[0]?.message.content).toBe("heard: wait for it");
    expect(askedFor("wait for it"), "one run").toBe(1);
  });

  it("begins one run for a key that is sent ten times at once", async () => {
    const once = () => client.chat.completions.create({ ...ask("only once"), user: "ten" }, named("ten"));
    const answers = await Promise.all(Array.from({ length: 10 }, once));
    expect(new Set(answers.map(({ choices }) => choices[0]?.message.content))).toEqual(
      new Set(["heard: only once"]),
    );
    expect(askedFor("only once")).toBe(1);
  });

  it("reports a run that fails, whole and streamed, and does not let the client repeat it", async () => {
    const patient = new OpenAI({ baseURL: dev.cloud.openai, apiKey: dev.token, maxRetries: 2 });
    await expect(patient.chat.completions.create(ask("fail once"))).rejects.toMatchObject({ status: 500 });
    expect(askedFor("fail once")).toBe(1);
    const stream = await client.chat.completions.create({ ...ask("fail twice"), stream: true });
    await expect(textOf(stream)).rejects.toThrow(/LLM error/);
  });

  it("executes the session's commands", async () => {
    const answer = await client.chat.completions.create(ask("/status"));
    expect(answer.choices[0]?.message.content).toMatch(/main/);
  });

  it("lists the agents as models, and refuses others", async () => {
    await dev.configuration.set("agents.list", [{ id: "main", default: true }, { id: "work" }]);
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual(["main", "work"]);
    expect((await client.models.retrieve("work")).id).toBe("work");
    await client.chat.completions.create({ ...ask("for work"), model: "work" });
    const wrong = client.chat.completions.create({ ...ask("hello"), model: "gpt-5" });
    await expect(wrong).rejects.toMatchObject({ status: 404, code: "model_not_found" });
  });

  it("refuses tokens that may not use the agent", async () => {
    const tokens = ["wrong", `gsv_${"a".repeat(10)}_${"b".repeat(43)}`];
    for (const apiKey of tokens)
      await expect(client.withOptions({ apiKey }).models.list()).rejects.toMatchObject({ status: 401 });
    for (const scopes of [["node"], ["approve"]] satisfies Scope[][]) {
      const apiKey = await tokenOf(`${scopes}`, scopes);
      await expect(client.withOptions({ apiKey }).models.list()).rejects.toMatchObject({ status: 403 });
    }
  });
});

/** Number of connected clients. */
async function clientsNow(): Promise<number> {
  const items = await dev.cloud.world.table.query({ pk: "PEER#client" });
  return items.filter(({ id }) => String(id).startsWith("openai-")).length;
}

interface Recorded {
  what: string;
  body: { messages: unknown[]; stream?: boolean };
  session: string;
  asked: string;
}

describe("with the requests of Open WebUI", () => {
  const recorded: Recorded[] = JSON.parse(
    readFileSync(new URL("./open-webui.json", import.meta.url), "utf8").replace(
      "IMAGE",
      `data:image/png;base64,${imageBytes("image/png", 200_000).toString("base64")}`,
    ),
  );
  it.each(recorded)("answers $what in its session", async ({ body, session, asked }) => {
    const headers = {
      authorization: `Bearer ${dev.token}`,
      "content-type": "application/json",
      "x-openwebui-chat-id": "chat-1",
    };
    const response = await fetch(`${dev.cloud.openai}/chat/completions`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain(JSON.stringify(asked.slice(0, 20)).slice(1, -1));
    const peer = await openClient(dev.url, dev.token);
    const { messages } = await peer.call("session.preview", { sessionKey: session });
    await peer.close();
    expect(JSON.stringify(messages)).toContain(JSON.stringify(asked).slice(1, -1));
    if (JSON.stringify(body).includes("image_url")) expect(JSON.stringify(messages)).toContain("image/png");
  });
});

describe("with requests that are wrong", () => {
  const post = (body: string, headers: Record<string, string> = {}) =>
    fetch(`${dev.cloud.openai}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${dev.token}`, "content-type": "application/json", ...headers },
      body,
    });
  it.each([
    ["no JSON", "{", 400],
    ["nothing", "", 400],
    ["no messages", JSON.stringify({ model: "main", messages: [] }), 400],
    ["no model", JSON.stringify({ messages: [{ role: "user", content: "x" }] }), 400],
    [
      "an answer as the last message",
      JSON.stringify({ model: "main", messages: [{ role: "assistant", content: "x" }] }),
      400,
    ],
    [
      "an address as an image",
      JSON.stringify({
        ...ask("x"),
        messages: [
          { role: "user", content: [{ type: "image_url", image_url: { url: "http://169.254.169.254/" } }] },
        ],
      }),
      400,
    ],
    ["a text that is too long", JSON.stringify(ask("x".repeat(200_000))), 413],
    ["a deep value", `${"[".repeat(50_000)}${"]".repeat(50_000)}`, 400],
  ])("answers %s in the shape of OpenAI's errors", async (_, body, status) => {
    const response = await post(body);
    expect([response.status, await response.json()]).toMatchObject([
      status,
      { error: { type: expect.any(String), message: expect.any(String), param: null } },
    ]);
  });

  it("answers a request without a token, and an address that it does not have", async () => {
    expect((await post(JSON.stringify(ask("x")), { authorization: "" })).status).toBe(401);
    const other = await fetch(`${dev.cloud.openai}/embeddings`, { method: "POST", body: "{}" });
    expect([other.status, await other.json()]).toMatchObject([404, { error: { code: "unknown_url" } }]);
  });
});
