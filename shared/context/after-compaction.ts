import type { ActivatedObject, ArchivedCall, EarlierContext } from "../protocol/context-objects.ts";
import type { Message } from "../protocol/messages.ts";
import { activationOf, type ClientChange, type SessionContext } from "./activation.ts";
import { contextCalls, isContextTool, titleOf, turnsOf } from "./context-calls.ts";
import { earlierOf } from "./view.ts";

/** Archived calls that a summary names. All others are found in the archives. */
const maxArchived = 200;

/** A compaction, as far as the context has to follow it. */
export interface CompactedMessages {
  removed: readonly Message[];
  kept: readonly Message[];
  /** Number of the first message that was removed, and of the last one. */
  first: number;
  upTo: number;
  /** Number of the newest message. The summary is the one behind it, and the kept messages follow. */
  head: number;
  /** Its time, which names its archive; epoch ms. */
  at: number;
}

/** What the summary of removed messages keeps of their objects. */
export function earlierContext(
  { removed, kept, first, upTo, at }: Omit<CompactedMessages, "head">,
  context: SessionContext | undefined,
): EarlierContext {
  const before = earlierOf(removed);
  const calls = [...before.calls, ...archivedCalls(removed, at)];
  const folded = (context?.changes ?? []).filter(({ after }) => after <= upTo);
  const { on } = activationOf(removed, first, folded);
  const turns = turnsOf(removed).at(-1) ?? 1;
  const places = new Map(calls.map((call) => [call.id, call]));
  const activated = [...on.values()].map((object): ActivatedObject => {
    const place = object.source.kind === "call" ? places.get(object.id) : undefined;
    const source = place ? ({ kind: "archive", at: place.at, line: place.line } as const) : object.source;
    // The summary is the first turn of what is live now.
    return { ...object, source, turn: object.turn - turns + 1 };
  });
  // What was said in messages that stay, of a call that goes, needs its place as well.
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
 * What a session's item keeps of its context behind a compaction: what the summary has taken over goes, and changes of
 * clients stand behind the new numbers of their messages. Undefined when nothing is left.
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
