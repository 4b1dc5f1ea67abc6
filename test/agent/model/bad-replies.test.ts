import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Agent } from "../../../functions/agent/agent.ts";
import { holdSession } from "../../../functions/agent/session-loop.ts";
import { textOf, toolCallsOf } from "../../../shared/protocol/messages.ts";
import { requestStop } from "../../../shared/session/stop.ts";
import type { ModelServer, Reply } from "../../support/models/scripted-model.ts";
import { bedrockEnvironment, wires } from "../../support/models/wires/wires.ts";
import { type State, startState } from "../../support/state.ts";
import { type Bench, openBench } from "../bench.ts";

const calling = (name: string, more: { id?: string; arguments?: string } = {}): Reply => ({
  toolCalls: [{ name, ...more }],
});
const read = (more: { id?: string; arguments?: string }) => calling("gsv__ReadFile", more);
const fault = (status: number): Reply => ({ error: { status, message: "scripted" } });

/** Faults of a model and its provider, and the user's error if the fault ends the run. */
const badReplies: Record<string, { replies: Reply[]; told?: RegExp }> = {
  "a name with a dot": { replies: [calling("multi_tool_use.parallel")] },
  "a name in a namespace": { replies: [calling("functions.x")] },
  "a name with a space": { replies: [calling("a b")] },
  "a name with a colon": { replies: [calling("ns:tool")] },
  "a name that begins with a digit": { replies: [calling("3d")] },
  "a name of 130 characters": { replies: [calling("x".repeat(130))] },
  "an empty name": { replies: [calling("")] },
  "arguments that are a string": { replies: [read({ arguments: '"MEMORY.md"' })] },
  "arguments that are a number": { replies: [read({ arguments: "7" })] },
  "arguments that are a list": { replies: [read({ arguments: '["MEMORY.md"]' })] },
  "arguments that are null": { replies: [read({ arguments: "null" })] },
  "arguments with half a character": { replies: [read({ arguments: '{"path":"\\ud800"}' })] },
  "arguments with an empty name": { replies: [read({ arguments: '{"":1,"path":"a"}' })] },
  "an id with other characters": { replies: [read({ id: "functions.Bash:0" })] },
  "an id of 70 characters": { replies: [read({ id: "x".repeat(70) })] },
  "an id of 2 KB": { replies: [read({ id: "y".repeat(2000) })] },
  "an id that occurs in two replies": { replies: [read({ id: "call_0" }), read({ id: "call_0" })] },
  "an id of nine that occurs in two replies": {
    replies: [read({ id: "abcdefghi" }), read({ id: "abcdefghi" })],
  },
  "calls that were cut off": {
    replies: [{ toolCalls: [{ name: "gsv__ReadFile", arguments: '{"pa' }], stopReason: "length" }],
  },
  "no text at all": { replies: [{}], told: /empty response/ },
  "white space": { replies: [{ text: " \n" }], told: /empty response/ },
  "thoughts until the limit": {
    // Bedrock gets a second call with a higher limit.
    replies: Array(2).fill({ thinking: "hm, let me think about it", stopReason: "length" }),
    told: /limit of \d+ output tokens while it was still thinking; raise model\.maxTokens/,
  },
  "a block by the provider": {
    replies: [{ text: "I", stopReason: "refusal" }],
    told: /provider blocked the answer|refused to complete|content_filter/,
  },
  "an answer that is cut off": { replies: [{ text: "Once upon a", stopReason: "length" }] },
  "an error in mid-stream": {
    replies: [{ text: "Once upon a time", streamError: { afterPieces: 1, message: "scripted overloaded" } }],
  },
  "a stream that breaks off": { replies: [{ text: "Once upon a time", cutAfterChunks: 1 }] },
  "a provider that is busy": { replies: [fault(429)] },
  "a provider that is down for good": { replies: Array(12).fill(fault(503)), told: /scripted|503/ },
  "a fault of the request": { replies: [fault(400)], told: /scripted/ },
  "a failure behind tool results": { replies: [read({}), fault(400)], told: /scripted/ },
};

let state: State;
const saved = { ...process.env };
beforeAll(async () => {
  state = await startState();
  Object.assign(process.env, bedrockEnvironment);
});
afterAll(async () => {
  process.env = saved;
  await state?.close();
});

let sessions = 0;

describe.each(Object.entries(wires))("over %s", (name, { start, model: chosen, path = "" }) => {
  let server: ModelServer;
  let bench: Bench;
  let sessionKey: string;
  let replies: Reply[] = [];
  let beforeReply = async () => {};
  beforeAll(async () => {
    server = await start(async () => {
      await beforeReply();
      return replies.shift() ?? { text: "fine" };
    });
    bench = openBench(state, { ...chosen, baseUrl: server.url + path });
  });
  beforeEach(() => {
    sessionKey = `agent:main:bad${++sessions}`;
    replies = [];
    beforeReply = async () => {};
    server.requests.length = 0;
  });
  afterAll(() => server?.close());

  async function say(id: string): Promise<string> {
    const origin = { kind: "client" } as const;
    await bench.submit(sessionKey, { id, at: Date.now(), origin, kind: "message", text: `message ${id}` });
    const told: string[] = [];
    const agent = bench.agent();
    const send: Agent["broadcast"]["send"] = async (_clients, _event, payload) => {
      const { state: end, error = "" } = payload as { state?: string; error?: string };
      if (end === "error") told.push(error);
    };
    await holdSession({ ...agent, broadcast: { ...agent.broadcast, send } }, sessionKey, () => 900_000);
    bench.later += 31_000;
    const last = (await bench.live(sessionKey)).at(-1)!;
    return told.at(-1) ?? textOf(last);
  }

  /** Requests of the gateway that the provider itself refused. */
  const refused = () =>
    server.requests.flatMap(({ refused: body }) =>
      body === undefined || JSON.stringify(body).includes("scripted") ? [] : [JSON.stringify(body)],
    );

  it.each(Object.entries(badReplies))(
    "after %s the next message is answered",
    async (_what, { replies: bad, told }) => {
      replies = [...bad];
      const first = await say("1");
      if (told) expect(first).toMatch(told);
      replies = [];
      expect(await say("2")).toBe("fine");
      expect(await say("3")).toBe("fine");
      expect(refused()).toEqual([]);
    },
  );

  it.each(["call_0", "call_9hT2kQ0vXbB3mWcE7sYzRf1a"])(
    "two calls of one reply with the id %s have a result each",
    async (id) => {
      const calls = ["one.md", "two.md"].map((path) => ({ name: "gsv__ReadFile", id, arguments: { path } }));
      replies = [{ toolCalls: calls }];
      expect(await say("1")).toBe("fine");
      const [, reply, ...results] = await bench.live(sessionKey);
      expect(new Set(toolCallsOf(reply!).map((call) => call.id)).size).toBe(2);
      const read = results.flatMap((result) => textOf(result).match(/\w+\.md/) ?? []);
      expect(read).toEqual(["one.md", "two.md"]);
      expect(refused()).toEqual([]);
    },
  );

  it("after a stop during tools the next message is answered", async () => {
    replies = [read({})];
    beforeReply = async () => void (await requestStop(state.table, sessionKey, "stop", Date.now()));
    expect(await say("1")).toContain("cancelled");
    beforeReply = async () => {};
    expect(await say("2")).toBe("fine");
    expect(refused()).toEqual([]);
  });

  it("after a blocked request or a refusal the user sees the reason", async () => {
    replies = [{ blocked: true, refusal: "I cannot help with that", text: "" }];
    const told: Record<string, RegExp> = {
      "Google Gemini": /provider blocked the request/,
      "OpenAI chat completions": /model refused to answer; .*I cannot help with that/,
    };
    expect(await say("1")).toMatch(told[name] ?? /empty response/);
    expect(await say("2")).toBe("fine");
    expect(server.requests).toHaveLength(2);
    expect(refused()).toEqual([]);
  });

  it("after a stream without usage the next message is answered, and an error says what was missing", async () => {
    replies = [{ text: "Once", withoutUsage: true }];
    expect(await say("1")).toMatch(/^Once$|for example a stream without usage/);
    expect(await say("2")).toBe("fine");
  });
});
