import { describe, expect, it } from "vitest";
import type { ChatEvent } from "../../shared/protocol/events.ts";
import type { AssistantMessage, Message, UserMessage } from "../../shared/protocol/messages.ts";
import { entriesOf, withUnchanged } from "../../web/state/entries.ts";
import { LiveRun } from "../../web/state/live-run.ts";

const user = (text: string, timestamp: number, runId = `run-${timestamp}`): Message => ({
  role: "user",
  content: text,
  origin: { channel: "client", messageId: runId },
  timestamp,
});
const reply = (
  content: AssistantMessage["content"],
  timestamp: number,
  dollars = 0.01,
): AssistantMessage => ({
  role: "assistant",
  content,
  usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: dollars },
  timestamp,
});
const call = (id: string) => ({
  type: "toolCall" as const,
  id,
  name: "laptop__Bash",
  arguments: { command: "ls" },
});
const result = (toolCallId: string, text: string, timestamp: number): Message => ({
  role: "toolResult",
  toolCallId,
  toolName: "laptop__Bash",
  content: [{ type: "text", text }],
  isError: false,
  timestamp,
});

describe("stored messages", () => {
  it("give the same entries again when they are read again, except for what has changed", () => {
    const read = (text: string) =>
      entriesOf([user("list", 1), reply([call("c1")], 2), ...(text ? [result("c1", text, 3)] : [])], true);
    const before = read("");
    expect(withUnchanged(before, read("")).map((entry, index) => entry === before[index])).toEqual([
      true,
      true,
    ]);
    const after = withUnchanged(before, read("done"));
    expect(after[0]).toBe(before[0]);
    expect(after[1]).toMatchObject({ state: "ok", output: "done" });
  });

  it("become entries with calls, their results, and the price of each turn", () => {
    const command = JSON.stringify({ status: "completed", exitCode: 3, output: "a.txt\n", durationMs: 1200 });
    const entries = entriesOf(
      [
        user("list", 1),
        reply([{ type: "thinking", thinking: "hm" }, { type: "text", text: "Looking." }, call("c1")], 2),
        result("c1", command, 3),
        reply([{ type: "text", text: "Done." }], 4, 0.02),
        user("thanks", 5),
        reply([{ type: "text", text: "Welcome." }], 6, 0.5),
      ],
      false,
    );
    expect(entries.map(({ kind }) => kind)).toEqual([
      ...["user", "thinking", "reply", "tool", "reply", "user", "reply"],
    ]);
    expect(entries[3]).toMatchObject({ state: "ok", output: "a.txt\n", failure: "exit 3", durationMs: 1200 });
    expect(entries.map((entry) => (entry.kind === "reply" ? entry.dollars : undefined))).toEqual([
      ...[undefined, undefined, undefined, undefined],
      expect.closeTo(0.03),
      undefined,
      0.5,
    ]);
  });

  it("keep the keys of their entries when messages are added", () => {
    const messages = [user("a", 1), reply([{ type: "text", text: "b" }], 2), user("c", 3)];
    const keys = entriesOf(messages, false).map(({ key }) => key);
    const later = entriesOf([...messages, reply([{ type: "text", text: "d" }], 4)], false);
    expect(later.slice(0, 3).map(({ key }) => key)).toEqual(keys);
    expect(new Set(later.map(({ key }) => key)).size).toBe(4);
  });

  it("have the lines that their message recalled, and nothing else of its tail", () => {
    const tail = [
      "<gateway>\nNow: Friday, 2026-11-20 18:00",
      "From earlier, perhaps of use; gsv__recall finds more:",
      "- 2026-06-03, memory/2026-06-03.md, memory 0123456789abcdef: Bruno: no chicken",
      "- 2026-06-03 10:00, telegram, user, message 1 of 0b9e2c3a: His vet, memory 0123456789abcdef: Eva",
      "\n---\n\n## Long-Term Memory: added\n- Ada, memory 0123456789abcdef: drinks tea\n</gateway>",
    ].join("\n");
    const [entry, plain] = entriesOf([{ ...user("a", 1), tail } as UserMessage, user("b", 2)], false);
    expect(entry).toMatchObject({
      reminders: [
        { about: "2026-06-03, memory/2026-06-03.md", memory: "0123456789abcdef", text: "Bruno: no chicken" },
        {
          about: "2026-06-03 10:00, telegram, user, message 1 of 0b9e2c3a",
          text: "His vet, memory 0123456789abcdef: Eva",
        },
      ],
    });
    expect(plain).not.toHaveProperty("reminders");
  });

  it("show a call without a result as running only while the session runs", () => {
    const messages = [user("a", 1), reply([call("c1")], 2)];
    expect(entriesOf(messages, true)[1]).toMatchObject({ state: "running" });
    expect(entriesOf(messages, false)[1]).toMatchObject({ state: "lost" });
  });
});

describe("a run in progress", () => {
  const of = { runId: "r", sessionKey: "s" };
  const delta = (text: string, seq: number, step = 1, attempt = 1): ChatEvent => ({
    ...{ ...of, state: "delta", text, seq, step, attempt },
  });
  const textsOf = (run: LiveRun) =>
    run.entries.map((entry) => (entry.kind === "reply" ? entry.text : entry.kind));

  it("collects the pieces of an answer, once each", () => {
    const run = new LiveRun("r");
    for (const event of [delta("a", 0), delta("b", 1), delta("b", 1), delta("c", 2)]) run.chat(event);
    expect(textsOf(run)).toEqual(["abc"]);
  });

  it("begins with its message, which may come twice", () => {
    const run = new LiveRun("r");
    run.chat(delta("a", 0));
    const begun: ChatEvent = { ...of, state: "user", seq: 1, message: user("hi", 1, "r") as UserMessage };
    for (const event of [begun, begun]) run.chat(event);
    expect(run.entries).toMatchObject([
      { kind: "user", key: "r", text: "hi" },
      { kind: "reply", text: "a" },
    ]);
  });

  it("starts over with a repeated attempt, and ignores pieces of the one before", () => {
    const run = new LiveRun("r");
    for (const event of [delta("old", 0), delta("new", 0, 1, 2), delta("late", 1, 1, 1)]) run.chat(event);
    expect(textsOf(run)).toEqual(["new"]);
  });

  it("shows nothing of an answer whose start was missed until it is complete", () => {
    const run = new LiveRun("r");
    run.chat(delta("end of", 7));
    expect(run.entries).toEqual([]);
    run.chat({ ...of, state: "final", message: reply([{ type: "text", text: "the end of it" }], 9) });
    expect(textsOf(run)).toEqual(["the end of it"]);
  });

  it("replaces streamed text by the complete reply, and shows its calls until they end", () => {
    const run = new LiveRun("r");
    run.chat(delta("Loo", 0));
    run.chat({
      ...of,
      state: "partial",
      message: reply([{ type: "text", text: "Looking." }, call("c1")], 2),
    });
    expect(run.entries).toMatchObject([{ text: "Looking." }, { key: "c1", state: "running" }]);
    run.toolResult({ ...of, callId: "c1", tool: "laptop__Bash", isError: false, preview: "a.txt" });
    expect(run.entries[1]).toMatchObject({ state: "ok", output: "a.txt" });
  });

  it("has the same keys as the stored messages, which then replace it", () => {
    const message = reply([{ type: "text", text: "Looking." }, call("c1")], 2);
    const run = new LiveRun("r");
    run.chat({ ...of, state: "partial", message });
    const stored = entriesOf([user("a", 1), message], true);
    expect(stored.slice(1).map(({ key }) => key)).toEqual(run.entries.map(({ key }) => key));
    run.settle(stored);
    expect(run.entries).toEqual([]);
  });

  it("says why it failed, and that it was stopped", () => {
    const failed = new LiveRun("r");
    failed.chat({ ...of, state: "error", error: "LLM error: no credit" });
    expect(failed.entries).toMatchObject([{ kind: "note", isError: true, text: "LLM error: no credit" }]);
    const stopped = new LiveRun("r");
    stopped.chat({ ...of, state: "error", error: "Run cancelled by user" });
    expect(stopped.entries).toMatchObject([{ isError: false, text: "Stopped." }]);
  });
});
