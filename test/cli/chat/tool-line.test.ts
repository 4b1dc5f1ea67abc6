import { describe, expect, it } from "vitest";
import { toolLine, waitingLine } from "../../../cli/chat/tool-line.ts";

const call = { kind: "tool", callId: "c", tool: "pi__Bash", args: { command: "npm test" } } as const;

describe("the line of a command", () => {
  it.each([
    ["✗ exit 3: no", { failure: "exit 3", durationMs: 20 }, "no\n"],
    ["✗ SIGTERM", { failure: "SIGTERM" }, ""],
    ["✗ timed out after 5m: step 1", { failure: "timed out", durationMs: 300_000 }, "\n  step 1\nstep 2"],
    ["✓ 3.2 s: 12 passed", { durationMs: 3200 }, "12 passed"],
    ["✓ 12 s", { durationMs: 12_400 }, "\n"],
    ["✓", { durationMs: 999 }, ""],
  ])("ends in %j", (ending, command, preview) => {
    const isError = "failure" in command;
    expect(toolLine({ ...call, isError, preview, command })).toBe(`⏵ pi__Bash npm test ${ending}`);
  });

  it("says that a background command is still running", () => {
    const args = { command: "npm test", background: true };
    const said = (isError: boolean) => toolLine({ ...call, args, isError, preview: "no bash" });
    expect(said(false)).toBe("⏵ pi__Bash npm test ✓ runs in the background");
    expect(said(true)).toBe("⏵ pi__Bash npm test ✗ no bash");
  });

  it("is one line, no matter how long the first line of the output is", () => {
    const line = toolLine({ ...call, isError: false, preview: "x\t".repeat(250), command: {} });
    expect(line).not.toMatch(/[\n\t]/);
    expect(line.length).toBeLessThan(160);
  });
});

it("the line of another call shows its error, but not its result", () => {
  const read = { ...call, tool: "pi__Read", args: { path: "a.txt" } };
  expect(toolLine({ ...read, isError: false, preview: "1\tsecret" })).toBe("⏵ pi__Read a.txt ✓");
  expect(toolLine({ ...read, isError: true, preview: "Error: no such file" })).toBe(
    "⏵ pi__Read a.txt ✗ Error: no such file",
  );
});

it.each([
  ["rate limited by anthropic", "rate limited by anthropic, trying again in 2 s"],
  ["LLM error: the stream broke off", "the stream broke off, trying again in 2 s"],
  [
    "nothing listens there; is Ollama running?",
    "nothing listens there; is Ollama running? Trying again in 2 s",
  ],
])("why the model is asked again, and when, is one line: %s", (reason, line) => {
  expect(waitingLine({ kind: "waiting", reason, seconds: 2 })).toBe(line);
});
