import { describe, expect, it } from "vitest";
import { commandEndText, isCommandEnd, readCommandEnd } from "../../shared/session/command-end.ts";
import { commandResult, toolResultEvent, toResultMessage } from "../../shared/session/result-message.ts";
import {
  readSummaryMessage,
  requestHeader,
  summaryHeader,
  summaryMessage,
} from "../../shared/session/summary-message.ts";

const call = { type: "toolCall", id: "c", name: "pi__Bash", arguments: { command: "ls" } } as const;
const text = (written: string) => [{ type: "text", text: written }];
const image = { type: "image", r2Key: "media/x", mimeType: "image/png", size: 1 };

describe("a tool's outcome as a message", () => {
  const shown = (outcome: object) => {
    const { content, isError, ...rest } = toResultMessage(call, outcome, 7);
    expect(rest).toEqual({ role: "toolResult", toolCallId: "c", toolName: "pi__Bash", timestamp: 7 });
    return [content, isError];
  };

  it("is its text, its blocks, or the report of a command that has ended, once", () => {
    expect(shown({ error: "no such file" })).toEqual([text("Error: no such file"), true]);
    expect(shown({ result: "as it is" })).toEqual([text("as it is"), false]);
    expect(shown({})).toEqual([text("null"), false]);
    const blocks = [...text("a"), image];
    expect(shown({ result: { content: blocks } })).toEqual([blocks, false]);
    const ended = { status: "completed", output: "ab" };
    expect(shown({ result: { ...ended, tail: "b" } })).toEqual([text(JSON.stringify(ended)), false]);
  });

  it.each<[result: unknown, isError?: boolean]>([
    [null],
    [{ ok: true, n: 1 }],
    [{ content: [] }],
    [{ content: [null] }],
    [{ ok: false, error: "no" }, true],
    [{ content: [image, { type: "text", text: 1 }] }],
    [{ content: [{ ...image, r2Key: 1 }] }],
    [{ content: [{ ...image, mimeType: 1 }] }],
    [{ content: [{ ...image, type: "video" }] }],
    [{ status: "completed", output: "ab", tail: "c" }],
    [{ status: "completed", output: "null", tail: null }],
    [{ status: "running", output: "ab", tail: "b" }],
    [{ status: "failed", output: "ab", exitCode: 1 }, true],
  ])("is the JSON of %j", (result, isError = false) => {
    expect(shown({ result })).toEqual([text(JSON.stringify(result)), isError]);
  });

  it("is announced with the start of its text, or of the command's output", () => {
    const event = (result: unknown) => toolResultEvent("s", "r", call, toResultMessage(call, { result }, 7));
    expect(event({ content: [...text("a"), image] })).toEqual({
      ...{ sessionKey: "s", runId: "r", callId: "c", tool: "pi__Bash", args: call.arguments },
      ...{ isError: false, preview: "a\n[image/png]" },
    });
    const output = "x".repeat(600);
    expect(event({ status: "failed", output, exitCode: 3, durationMs: 5 })).toMatchObject({
      ...{ isError: true, preview: "x".repeat(500), command: { failure: "exit 3", durationMs: 5 } },
    });
    expect(event(`${"x".repeat(499)}😀`).preview).toBe(`${"x".repeat(499)}\ufffd`);
    for (const other of ["{not json", '{"output":1}', '[{"status":"completed","output":"x"}]'])
      expect(event(other)).not.toHaveProperty("command");
  });
});

describe("the report of a command", () => {
  it("has its output, how it failed, and how long it took", () => {
    const read = (report: object) => commandResult({ output: "x", ...report });
    expect(read({ status: "completed", durationMs: "5" })).toEqual({ output: "x" });
    expect(read({ status: "failed", exitCode: "1" })).toEqual({ output: "x", failure: "failed" });
    expect(read({ status: "running" })).toBeUndefined();
    expect(commandResult({ status: "completed" })).toBeUndefined();
  });

  it.each<[object, object?]>([
    [{ event: "finished", exitCode: 0 }, { output: "" }],
    [
      { event: "finished", exitCode: 2, outputTail: "x" },
      { output: "x", failure: "exit 2" },
    ],
    [
      { event: "failed", exitCode: null },
      { output: "", failure: "failed" },
    ],
    [
      { event: "timed_out", exitCode: 0, startedAt: 1000, endedAt: 1500 },
      { output: "", failure: "timed out", durationMs: 500 },
    ],
    [{ event: "finished", startedAt: 1000, endedAt: null }, { output: "" }],
    [{ event: "finished", startedAt: null, endedAt: 5 }, { output: "" }],
    [{}],
  ])("in the background, %j, is read as %j", (report, result) => {
    const read = readCommandEnd(commandEndText({ nodeId: "pi", ...report }));
    expect(read).toEqual(result && { nodeId: "pi", result });
  });

  it("is not read from another text", () => {
    for (const other of [
      "hello",
      `x${commandEndText({ nodeId: "pi", event: "finished" })}`,
      commandEndText({}).replace("}", ""),
    ])
      expect(readCommandEnd(other)).toBeUndefined();
    const [id, longer] = [`exec-${"0a".repeat(20)}`, `exec-${"0a".repeat(21)}`];
    expect([id, longer, `x${id}`, "exec-1"].map(isCommandEnd)).toEqual([true, false, false, false]);
  });
});

describe("a summary", () => {
  const read = (content: string) => readSummaryMessage(summaryMessage(content, 7));

  it("is read with its count, and with the request that is being worked on", () => {
    const first = summaryHeader(12);
    expect(read(`${first}what\n\nwas said`)).toEqual({ count: 12, text: "what\n\nwas said" });
    expect(read(`${first}what\n\n${requestHeader}\ndo it`)).toEqual({
      count: 12,
      text: "what",
      request: "do it",
    });
    expect(read(`${first}\n\n${requestHeader}\n`)).toEqual({ count: 12, text: "", request: "" });
    for (const other of [`x${first}what`, summaryHeader(1_000_000_000)]) expect(read(other)).toBeUndefined();
  });

  it("is not read from the message of a person or a model", () => {
    const content = `${summaryHeader(1)}x`;
    const origin = { kind: "client" };
    expect(readSummaryMessage({ ...summaryMessage(content, 7), origin } as never)).toBeUndefined();
    expect(readSummaryMessage({ role: "assistant", content: text(content) } as never)).toBeUndefined();
    expect(readSummaryMessage(undefined)).toBeUndefined();
  });

  it("has the objects that remain listed, if there are any", () => {
    const [one, none] = [[{ id: "1" }], []] as never[];
    const earlier = (calls: never, activated: never) =>
      summaryMessage("x", 7, { calls, activated } as never).earlier;
    expect(summaryMessage("x", 7)).toEqual({ role: "user", content: "x", timestamp: 7 });
    expect(earlier(none!, none!)).toBeUndefined();
    for (const [calls, activated] of [
      [one, none],
      [none, one],
      [one, one],
    ])
      expect(earlier(calls!, activated!)).toEqual({ calls, activated });
  });
});
