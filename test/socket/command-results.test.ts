import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { RunToolResult } from "../../shared/protocol/events.ts";
import type { EventFrame } from "../../shared/protocol/frames.ts";
import { type Message, type ToolResultMessage, textOf } from "../../shared/protocol/messages.ts";
import { type Bench, openBench } from "../agent/bench.ts";
import { startAnthropicServer } from "../support/models/anthropic-server.ts";
import type { ModelServer, Reply, Turn } from "../support/models/scripted-model.ts";
import { clientParams, nodeParams } from "../support/peer.ts";
import { openSocketWorld, type SocketFunction, type SocketWorld } from "../support/socket-function.ts";
import { type State, startState } from "../support/state.ts";

/** The socket function and the agent over one table. The test is the node, and reads a client's frames. */
let state: State;
let world: SocketWorld;
let bench: Bench;
let gateway: SocketFunction;
let model: ModelServer;
/** The model's replies to a message, and the results that it received. */
let calls: NonNullable<Reply["toolCalls"]>;
let told: Turn[];
let sessionKey: string;
let sessions = 0;

beforeAll(async () => {
  state = await startState();
  world = openSocketWorld(state);
  gateway = world.start();
  model = await startAnthropicServer(({ turns }) => {
    told = turns.filter(({ role }) => role === "tool");
    return told.length > 0 ? { text: "done" } : { toolCalls: calls };
  });
  bench = openBench(state, { provider: "anthropic", id: "claude-sonnet-4-5", baseUrl: model.url });
  await gateway.open("n", (await world.token(["node"])).token);
  await gateway.request("n", "connect", nodeParams("pi", ["Bash"]));
  await gateway.open("c", (await world.token(["client"])).token);
  await gateway.request("c", "connect", clientParams("ann"));
});
beforeEach(() => {
  sessionKey = `agent:main:commands-${++sessions}`;
  bench.posted.length = 0;
});
afterAll(async () => {
  await state?.close();
  await model?.close();
});

const bash = (command: string) => ({ name: "pi__Bash", arguments: { command } });
const report = (more: object) => ({
  ...{ status: "completed", sessionId: "s", exitCode: 0, signal: null, timedOut: false },
  ...{ startedAt: 1, endedAt: 3201, durationMs: 3200, output: "", truncated: false, workdir: "/w" },
  ...more,
});
const failing = { status: "failed", exitCode: 3, output: "no\n" };

/** Makes the model call tools. @returns the node's ids of the calls */
async function start(...toolCalls: typeof calls): Promise<string[]> {
  calls = toolCalls;
  const entry = { id: "run", at: 1, origin: { kind: "client" }, kind: "message", text: "go" } as const;
  await bench.submit(sessionKey, entry);
  await bench.invoke(sessionKey);
  world.clock.later = bench.later;
  const sent = bench.posted.filter(({ connectionId }) => connectionId === "n");
  return sent.map(({ frame }) => (frame as { payload: { callId: string } }).payload.callId);
}
const answer = (callId: string | undefined, result: unknown) =>
  gateway.request("n", "tool.result", { callId, result });
const results = (messages: Message[]) =>
  messages.filter((message): message is ToolResultMessage => message.role === "toolResult");
const isResult = (frame: unknown): frame is EventFrame => (frame as EventFrame).event === "tool.result";
const announced = (frames: readonly unknown[]) =>
  frames.filter(isResult).map(({ payload }) => payload as RunToolResult);
const ofRun = (connectionId: string) =>
  announced(world.posted.get(connectionId) ?? []).filter((event) => event.sessionKey === sessionKey);

describe("the result of a failed command", () => {
  it.each([
    ["its exit code", failing, "exit 3"],
    ["the signal that ended it", { ...failing, exitCode: null, signal: "SIGTERM" }, "SIGTERM"],
    ["its time being over", { ...failing, exitCode: null, signal: "SIGTERM", timedOut: true }, "timed out"],
  ])("is an error for the model, and clients see %s", async (_what, more, failure) => {
    const [callId] = await start(bash("echo no; exit 3"));
    await answer(callId, report(more));
    await bench.invoke(sessionKey);
    const [stored] = results(await bench.live(sessionKey));
    expect(stored?.isError).toBe(true);
    expect(JSON.parse(textOf(stored!))).toEqual(report(more));
    expect(told).toMatchObject([{ isError: true }]);
    const [event] = announced(bench.posted.map(({ frame }) => frame));
    expect(event).toMatchObject({ isError: true, preview: "no\n", command: { failure, durationMs: 3200 } });
  });

  it("is no error if the command ended with exit code 0, or still runs", async () => {
    const [one, two] = await start(bash("true"), bash("sleep 9"));
    await answer(one, report({}));
    await answer(two, { status: "running", sessionId: "s", pid: 7, startedAt: 1, tail: "", workdir: "/w" });
    await bench.invoke(sessionKey);
    expect(results(await bench.live(sessionKey)).map(({ isError }) => isError)).toEqual([false, false]);
  });
});

describe("the results of calls that run at the same time", () => {
  it("are announced to clients as they arrive, and the model gets them together", async () => {
    const [slow, quick] = await start(bash("sleep 60"), bash("echo no; exit 3"));
    const stats = await gateway.request("c", "session.stats", { sessionKey });
    expect(stats).toMatchObject({ payload: { isProcessing: true, runId: "run" } });
    await answer(quick, report(failing));
    expect(ofRun("c")).toMatchObject([
      {
        tool: "pi__Bash",
        args: { command: "echo no; exit 3" },
        isError: true,
        command: { failure: "exit 3" },
      },
    ]);
    await answer(quick, report(failing));
    expect(ofRun("c")).toHaveLength(1);
    // The agent announces the last one, because it continues at once.
    await answer(slow, report({}));
    expect(ofRun("c")).toHaveLength(1);
    await bench.invoke(sessionKey);
    expect(told).toHaveLength(2);
  });
});
