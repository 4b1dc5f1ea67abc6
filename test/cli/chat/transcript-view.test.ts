import { describe, expect, it } from "vitest";
import { moment } from "../../../cli/app/columns.ts";
import { toolResultText } from "../../../cli/chat/tool-result.ts";
import { transcript } from "../../../cli/chat/transcript-view.ts";
import type { ToolResultMessage } from "../../../shared/protocol/messages.ts";
import { commandEndText } from "../../../shared/session/command-end.ts";
import { assistant } from "../fake-gateway.ts";

const at = Date.UTC(2026, 0, 2, 12);
const time = moment(at);

const result = (value: unknown, isError = false): ToolResultMessage => ({
  role: "toolResult",
  toolCallId: "c1",
  toolName: "laptop__Bash",
  content: [{ type: "text", text: typeof value === "string" ? value : JSON.stringify(value) }],
  isError,
  timestamp: at,
});
const command = { status: "completed", exitCode: 0, output: "a.txt\nb.txt\n" };

describe("a message of a conversation", () => {
  it("is shown with its time, its author, and its text", () => {
    expect(transcript({ role: "user", content: "which files?\nhere", timestamp: at })).toBe(
      `${time}  user\n  which files?\n  here`,
    );
    const said = { ...assistant("Let me look.", [{ id: "c", name: "Bash", arguments: { command: "ls" } }]) };
    expect(transcript({ ...said, timestamp: at })).toBe(`${time}  assistant\n  Let me look.\n  ⏵ Bash ls`);
    const failed = { ...assistant(""), errorMessage: "LLM error: 429", timestamp: at };
    expect(transcript(failed)).toBe(`${time}  assistant\n  ✗ LLM error: 429`);
  });

  it("shows a command's output, how it ended, and how long it took", () => {
    expect(transcript(result(command))).toBe(`${time}  laptop__Bash ✓\n  a.txt\n  b.txt`);
    const slow = { ...command, status: "failed", exitCode: 3, durationMs: 3200 };
    expect(transcript(result(slow, true))).toBe(
      `${time}  laptop__Bash ✗ exit 3 after 3.2 s\n  a.txt\n  b.txt`,
    );
    const killed = { status: "failed", signal: "SIGTERM", output: "" };
    expect(transcript(result(killed, true))).toBe(`${time}  laptop__Bash ✗ SIGTERM`);
  });

  it("shows a background command's node, how it ended, and its output", () => {
    const end = (report: object) =>
      transcript({ role: "user", content: commandEndText({ nodeId: "laptop", ...report }), timestamp: at });
    expect(
      end({ event: "finished", exitCode: 0, startedAt: 1000, endedAt: 4200, outputTail: "a\nb\n" }),
    ).toBe(`${time}  background command on laptop ✓ 3.2 s\n  a\n  b`);
    expect(end({ event: "failed", exitCode: 3 })).toBe(`${time}  background command on laptop ✗ exit 3`);
    expect(end({ event: "failed", exitCode: null, signal: "SIGKILL" })).toContain("✗ SIGKILL");
    expect(end({ event: "timed_out", startedAt: 0, endedAt: 9000 })).toContain("✗ timed out after 9.0 s");
    const written = "System event: async_exec_completion\nwhat does this mean?";
    expect(transcript({ role: "user", content: written, timestamp: at })).toContain("what does this mean?");
  });

  it("shows the error of a failed call, and a text result as text", () => {
    expect(transcript(result("Error: no such file", true))).toBe(
      `${time}  laptop__Bash ✗\n  Error: no such file`,
    );
    expect(transcript(result({ ok: false, error: "not found" }, true))).toBe(
      `${time}  laptop__Bash ✗\n  not found`,
    );
    expect(transcript(result("a\n\nb\n\n\n"))).toBe(`${time}  laptop__Bash ✓\n  a\n\n  b`);
    expect(transcript(result("{not json"))).toBe(`${time}  laptop__Bash ✓\n  {not json`);
  });

  it("shortens a long result, and says by how much", () => {
    const shown = transcript(result(Array.from({ length: 25 }, (_, line) => `line ${line}`).join("\n")));
    expect(shown.split("\n")).toHaveLength(22);
    expect(shown).toMatch(/ {2}line 19\n {2}… 5 more lines$/);
  });

  it("names an image by its type", () => {
    const image = { type: "image" as const, mimeType: "image/png", r2Key: "k", size: 1 };
    expect(transcript({ ...result(""), content: [image] })).toContain("  (image, image/png)");
  });
});

describe("a tool's result", () => {
  it.each([
    [{ path: "a.md", content: "# A", lines: 1 }, "# A"],
    [{ matches: ["a.md", "b.md"], count: 2 }, "a.md\nb.md"],
    [{ matches: [{ path: "a.md", line: 3, content: "here" }], count: 1 }, "a.md:3: here"],
    [{ matches: [], count: 0 }, "(no matches)"],
    [{ ok: true, result: { path: "a.md", bytes: 12 } }, "path   a.md\nbytes  12"],
    [{ ok: true, result: { status: "completed", exitCode: 0, output: "x\n" } }, "x"],
    [{ sessions: [{ id: 1 }] }, '{\n  "sessions": [\n    {\n      "id": 1\n    }\n  ]\n}'],
    [{ status: "failed", exitCode: 3, output: "no\n" }, "no\n(exit 3)"],
    ["text", "text"],
    [null, "null"],
  ])("%j is shown as %j", (value, text) => {
    expect(toolResultText(value)).toBe(text);
  });
});
