import { randomUUID } from "node:crypto";
import { code, PeerError } from "../protocol/errors.ts";
import { remove, type Step, set } from "../world/expression.ts";
import { type Holder, holdBriefly, isAtRest } from "./brief-hold.ts";
import { commit } from "./lease.ts";
import { recordPreviousId } from "./previous-ids.ts";
import { spentAfterReset } from "./spending.ts";
import { assign, type SessionState } from "./state.ts";

/** Attributes that describe a conversation or its session, and end with them. */
const described = [
  ...["label", "resetPolicy", "lastChannel", "lastResetAt", "resetScheduledFor", "previousSessionIds"],
  ...[
    "context",
    "contextTokens",
    "contextLimits",
    "tokensPerCharacter",
    "promptHash",
    "origins",
    "foundTools",
  ],
  ...["private", "clearFrom", "compactedAt", "extracting", "listPk", "listSk"],
] as const;

/**
 * Ends a session's conversation without an archive, and empties the session's item: it is in no list until the next message.
 * Its epoch, accepted ids and sums stay. As in a reset, the conversation's id is recorded first, so that its messages can be
 * deleted.
 * @throws PeerError 409, retryable, while the session works
 */
export function emptySession(holder: Holder, sessionKey: string): Promise<void> {
  return holdBriefly(holder, sessionKey, async ({ lease, state }) => {
    if (!isAtRest(state)) {
      const message = `${sessionKey} is at work; stop it with /stop, or wait until it is done, and repeat this`;
      throw new PeerError(code.conflict, message, { retryable: true });
    }
    const resets = await recordPreviousId(holder.table, state);
    await commit(holder.table, lease, emptySteps(state, resets, holder.now()), state);
    return 1;
  });
}

function emptySteps(state: SessionState, resets: number, now: number): Step[] {
  return [
    ...[set("sessionId", randomUUID()), set("resets", resets), set("first", 1), set("head", 0)],
    ...[set("tokens", { input: 0, output: 0, total: 0 }), set("settings", {})],
    ...[set("createdAt", now), set("updatedAt", now)],
    ...(state.spent ? [assign("spent", spentAfterReset(state.spent))] : []),
    ...described.map((name) => remove(name)),
  ];
}
