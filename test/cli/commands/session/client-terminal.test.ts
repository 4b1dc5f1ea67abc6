import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Events } from "../../../../shared/protocol/events.ts";
import { newFolder } from "../../../support/run/test-folders.ts";
import { leaveTerminals, runGsvAtTerminal } from "../../../support/terminal/gsv-here.ts";
import { killTerminals, startGsvAtTerminal } from "../../../support/terminal/pseudo-terminal.ts";
import type { TerminalScreen } from "../../../support/terminal/terminal-screen.ts";
import { assistant, type FakeGateway, type FakeMethod, startFakeGateway } from "../../fake-gateway.ts";

let gateway: FakeGateway;
const sessionKey = "agent:main:main";
const options = () => ({ cwd: newFolder(), env: { GSV_URL: gateway.url, GSV_TOKEN: "good-token" } });
const run = (...args: string[]) => runGsvAtTerminal(["client", ...args], options());
/** A separate process, which receives the signal of a Ctrl-C. */
const start = (...args: string[]) => startGsvAtTerminal(["client", ...args], options());
/** Resolves when a message has been sent and its answer is pending. */
async function waits(terminal: TerminalScreen): Promise<void> {
  await terminal.sees(/^….*\(Ctrl-C stops\)/m);
  await expect.poll(() => sent().length).toBe(1);
}
const sent = () =>
  gateway.requests
    .filter(({ method }) => method === "chat.send")
    .map(({ params }) => params as { message: string; runId: string });
const runId = () => sent()[0]?.runId ?? "";
const chat = (event: object) =>
  gateway.emit("chat", { runId: runId(), sessionKey, ...event } as Events["chat"]);
/** The text on the screen, except the message that the program is being built. */
const shown = (terminal: TerminalScreen) =>
  terminal.rows().filter((row) => !row.startsWith("gsv: building the program"));
const final = (text: string) => chat({ state: "final", message: assistant(text) });
const started: FakeMethod = ({ params }) =>
  params.message.startsWith("/stop")
    ? { status: "command", command: "stop", response: `Stopped run ${params.message.split(" ")[1]}.` }
    : { status: "started", runId: params.runId };

beforeEach(async () => {
  gateway = await startFakeGateway({ "chat.send": started });
});
afterEach(async () => {
  killTerminals();
  await leaveTerminals();
  await gateway.close();
});

it("a chat at a terminal shows every running call with its time, in rows above the prompt", async () => {
  gateway.methods["session.get"] = () => ({ sessionKey });
  const terminal = run();
  await terminal.sees(/^>/m);
  terminal.type("test it\r");
  await expect.poll(() => sent().some(({ message }) => message === "test it")).toBe(true);
  const { runId } = sent().find(({ message }) => message === "test it") ?? { runId: "" };
  const call = (id: string, command: string) => ({ id, name: "pi__Bash", arguments: { command } });
  const calls = assistant("", [call("a", "npm test"), call("b", "make")]);
  gateway.emit("chat", { runId, sessionKey, state: "calls", message: calls });
  await terminal.sees(/⏵ pi__Bash npm test … \d+ s\n⏵ pi__Bash make … \d+ s\n>/);
  const failed = { isError: true, preview: "no\n", command: { failure: "exit 3" } };
  gateway.emit("tool.result", { runId, sessionKey, tool: "pi__Bash", callId: "b", ...failed });
  await terminal.sees(/⏵ pi__Bash make ✗ exit 3: no\n⏵ pi__Bash npm test … \d+ s\n>/);
});

describe("gsv client with a message, at a terminal", () => {
  it("shows at once that it waits, and for how long, and removes that afterwards", async () => {
    const terminal = run("hello");
    await waits(terminal);
    await terminal.sees(/… \d+ s \(Ctrl-C stops\)/);
    chat({ state: "delta", text: "Good mor", seq: 0, step: 0, attempt: 1 });
    await terminal.sees("Good mor");
    final("Good morning.");
    expect(await terminal.ended).toBe(0);
    expect(shown(terminal)).toEqual(["Good morning."]);
  });

  it("shows Markdown with styles while it streams, and unchanged with --plain", async () => {
    const text = "Put **two** bins out:\n\n- paper\n- glass";
    const terminal = run("hello");
    await waits(terminal);
    for (const [seq, part] of (text.match(/[\s\S]{1,4}/g) ?? []).entries())
      chat({ state: "delta", text: part, seq, step: 0, attempt: 1 });
    await terminal.sees("- glass");
    final(text);
    expect(await terminal.ended).toBe(0);
    expect(shown(terminal)).toEqual(["Put two bins out:", "", "- paper", "- glass"]);
    expect(terminal.written()).toContain("\u001b[1mtwo\u001b[22m");
    gateway.requests.length = 0;
    const plain = run("--plain", "hello");
    await waits(plain);
    final(text);
    expect(await plain.ended).toBe(0);
    expect(shown(plain)).toEqual(text.split("\n"));
  });

  it("shows every running call with its time, and how each ended", async () => {
    const terminal = run("test it");
    await waits(terminal);
    const call = (id: string, command: string) => ({ id, name: "pi__Bash", arguments: { command } });
    chat({ state: "calls", message: assistant("", [call("a", "npm test"), call("b", "make")]) });
    await terminal.sees(/⏵ pi__Bash npm test …( \d+ s)? · ⏵ pi__Bash make …/);
    const result = { runId: runId(), sessionKey, tool: "pi__Bash" };
    const failed = { isError: true, preview: "no\n", command: { failure: "exit 3", durationMs: 40 } };
    gateway.emit("tool.result", { ...result, callId: "b", ...failed });
    await terminal.sees(/⏵ pi__Bash make ✗ exit 3: no\n⏵ pi__Bash npm test …/);
    await terminal.sees(/npm test … \d+ s$/);
    const passed = { isError: false, preview: "12 passed", command: { durationMs: 1240 } };
    gateway.emit("tool.result", { ...result, callId: "a", ...passed });
    final("One failed.");
    await terminal.ended;
    expect(shown(terminal)).toEqual([
      "⏵ pi__Bash make ✗ exit 3: no",
      "⏵ pi__Bash npm test ✓ 1.2 s: 12 passed",
      "One failed.",
    ]);
  });

  it("stops the run at the first Ctrl-C, and reports that", async () => {
    let answer = (_stopped: unknown): void => {};
    gateway.methods["chat.send"] = (request) =>
      request.params.message.startsWith("/stop")
        ? new Promise((resolve) => {
            answer = () => resolve(started(request));
          })
        : started(request);
    const terminal = start("hello");
    await waits(terminal);
    terminal.type("\u0003");
    await terminal.sees(/stopping ….*\(Ctrl-C again leaves\)/);
    await expect.poll(() => sent()[1]?.message).toBe(`/stop ${runId()}`);
    answer(undefined);
    expect(await terminal.ended).toBe(130);
    expect(shown(terminal)).toEqual(["gsv: the run was stopped"]);
  });

  it("shows its progress again when nothing was stopped", async () => {
    gateway.methods["chat.send"] = ({ params: { runId, message } }) =>
      message.startsWith("/stop")
        ? { status: "command", command: "stop", response: "No run in progress." }
        : { status: "started", runId, queued: true };
    gateway.methods["session.stats"] = () => ({ isProcessing: true, queueSize: 1, runId: "of another" });
    const terminal = start("hello");
    await terminal.sees("… waiting for an earlier message");
    await expect.poll(() => sent().length).toBe(1);
    terminal.type("\u0003");
    await terminal.sees(/nothing was stopped \(Ctrl-C again\sleaves\)\n… waiting for an earlier/);
    terminal.type("\u0003");
    expect(await terminal.ended).toBe(130);
  });
});
