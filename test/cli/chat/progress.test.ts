import { describe, expect, it } from "vitest";
import { Progress } from "../../../cli/chat/progress.ts";
import type { RunStep } from "../../../cli/chat/run-view.ts";

let now = 0;
const progress = (...steps: RunStep[]) => {
  const waited = new Progress(() => now);
  for (const step of steps) waited.update(step);
  return waited;
};
const rowsAfter = (ms: number, waited: Progress) => {
  now += ms;
  return waited.rows();
};
const call = (callId: string, command: string): RunStep => ({
  ...{ kind: "calling", callId, tool: "pi__Bash", args: { command } },
});
const result = (callId: string): RunStep => ({
  ...{ kind: "tool", callId, tool: "pi__Bash", isError: false, preview: "" },
});

describe("the progress of a message", () => {
  it("is the elapsed time", () => {
    const waited = progress();
    expect(rowsAfter(0, waited)).toEqual(["… (Ctrl-C stops)"]);
    expect(rowsAfter(3999, waited)).toEqual(["… 3 s (Ctrl-C stops)"]);
    expect(rowsAfter(61_001, waited)).toEqual(["… 1m5s (Ctrl-C stops)"]);
  });

  it("is every running call with its own time, until its result arrives", () => {
    const waited = progress(call("a", "npm test"));
    now += 5000;
    waited.update(call("b", "ls"));
    expect(rowsAfter(2000, waited)).toEqual(["⏵ pi__Bash npm test … 7 s", "⏵ pi__Bash ls … 2 s"]);
    waited.update(result("a"));
    expect(rowsAfter(1000, waited)).toEqual(["⏵ pi__Bash ls … 3 s"]);
    waited.update(result("b"));
    expect(rowsAfter(0, waited)).toEqual(["… 8 s (Ctrl-C stops)"]);
  });

  it("is a wait for an earlier message, until the run begins", () => {
    const waited = progress({ kind: "queued" });
    expect(rowsAfter(2000, waited)).toEqual(["… waiting for an earlier message 2 s"]);
    waited.update({ kind: "begun" });
    expect(rowsAfter(0, waited)).toEqual(["… 2 s (Ctrl-C stops)"]);
  });

  it("is empty while text arrives, and then the time without an event", () => {
    const waited = progress({ kind: "text", text: "Hel" });
    expect(rowsAfter(2000, waited)).toEqual([]);
    waited.update({ kind: "silence", seconds: 15 });
    expect(rowsAfter(1000, waited)).toEqual(["… no event for 16 s (Ctrl-C stops)"]);
    waited.update({ kind: "text", text: "lo" });
    expect(rowsAfter(0, waited)).toEqual([]);
  });

  it("is the stop once it is requested, no matter what arrives", () => {
    const waited = progress(call("a", "npm test"));
    waited.isStopping = true;
    waited.update(result("a"));
    expect(rowsAfter(2000, waited)).toEqual(["stopping … 2 s (Ctrl-C again leaves)"]);
    waited.isStopping = false;
    expect(rowsAfter(0, waited)).toEqual(["… 2 s (Ctrl-C stops)"]);
  });
});
