import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { callLines } from "../../../../cli/commands/node/node-command.ts";

let lines: string[];
let tell: ReturnType<typeof callLines>;
const test = { callId: "c", tool: "Bash", args: { command: "npm test" } };
const report = { status: "completed", exitCode: 0, durationMs: 3200, output: "secret" };

beforeEach(() => {
  vi.useFakeTimers();
  lines = [];
  tell = callLines((line) => lines.push(line));
});
afterEach(() => {
  vi.useRealTimers();
});

it("an ended call is a line with its time, without its output", () => {
  tell(test);
  vi.advanceTimersByTime(900);
  expect(lines).toEqual([]);
  tell({ ...test, outcome: { result: report } });
  vi.advanceTimersByTime(5000);
  expect(lines).toEqual(["⏵ Bash npm test ✓ 3.2 s"]);
});

it("a slow call also gets a line before it ends", () => {
  tell(test);
  tell({ ...test, callId: "d", args: { command: "ls" } });
  tell({ ...test, callId: "d", args: { command: "ls" }, outcome: { result: { ...report, durationMs: 9 } } });
  vi.advanceTimersByTime(1000);
  expect(lines).toEqual(["⏵ Bash ls ✓", "⏵ Bash npm test …"]);
});

it.each([
  [{ result: { ...report, status: "failed", exitCode: 3 } }, "✗ exit 3 after 3.2 s"],
  [{ error: "Bash: /x is not a folder" }, "✗ Bash: /x is not a folder"],
])("a call that failed says how: %j", (outcome, ending) => {
  tell(test);
  tell({ ...test, outcome });
  expect(lines).toEqual([`⏵ Bash npm test ${ending}`]);
});
