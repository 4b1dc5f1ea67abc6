import { type Activation, activationOf, type ClientChange } from "../../../shared/context/activation.ts";
import { type ContextCall, contextCalls, isContextTool } from "../../../shared/context/context-calls.ts";
import { earlierOf } from "../../../shared/context/view.ts";
import type { ObjectSets } from "../../../shared/objects/locked-objects.ts";
import type { Message } from "../../../shared/protocol/messages.ts";
import type { SessionStore } from "../../../shared/session/bodies.ts";
import type { SessionState } from "../../../shared/session/state.ts";
import { readMessages } from "../../../shared/session/transcript.ts";

/**
 * The sets of a conversation's objects after each of its messages. Results are active until they are deactivated; pinned
 * and activated objects are active too.
 * @param changes by clients, numbered by the messages of the whole conversation
 */
export function setsOf(
  messages: readonly Message[],
  changes: readonly ClientChange[] = [],
): (n: number) => ObjectSets {
  const calls = contextCalls(messages);
  const results = new Map(calls.map((call) => [call.index + 1, call]));
  const seen = calls.filter(({ tool }) => !isContextTool(tool));
  const changing = new Set(changes.map(({ after }) => after));
  const activationAt = (n: number) =>
    activationOf(
      messages.slice(0, n),
      1,
      changes.filter(({ after }) => after <= n),
    );
  let activation = activationAt(0);
  const sets: ObjectSets[] = [];
  for (const n of messages.keys()) {
    const result = results.get(n + 1);
    const isChange = changing.has(n + 1) || (result && isContextTool(result.tool));
    if (isChange) activation = activationAt(n + 1);
    const last = sets.at(-1);
    const next = last && !isChange && !result ? last : setsFrom(activation, seen, n + 1);
    // A failed call of a context tool changes nothing.
    sets.push(last && isChange && JSON.stringify(next) === JSON.stringify(last) ? last : next);
  }
  return (n) => sets[n - 1] ?? setsFrom(activation, seen, n);
}

function setsFrom({ on, off }: Activation, calls: readonly ContextCall[], n: number): ObjectSets {
  const ids = calls.filter(({ index }) => index < n).map(({ id }) => id);
  const known = new Set(ids);
  const others = [...on.keys()].filter((id) => !known.has(id));
  const pinned = [...on.values()].filter((object) => object.pinned).map(({ id }) => id);
  return { active: [...ids.filter((id) => !off.has(id)), ...others], inactive: [...off], pinned };
}

/**
 * The changes that clients made to a live conversation, which are not in its messages: those since the last compaction, and
 * the ones that the compaction kept.
 * @param length number of messages of the whole conversation
 */
export async function clientChanges(
  store: SessionStore,
  state: SessionState,
  length: number,
): Promise<ClientChange[]> {
  const numberOf = (seq: number) => Math.max(0, length - (state.head - seq));
  const isCompacted = state.compactedAt !== undefined && state.head >= state.first;
  const head = isCompacted ? await readMessages(store, state, state.first, state.first) : [];
  const kept = earlierOf(head).activated.map(({ pinned, ...object }): ClientChange => {
    const place = { after: numberOf(state.first), at: state.compactedAt ?? 0 };
    return { ...object, ...place, state: pinned ? "pinned" : "active" };
  });
  const since = (state.context?.changes ?? []).map((change) => ({
    ...change,
    after: numberOf(change.after),
  }));
  return [...kept, ...since];
}
