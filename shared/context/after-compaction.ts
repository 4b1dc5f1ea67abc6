import type { ActivatedObject, ArchivedCall, EarlierContext } from "../protocol/context-objects.ts";
import type { Message } from "../protocol/messages.ts";
import { activationOf, type ClientChange, type SessionContext } from "./activation.ts";
import { contextCalls, isContextTool, titleOf, turnNumbers } from "./context-calls.ts";
import { earlierOf } from "./view.ts";

/** Maximum number of archived calls that a summary lists. All others are in the archives. */
const maxArchived = 200;

/** The parts of a compaction that affect the context. */
export interface CompactedMessages {
  removed: readonly Message[];
  kept: readonly Message[];
  /** Numbers of the first and last removed message. */
  first: number;
  upTo: number;
  /** Number of the newest message. The summary follows it, then the kept messages. */
  head: number;
  /** The compaction's time, which is part of its archive's key; epoch ms. */
  at: number;
}

/** The objects of removed messages that their summary lists. */
export function earlierContext(
  { removed, kept, first, upTo, at }: Omit<CompactedMessages, "head">,
  context: SessionContext | undefined,
): EarlierContext {
  const before = earlierOf(removed);
  const calls = [...before.calls, ...archivedCalls(removed, at)];
  const folded = (context?.changes ?? []).filter(({ after }) => after <= upTo);
  const { on } = activationOf(removed, first, folded);
  const turns = turnNumbers(removed).at(-1) ?? 1;
  const places = new Map(calls.map((call) => [call.id, call]));
  const activated = [...on.values()].map((object): ActivatedObject => {
    const place = object.source.kind === "call" ? places.get(object.id) : undefined;
    const source = place ? ({ kind: "archive", at: place.at, line: place.line } as const) : object.source;
    // The summary is the first turn of the live messages.
    return { ...object, source, turn: object.turn - turns + 1 };
  });
  // Messages that stay may activate a call that is archived: list its place too.
  const named = activationOf([...removed, ...kept], first, context?.changes).on;
  const from = calls.length - maxArchived;
  const listed = calls.filter(({ id }, i) => i >= from || named.has(id));
  return { calls: listed, more: before.more + calls.length - listed.length, activated };
}

function archivedCalls(removed: readonly Message[], at: number): ArchivedCall[] {
  return contextCalls(removed)
    .filter(({ tool }) => !isContextTool(tool))
    .map((call) => ({
      id: call.id,
      ...(call.providerId === undefined ? {} : { providerId: call.providerId }),
      tool: call.tool,
      args_display: titleOf(call),
      status: call.status,
      ...(call.characters === undefined ? {} : { characters: call.characters }),
      at,
      line: call.index,
    }));
}

/**
 * A session's context after a compaction: without the parts that the summary contains, and with the changes of clients moved
 * to the new numbers of their messages. Undefined when it is empty.
 */
export function contextAfter(
  context: SessionContext | undefined,
  { removed, upTo, head }: Pick<CompactedMessages, "removed" | "upTo" | "head">,
): SessionContext | undefined {
  const { through, changes = [] } = context ?? {};
  const isGone = contextCalls(removed).some(({ id }) => id === through);
  const left = changes
    .filter(({ after }) => after > upTo)
    .map((change): ClientChange => ({ ...change, after: change.after - upTo + head + 1 }));
  const kept = {
    ...(through === undefined || isGone ? {} : { through }),
    ...(left.length > 0 ? { changes: left } : {}),
  };
  return Object.keys(kept).length > 0 ? kept : undefined;
}
