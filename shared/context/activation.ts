import type { ActivatedObject, ObjectSource } from "../protocol/context-objects.ts";
import type { Message } from "../protocol/messages.ts";
import { isContextTool, turnNumbers } from "./context-calls.ts";

/**
 * A change to an object. `automatic` cancels earlier changes to it. `pinned` and `active` describe the object to show.
 */
export type ContextChange =
  | ({ state: "active" | "pinned" } & Pick<ActivatedObject, "id" | "title" | "source" | "characters">)
  | { state: "inactive" | "automatic"; id: string };

/** A change that a client made. */
export type ClientChange = ContextChange & {
  /** The change applies after this message of the session. */
  after: number;
  /** Epoch ms. */
  at: number;
};

/** The context as stored in a session's item. */
export interface SessionContext {
  /** Long results up to this call's are shown as references, because the conversation became long. */
  through?: string;
  /** Oldest first. */
  changes?: ClientChange[];
}

/** Maximum number of clients' changes that a session stores until its next compaction. */
export const maxClientChanges = 100;

/** Which objects of a conversation are activated or deactivated. */
export interface Activation {
  /** Objects to show, by id, in the order of their activation. */
  on: ReadonlyMap<string, ActivatedObject>;
  /** Ids of objects to hide. */
  off: ReadonlySet<string>;
}

/**
 * Combines all changes to objects: those in the last compaction's summary, the successful calls of the context tools, and the
 * changes of clients, each after its message.
 * @param first the number of the first message
 */
export function activationOf(
  messages: readonly Message[],
  first: number,
  changes: readonly ClientChange[] = [],
): Activation {
  const on = new Map<string, ActivatedObject>();
  const off = new Set<string>();
  const apply = (change: ContextChange, turn: number) => {
    on.delete(change.id);
    off.delete(change.id);
    if (change.state === "inactive") off.add(change.id);
    if (change.state !== "active" && change.state !== "pinned") return;
    const { id, title, source, characters } = change;
    on.set(id, { id, title, source, characters, pinned: change.state === "pinned", turn });
  };
  const turns = turnNumbers(messages);
  const left = [...changes];
  const applyUpTo = (seq: number, turn: number) => {
    for (let next = left[0]; next && next.after <= seq; next = left[0]) apply(left.shift() ?? next, turn);
  };
  for (const [i, message] of messages.entries()) {
    const turn = turns[i] ?? 1;
    if (message.role === "user") for (const kept of message.earlier?.activated ?? []) on.set(kept.id, kept);
    const change = changeOf(message);
    if (change) apply(change, turn);
    applyUpTo(first + i, turn);
  }
  applyUpTo(Number.POSITIVE_INFINITY, turns.at(-1) ?? 1);
  return { on, off };
}

/** The change made by a successful call of a context tool. */
function changeOf(message: Message): ContextChange | undefined {
  if (message.role !== "toolResult" || message.isError || !isContextTool(message.toolName)) return undefined;
  const [block] = message.content;
  if (block?.type !== "text") return undefined;
  try {
    const { result } = JSON.parse(block.text) as { result?: unknown };
    return isChange(result) ? result : undefined;
  } catch {
    return undefined;
  }
}

function isChange(value: unknown): value is ContextChange {
  if (typeof value !== "object" || value === null) return false;
  const { id, state, title, source, characters } = value as Record<string, unknown>;
  if (typeof id !== "string") return false;
  if (state === "inactive" || state === "automatic") return true;
  return (
    (state === "active" || state === "pinned") &&
    typeof title === "string" &&
    typeof characters === "number" &&
    isSource(source)
  );
}

function isSource(value: unknown): value is ObjectSource {
  if (typeof value !== "object" || value === null) return false;
  const { kind, at, line, path } = value as Record<string, unknown>;
  if (kind === "archive") return typeof at === "number" && typeof line === "number";
  return kind === "call" || (kind === "file" && typeof path === "string");
}
