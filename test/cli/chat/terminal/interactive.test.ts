import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { main } from "../../../../cli/app/main.ts";
import { PeerError } from "../../../../shared/protocol/errors.ts";
import type { LastExtraction } from "../../../../shared/protocol/memory-schemas.ts";
import { commandEndId } from "../../../../shared/session/command-end.ts";
import { newFolder } from "../../../support/run/test-folders.ts";
import { assistant, type FakeGateway, type FakeMethod, startFakeGateway } from "../../fake-gateway.ts";
import { type FakeTerminal, fakeTerminal } from "../../fake-terminal.ts";

let gateway: FakeGateway;
let terminal: FakeTerminal;
let ended: Promise<number>;
let home: string;
const sessionKey = "agent:main:main";

async function chat(send: FakeMethod, columns?: number, folder = newFolder()): Promise<void> {
  gateway = await startFakeGateway({
    "chat.send": send,
    "session.stats": () => ({ isProcessing: true, queueSize: 0 }),
    "session.get": () => ({ sessionKey }),
  });
  home = folder;
  terminal = fakeTerminal({ HOME: home, GSV_URL: gateway.url, GSV_TOKEN: "good-token" }, home, columns);
  ended = main(["client"], terminal);
  await sees("> ");
}
const sees = (text: string) => expect.poll(() => terminal.screen().join("\n")).toContain(text.trimEnd());
const lastRow = () => terminal.screen().at(-1);
const started: FakeMethod = ({ params }) => ({ status: "started", runId: params.runId });
const sent = () =>
  gateway.requests
    .filter(({ method }) => method === "chat.send")
    .map(({ params }) => params as { message: string; runId: string });
const delta = (runId: string, text: string, seq: number, attempt = 1) =>
  gateway.emit("chat", { runId, sessionKey, state: "delta", text, seq, attempt, step: 0 });
const final = (runId: string, text: string) =>
  gateway.emit("chat", { runId, sessionKey, state: "final", message: assistant(text) });
async function say(message: string): Promise<string> {
  const before = sent().length;
  terminal.type(`${message}\r`);
  await expect.poll(() => sent().length).toBe(before + 1);
  return sent().at(-1)?.runId ?? "";
}

beforeEach(() => {
  ended = Promise.resolve(0);
});
afterEach(async () => {
  terminal.type("\u0003\u0003\u0004");
  await ended;
  await gateway.close();
});

describe("a chat at the terminal", () => {
  it("prints a line above the prompt when a node connects, and keeps the input", async () => {
    await chat(started);
    terminal.type("half a mess");
    await sees("> half a mess");
    gateway.emit("node.changed", { nodeId: "pi", connected: true, tools: ["pi__Bash"] });
    await sees("(pi is connected: 1 tool)");
    expect(lastRow()).toBe("> half a mess");
    terminal.type("\u0003");
  });

  it("prints a line when memories of its last conversation were recorded, and when none were", async () => {
    await chat(started);
    const emit = (more: Partial<LastExtraction>) =>
      gateway.emit("memory.extracted", { state: "done", sessionKey: "agent:main:main", at: 1, ...more });
    emit({ sessionKey: "agent:main:other", count: 7 });
    emit({ state: "failed", reason: "no key" });
    await sees("No memories recorded: no key");
    emit({ count: 3 });
    await sees("Remembered 3 things from the last conversation.");
    expect(terminal.screen().join("\n")).not.toContain("7 things");
  });

  it("prints a line for a budget that is near its limit, and for one that is used up", async () => {
    await chat(started);
    const day = { ruleId: "day", scope: "all", used: 825, limit: 1000, day: "2026-11-24" };
    gateway.emit("budget.warning", day);
    await sees("82 % of the budget day (all) are used: gsv budget list");
    gateway.emit("budget.warning", { ...day, ruleId: "runaway-cron", scope: "run", used: 1_200_000 });
    await sees("a run (cron) has cost $1.20, ten times as much as usual");
    gateway.emit("budget.reached", day);
    await sees("the budget day (all) is used up: gsv budget raise day AMOUNT");
  });

  it("prints a line for what an agent has changed for later runs", async () => {
    await chat(started);
    const change = { agentId: "main", sessionKey: "agent:main:other", runId: "r", kind: "file" } as const;
    gateway.emit("agent.changed", { ...change, name: "SO\u200bUL.md" });
    await sees("the agent main has changed SO⟨U+200B⟩UL.md (agent:main:other)");
    gateway.emit("agent.changed", { ...change, kind: "job", name: "news" });
    await sees("the agent main has created the job news");
  });

  it("streams the answer above a prompt that remains usable", async () => {
    await chat(started);
    const runId = await say("hello");
    delta(runId, "Good mor", 0);
    await sees("Good mor");
    terminal.type("my next thou");
    delta(runId, "ning.\nHow are", 1);
    await sees("How are");
    expect(terminal.screen().slice(-4)).toEqual(["> hello", "Good morning.", "How are", "> my next thou"]);
    final(runId, "Good morning.\nHow are you?");
    await sees("How are you?");
    terminal.type("ght");
    await sees("> my next thought");
    expect(terminal.screen().join("\n")).toContain(
      "> hello\nGood morning.\nHow are you?\n\n> my next thought",
    );
  });

  it("keeps a second message above the answer that is still streaming", async () => {
    await chat(started);
    const runId = await say("first");
    delta(runId, "An answer that", 0);
    await sees("An answer that");
    await say("second");
    delta(runId, " goes on", 1);
    await sees("An answer that goes on");
    expect(terminal.screen().slice(-4)).toEqual(["> first", "> second", "An answer that goes on", ">"]);
  });

  it("wraps a long line between words, and leaves no traces when it redraws", async () => {
    await chat(started, 30);
    const runId = await say("tell me");
    const text = "the quick brown fox jumps over the lazy dog and runs away from here";
    text.split(/(?<= )/).forEach((word, seq) => {
      delta(runId, word, seq);
    });
    final(runId, text);
    await sees("from here");
    const from = terminal.screen().indexOf("> tell me") + 1;
    await expect
      .poll(() => terminal.screen().slice(from))
      .toEqual(["the quick brown fox jumps", "over the lazy dog and runs", "away from here", "", ">"]);
  });

  it("supports an input of several rows", async () => {
    await chat(started, 30);
    const runId = await say("go");
    terminal.type(`a${"b".repeat(50)}c`);
    await sees("bc");
    delta(runId, "one\ntwo", 0);
    final(runId, "one\ntwo\nthree");
    await sees("three");
    const screen = terminal.screen().join("\n");
    expect(screen).toContain("> go\none\ntwo\nthree\n\n> abbb");
    expect(screen.match(/> abbb/g)).toHaveLength(1);
  });

  it("shows running tools and how they ended", async () => {
    await chat(started);
    const runId = await say("list");
    const calls = [{ id: "c1", name: "pi__Bash", arguments: { command: "ls -la" } }];
    gateway.emit("chat", { runId, sessionKey, state: "partial", message: assistant("Let me look.", calls) });
    await sees("⏵ pi__Bash ls -la …");
    const result = { runId, sessionKey, tool: "pi__Bash" };
    gateway.emit("tool.result", { ...result, callId: "c1", isError: false, preview: "a" });
    gateway.emit("tool.result", {
      ...result,
      callId: "c2",
      args: { command: "rm x" },
      isError: true,
      preview: "Error: no",
    });
    final(runId, "Done.");
    await sees("Done.");
    expect(terminal.screen().join("\n")).toContain(
      "Let me look.\n⏵ pi__Bash ls -la ✓\n⏵ pi__Bash rm x ✗ Error: no\nDone.\n\n>",
    );
  });

  const turn = {
    ...{ calls: 1, input: 1200, output: 34, cacheRead: 0, cacheWrite: 0, dollars: 0.0042, unpriced: 0 },
    ...{ contextTokens: 12_000, contextWindow: 200_000 },
  };
  it("prints a line after a turn with its tokens and cost", async () => {
    await chat(started);
    const runId = await say("hi");
    gateway.emit("chat", { runId, sessionKey, state: "final", message: assistant("Hello."), turn });
    await sees("Hello.\n(1 call, 1,200 in, 34 out, $0.0042; context 6%)\n\n>");
  });

  it("prints no cost line when the setting is off", async () => {
    const folder = newFolder();
    mkdirSync(join(folder, ".config/gsv"), { recursive: true });
    writeFileSync(join(folder, ".config/gsv/config.toml"), '[chat]\ncost_line = "off"\n', { mode: 0o600 });
    await chat(started, undefined, folder);
    const runId = await say("hi");
    gateway.emit("chat", { runId, sessionKey, state: "final", message: assistant("Hello."), turn });
    await sees("Hello.\n\n>");
  });

  it("starts a reply over when its attempt is repeated", async () => {
    await chat(started);
    const runId = await say("hi");
    delta(runId, "Half a", 0);
    delta(runId, "A whole reply", 0, 2);
    final(runId, "A whole reply");
    await sees("A whole reply");
    expect(terminal.screen().join("\n")).toContain("Half a\n(the reply starts over)\nA whole reply\n\n>");
  });

  it("shows an error and continues", async () => {
    await chat(started);
    const runId = await say("hi");
    gateway.emit("chat", { runId, sessionKey, state: "error", error: "LLM error: overloaded" });
    await sees("error: LLM error: overloaded");
    final(await say("again"), "better");
    await sees("better");
  });

  it("shows no escape sequence that a model sends", async () => {
    await chat(started);
    final(await say("hi"), "\u001b[2Jwiped\u0007?");
    await sees("wiped?");
    expect(terminal.screen().join("\n")).toContain("> hi\nwiped?");
  });

  it("stops the run on Ctrl-C and leaves on the second", async () => {
    await chat(({ params }) =>
      params.message === "/stop"
        ? { status: "command", command: "stop", response: "Stopped run r." }
        : { status: "started", runId: params.runId },
    );
    await say("work hard");
    terminal.type("\u0003");
    await sees("(stopped)");
    expect(sent().map(({ message }) => message)).toEqual(["work hard", "/stop"]);
    terminal.type("\u0003");
    expect(await ended).toBe(0);
  });

  it("clears the input on Ctrl-C when nothing runs", async () => {
    await chat(started);
    terminal.type("never mind\u0003");
    await expect.poll(lastRow).toBe(">");
    final(await say("hello"), "hi");
    await sees("hi");
    expect(sent().map(({ message }) => message)).toEqual(["hello"]);
  });

  it.each(["\u0004", "/quit\r"])("leaves on %j", async (keys) => {
    await chat(started);
    terminal.type(keys);
    expect(await ended).toBe(0);
  });

  it("sends pasted text, and lines that end in a backslash, as one message", async () => {
    await chat(started);
    terminal.type("\u001b[200~one\rtwo\u001b[201~");
    await sees("two");
    expect(sent()).toEqual([]);
    final(await say(" and more"), "ok");
    terminal.type("three \\\r");
    final(await say("four"), "ok");
    expect(sent().map(({ message }) => message)).toEqual(["one\ntwo and more", "three \nfour"]);
  });

  it("keeps the input history for the next chat, in a file that only its owner can read", async () => {
    await chat(started);
    final(await say("remember this"), "ok");
    await sees("ok");
    terminal.type("\u0004");
    await ended;
    const file = join(home, ".config/gsv/history");
    expect(readFileSync(file, "utf8")).toBe("remember this\n");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    terminal = fakeTerminal({ HOME: home, GSV_URL: gateway.url, GSV_TOKEN: "good-token" }, home);
    ended = main(["client"], terminal);
    await sees("> ");
    terminal.type("\u001b[A");
    await expect.poll(lastRow).toBe("> remember this");
  });

  it("shows answers to other clients' messages in this session once, and none of other sessions", async () => {
    await chat(started);
    gateway.emit("chat", {
      runId: "x",
      sessionKey: "agent:main:else",
      state: "final",
      message: assistant("no"),
    });
    gateway.emit("chat", { runId: "y", sessionKey, state: "final", message: assistant("from the phone") });
    await sees("from the phone");
    final(await say("mine"), "for me");
    await sees("for me");
    const screen = terminal.screen().join("\n");
    expect(screen).toContain(
      "(the answer to another message in this session)\nfrom the phone\n\n> mine\nfor me",
    );
    const runId = commandEndId("laptop", "s1", "c1");
    gateway.emit("chat", { runId, sessionKey, state: "final", message: assistant("the tests pass") });
    await sees("the tests pass");
    expect(terminal.screen().join("\n")).toContain("(a background command has ended)\nthe tests pass\n");
    expect(screen).not.toContain("no\n");
    expect(screen.match(/for me/g)).toHaveLength(1);
  });

  it("shows the answers of the agent's scheduled jobs, except undelivered ones", async () => {
    await chat(started);
    const job = (id: string, spec: object) => ({ id, name: `job ${id}`, spec: { mode: "task", ...spec } });
    gateway.methods["cron.list"] = () => ({ jobs: [job("a", {}), job("b", { deliver: false })], count: 2 });
    const ends = (jobId: string, text: string, runId = `cron-${jobId}-1`, agent = "main") =>
      gateway.emit("chat", {
        ...{ runId, sessionKey: `agent:${agent}:cron:${jobId}`, state: "final", message: assistant(text) },
      });
    ends("b", "kept in the session");
    ends("a", "said by somebody in the job's session", "5b1f");
    ends("a", "of another agent", "cron-a-1", "work");
    ends("a", "time to stretch");
    await sees("time to stretch");
    const begins = (jobId: string) =>
      gateway.emit("chat", {
        ...{ runId: `cron-${jobId}-2`, sessionKey: `agent:main:cron:${jobId}`, state: "delta" },
        ...{ text: "t", seq: 0, step: 0, attempt: 1 },
      });
    begins("a");
    begins("b");
    const asked = () => gateway.requests.filter(({ method }) => method === "cron.list").length;
    await expect.poll(asked).toBe(4);
    // A job of one time is removed when its run ends.
    gateway.methods["cron.list"] = () => ({ jobs: [], count: 0 });
    ends("b", "kept in the session too", "cron-b-2");
    ends("a", "stretch again", "cron-a-2");
    await sees("stretch again");
    ends("gone", "only once");
    await sees("only once");
    const screen = terminal.screen().join("\n");
    const [known, unknown] = ["(the scheduled job job a)\n", "(a scheduled job)\n"];
    expect(screen).toContain(`${known}time to stretch\n\n${known}stretch again\n\n${unknown}only once\n`);
    expect(screen).not.toMatch(/kept in|by somebody|another agent/);
  });

  it("ends with an error when the gateway no longer accepts the token", async () => {
    await chat(() => {
      throw new PeerError(401, "the token was revoked");
    });
    terminal.type("hello\r");
    expect(await ended).toBe(1);
    expect(terminal.written().match(/the token was revoked/g)).toHaveLength(1);
  });

  it("reports a lost connection and the reconnect", async () => {
    await chat(started);
    gateway.dropAll();
    await sees("(connection lost");
    await sees("(connected again)");
    final(await say("still there?"), "yes");
    await sees("yes");
  });
});
