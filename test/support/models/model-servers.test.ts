import {
  type Api,
  type AssistantMessage,
  type Context,
  type Model,
  normalizeContext,
  type StreamFunction,
  Type,
} from "@earendil-works/pi-ai";
import * as anthropic from "@earendil-works/pi-ai/api/anthropic-messages";
import * as completions from "@earendil-works/pi-ai/api/openai-completions";
import * as responses from "@earendil-works/pi-ai/api/openai-responses";
import { afterEach, describe, expect, it } from "vitest";
import { until } from "../until.ts";
import { startAnthropicServer } from "./anthropic-server.ts";
import { startOpenAiServer } from "./openai-server.ts";
import type { ModelServer, Script } from "./scripted-model.ts";

/** The real client of each wire format, pointed at a server. */
interface Client {
  api: Api;
  start: (script: Script) => Promise<ModelServer>;
  stream: StreamFunction<Api>;
}

const CLIENTS: Client[] = [
  {
    api: "anthropic-messages",
    start: startAnthropicServer,
    stream: anthropic.streamSimple as StreamFunction<Api>,
  },
  {
    api: "openai-completions",
    start: startOpenAiServer,
    stream: completions.streamSimple as StreamFunction<Api>,
  },
  {
    api: "openai-responses",
    start: startOpenAiServer,
    stream: responses.streamSimple as StreamFunction<Api>,
  },
];

function modelAt(url: string, api: Api, reasoning = false): Model<Api> {
  return {
    id: "scripted-1",
    name: "scripted",
    api,
    provider: "openai",
    baseUrl: url,
    reasoning,
    input: ["text"],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 200_000,
    maxTokens: 8_000,
  };
}

const tools = ["laptop__Glob", "server__Bash"].map((name) => ({
  name,
  description: `the tool ${name}`,
  parameters: Type.Object({ value: Type.Optional(Type.String()) }),
}));

function conversation(text: string): Context {
  return { systemPrompt: "Be brief.", messages: [{ role: "user", content: text, timestamp: 1 }], tools };
}

function textOf(message: AssistantMessage): string {
  return message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}

describe.each(CLIENTS)("the scripted model over $api", ({ api, start, stream }) => {
  let server: ModelServer;
  afterEach(() => server.close());

  const ask = (context: Context, options: { signal?: AbortSignal; reasoning?: "low" } = {}) =>
    stream(modelAt(server.url, api, options.reasoning !== undefined), normalizeContext(context), {
      apiKey: "key",
      ...options,
    });

  it("streams text in the scripted pieces, with usage and stop reason", async () => {
    server = await start([
      { text: ["One ", "two ", "thrée 🎈"], usage: { input: 11, output: 7, cacheRead: 3 } },
    ]);
    const deltas: string[] = [];
    const answer = ask(conversation("count"));
    for await (const event of answer) if (event.type === "text_delta") deltas.push(event.delta);
    const message = await answer.result();
    expect(deltas).toEqual(["One ", "two ", "thrée 🎈"]);
    expect(textOf(message)).toBe("One two thrée 🎈");
    expect(message.stopReason).toBe("stop");
    expect(message.usage).toMatchObject({ input: 11, output: 7, cacheRead: 3 });
  });

  it("records each request with its headers, system prompt, turns and tools", async () => {
    server = await start([{ text: "yes" }]);
    await ask(conversation("is it on?")).result();
    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]).toMatchObject({
      status: 200,
      system: "Be brief.",
      turns: [{ role: "user", text: "is it on?" }],
      tools: ["laptop__Glob", "server__Bash"],
      body: { model: "scripted-1", stream: true },
    });
    expect(server.requests[0]?.headers["content-type"]).toBe("application/json");
  });

  it("makes two parallel tool calls and accepts their results in the next request", async () => {
    server = await start([
      {
        text: "Looking.",
        toolCalls: [
          { name: "laptop__Glob", arguments: { value: "*.md in a folder" } },
          { name: "server__Bash", arguments: { value: "ls" } },
        ],
      },
      { text: "Found it." },
    ]);
    const context = conversation("look on both");
    const first = await ask(context).result();
    const calls = first.content.flatMap((part) => (part.type === "toolCall" ? [part] : []));
    expect(first.stopReason).toBe("toolUse");
    expect(calls.map((call) => [call.name, call.arguments])).toEqual([
      ["laptop__Glob", { value: "*.md in a folder" }],
      ["server__Bash", { value: "ls" }],
    ]);
    context.messages.push(
      first,
      ...calls.map((call, i) => ({
        role: "toolResult" as const,
        toolCallId: call.id,
        toolName: call.name,
        content: [{ type: "text" as const, text: `result ${i}` }],
        isError: false,
        timestamp: 2,
      })),
    );
    const second = await ask(context).result();
    expect(second.errorMessage).toBeUndefined();
    expect(textOf(second)).toBe("Found it.");
    expect(server.requests[1]?.turns).toMatchObject([
      { role: "user", text: "look on both" },
      {
        role: "assistant",
        text: "Looking.",
        toolCalls: [{ name: "laptop__Glob" }, { name: "server__Bash" }],
      },
      { role: "tool", text: "result 0" },
      { role: "tool", text: "result 1" },
    ]);
  });

  it("thinks before it answers, and accepts its own thinking back", async () => {
    server = await start([
      { thinking: "Which node is it?", toolCalls: [{ name: "laptop__Glob" }] },
      { text: "Done." },
    ]);
    const context = conversation("think");
    const first = await ask(context, { reasoning: "low" }).result();
    expect(first.content[0]).toMatchObject({ type: "thinking", thinking: "Which node is it?" });
    const call = first.content.find((part) => part.type === "toolCall");
    context.messages.push(first, {
      role: "toolResult",
      toolCallId: call?.id ?? "",
      toolName: "laptop__Glob",
      content: [{ type: "text", text: "none" }],
      isError: false,
      timestamp: 2,
    });
    const second = await ask(context, { reasoning: "low" }).result();
    expect(second.errorMessage).toBeUndefined();
    expect(textOf(second)).toBe("Done.");
  });

  it("reports that the answer was cut at the token limit", async () => {
    server = await start([{ text: "half", stopReason: "length" }]);
    expect((await ask(conversation("go on")).result()).stopReason).toBe("length");
  });

  it("refuses with the scripted status and the service's own body", async () => {
    server = await start([{ error: { status: 429, message: "slow down", headers: { "retry-after": "2" } } }]);
    const message = await ask(conversation("hello")).result();
    expect(message.stopReason).toBe("error");
    expect(message.errorMessage).toContain("slow down");
    expect(server.requests[0]).toMatchObject({ status: 429, refused: { error: { message: "slow down" } } });
  });

  it("stops with an error event in the middle of the answer", async () => {
    server = await start([
      { text: ["some ", "text"], streamError: { afterPieces: 1, message: "Overloaded" } },
    ]);
    const message = await ask(conversation("hello")).result();
    expect(message.stopReason).toBe("error");
    expect(message.errorMessage).toContain("Overloaded");
    expect(textOf(message)).toBe("some ");
  });

  it("drops the connection after the scripted pieces, which does not count as an aborted client", async () => {
    server = await start([
      { text: ["some ", "text"], cutAfterChunks: 1 },
      { text: ["all"], cutAfterChunks: 1 },
    ]);
    for (const received of ["some ", "all"]) {
      const message = await ask(conversation("hello")).result();
      expect(message.stopReason).toBe("error");
      expect(textOf(message)).toBe(received);
    }
    await until(() => server.active() === 0, "the connections are closed");
    expect(server.aborted()).toBe(0);
  });

  it.each([{ text: undefined }, { text: ["so far"] }])(
    "hangs after $text until the client leaves",
    async ({ text }) => {
      server = await start([{ text, hang: true }]);
      const control = new AbortController();
      const answer = ask(conversation("hello"), { signal: control.signal });
      if (text) for await (const event of answer) if (event.type === "text_delta") break;
      await until(() => server.active() === 1, "the request has arrived");
      control.abort();
      expect((await answer.result()).stopReason).toBe("aborted");
      await until(() => server.aborted() === 1, "the server has seen the client leave");
      expect(server.active()).toBe(0);
    },
  );

  it("answers concurrent requests and reports their maximum number", async () => {
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    server = await start(async (_request, index) => {
      await gate;
      return { text: `answer ${index}` };
    });
    const answers = [1, 2, 3].map((n) => ask(conversation(`question ${n}`)).result());
    await until(() => server.active() === 3, "three requests are waiting");
    release();
    const texts = (await Promise.all(answers)).map(textOf);
    expect(texts.sort()).toEqual(["answer 0", "answer 1", "answer 2"]);
    expect(server.peak()).toBe(3);
  });

  it("lets a function choose the reply for a request", async () => {
    server = await start((request) => ({ text: `you said ${request.turns.at(-1)?.text}` }));
    expect(textOf(await ask(conversation("ping")).result())).toBe("you said ping");
  });

  it("reports an error of the script itself", async () => {
    server = await start(() => {
      throw new Error("expected another tool");
    });
    const message = await ask(conversation("hello")).result();
    expect(message.errorMessage).toContain("the script failed: expected another tool");
  });

  it("refuses a request without a scripted reply, until one is queued", async () => {
    server = await start([]);
    expect((await ask(conversation("hello")).result()).errorMessage).toContain(
      "no reply is scripted for request 1",
    );
    server.queue({ text: "now" });
    expect(server.pending()).toBe(1);
    expect(textOf(await ask(conversation("hello")).result())).toBe("now");
  });

  it("sends tool arguments that are broken JSON as they are", async () => {
    server = await start([{ toolCalls: [{ name: "laptop__Glob", arguments: '{"value": "unfinis' }] }]);
    const message = await ask(conversation("hello")).result();
    const call = message.content.find((part) => part.type === "toolCall");
    expect(call?.arguments).toEqual({ value: "unfinis" });
  });
});
