import { describe, expect, it } from "vitest";
import { RunView } from "../../../cli/chat/run-view.ts";
import type { ChatDelta, ChatEvent } from "../../../shared/protocol/events.ts";
import { assistant } from "../fake-gateway.ts";

const base = { runId: "r", sessionKey: "s" };
const delta = (text: string, seq: number, more: Partial<ChatDelta> = {}): ChatEvent => ({
  ...base,
  state: "delta",
  text,
  seq,
  attempt: 1,
  step: 0,
  ...more,
});
const final = (text: string): ChatEvent => ({ ...base, state: "final", message: assistant(text) });
const call = { id: "c1", name: "pi__Bash", arguments: { command: "ls" } };

/** The text on the screen after the steps. A restart clears it. */
function shown(view: RunView, events: ChatEvent[]): string {
  let text = "";
  for (const event of events)
    for (const step of view.chat(event)) {
      if (step.kind === "text") text += step.text;
      if (step.kind === "restart") text = "";
    }
  return text;
}

describe("the view of a run", () => {
  it("shows streamed text once, also when the complete message follows", () => {
    expect(shown(new RunView(), [delta("Hel", 0), delta("lo", 1), final("Hello")])).toBe("Hello");
  });

  it("adds text that was not streamed when the complete message arrives", () => {
    expect(shown(new RunView(), [delta("Hel", 0), final("Hello")])).toBe("Hello");
    expect(shown(new RunView(), [final("Hello")])).toBe("Hello");
  });

  it("starts the text over when a crashed attempt is repeated", () => {
    const view = new RunView();
    const events = [
      delta("One tho", 0),
      delta("Another", 0, { attempt: 2 }),
      delta(" one", 1, { attempt: 2 }),
    ];
    expect(shown(view, [...events, final("Another one")])).toBe("Another one");
  });

  it("ignores deltas of an abandoned attempt, and of a complete reply", () => {
    const view = new RunView();
    const late = delta("late", 1);
    expect(
      shown(view, [
        delta("a", 0),
        delta("b", 0, { attempt: 2 }),
        late,
        final("b"),
        delta("b", 0, { seq: 1 }),
      ]),
    ).toBe("b");
  });

  it("does not show text after a gap until the complete message arrives", () => {
    expect(shown(new RunView(), [delta("a", 0), delta("c", 2), final("abc")])).toBe("abc");
  });

  it("treats a message whose blocks were joined differently as the same text", () => {
    const view = new RunView();
    const steps = [delta("one", 0), delta("two", 1), final("one\n\ntwo")].flatMap((event) =>
      view.chat(event),
    );
    expect(steps.filter(({ kind }) => kind === "restart")).toEqual([]);
  });

  it("shows calls of a partial reply, then their results, then the next reply", () => {
    const view = new RunView();
    const partial: ChatEvent = { ...base, state: "partial", message: assistant("Let me look.", [call]) };
    expect(view.chat(partial)).toEqual([
      { kind: "text", text: "Let me look." },
      { kind: "reply", text: "Let me look." },
      { kind: "calling", callId: "c1", tool: "pi__Bash", args: { command: "ls" } },
    ]);
    const result = { ...base, callId: "c1", tool: "pi__Bash", isError: false, preview: "a.txt" };
    expect(view.toolResult(result)).toEqual([
      {
        kind: "tool",
        callId: "c1",
        tool: "pi__Bash",
        args: { command: "ls" },
        isError: false,
        preview: "a.txt",
      },
    ]);
    expect(view.toolResult(result)).toEqual([]);
    expect(view.chat(delta("Done", 0, { step: 1 }))).toEqual([{ kind: "text", text: "Done" }]);
  });

  it("ends a reply whose complete message was lost when the next step begins", () => {
    const view = new RunView();
    view.chat(delta("Let me look.", 0));
    expect(view.chat(delta("Done", 0, { step: 1 }))).toEqual([
      { kind: "reply", text: "Let me look." },
      { kind: "text", text: "Done" },
    ]);
  });
});

it("starts the text over when the model request is retried, and says why", () => {
  const view = new RunView();
  const retry = { ...delta("", 0), state: "retry", reason: "overloaded", waitMs: 1200 } as const;
  const steps = [delta("Once", 0), retry, delta("Twice", 0)].flatMap((event) =>
    view.chat(event as ChatEvent),
  );
  expect(steps).toEqual([
    { kind: "text", text: "Once" },
    { kind: "restart" },
    { kind: "waiting", reason: "overloaded", seconds: 2 },
    { kind: "text", text: "Twice" },
  ]);
});

it("marks an answer that was cut off, and ignores unknown events", () => {
  const content = [{ type: "text", text: "Once" } as const];
  const message = { role: "assistant", content, stopReason: "length", timestamp: 1 } as const;
  const { runId, sessionKey } = delta("", 0) as ChatEvent;
  const view = new RunView();
  expect(view.chat({ runId, sessionKey, state: "unheard-of" } as unknown as ChatEvent)).toEqual([]);
  expect(view.chat({ runId, sessionKey, state: "final", message: { ...message, content } }).at(-1)).toEqual({
    kind: "cut",
  });
});
