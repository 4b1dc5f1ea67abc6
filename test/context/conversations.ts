import type { ContextChange } from "../../shared/context/activation.ts";
import { contextTools } from "../../shared/context/context-calls.ts";
import type { ContextSettings } from "../../shared/context/view.ts";
import type { Message } from "../../shared/protocol/messages.ts";

export const settings: ContextSettings = {
  rendering: "inline",
  deactivateAbove: 0.5,
  window: { calls: 5, turns: 3 },
};
export const pools: ContextSettings = { ...settings, rendering: "pools" };

export const said = (text: string): Message => ({ role: "user", content: text, timestamp: 1 });
export const answer = (text: string): Message => ({
  role: "assistant",
  content: [{ type: "text", text }],
  timestamp: 2,
});

/** A call of a tool and its result. */
export function called(
  id: string,
  text: string,
  { name = "n__Bash", args = { command: `run ${id}` } as unknown, isError = false } = {},
): Message[] {
  return [
    { role: "assistant", content: [{ type: "toolCall", id, name, arguments: args }], timestamp: 2 },
    {
      role: "toolResult",
      toolCallId: id,
      toolName: name,
      content: [{ type: "text", text }],
      isError,
      timestamp: 3,
    },
  ];
}

let uses = 0;

/** A successful call of a context tool. */
export function changed(change: ContextChange): Message[] {
  const name = change.state === "inactive" ? contextTools.deactivate : contextTools.activate;
  const text = JSON.stringify({ ok: true, result: { ...change, note: "" } });
  return called(`ctx_${++uses}`, text, { name, args: { id: change.id } });
}

export const activated = (id: string, state: "active" | "pinned" = "active"): Message[] =>
  changed({ id, state, title: id, source: { kind: "call" }, characters: 10 });

/** Turns with a call each, whose ids are `t1`, `t2`, … */
export function turns(count: number, length = 1000): Message[] {
  return Array.from({ length: count }, (_, i) => [
    said(`question ${i + 1}`),
    ...called(`t${i + 1}`, `result of t${i + 1} ${"x".repeat(length)}`),
    answer(`answer ${i + 1}`),
  ]).flat();
}
