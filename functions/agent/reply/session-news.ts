import type { SessionChanged } from "../../../shared/protocol/events.ts";
import type { UserMessage } from "../../../shared/protocol/messages.ts";
import { logError } from "../../../shared/runtime/log.ts";
import type { SessionState } from "../../../shared/session/state.ts";
import type { Agent } from "../agent.ts";

type Announcer = Pick<Agent, "broadcast" | "now">;

/**
 * Tells the clients that follow all sessions that a run begins, and with which message. Does not reject, and sends nothing
 * when nobody follows.
 * @param state before the message is appended
 */
export async function announceStart(
  agent: Announcer,
  state: SessionState,
  runId: string,
  message: UserMessage,
  clients: Promise<string[]>,
): Promise<void> {
  const { sessionKey, head } = state;
  const started = { state: "user" as const, runId, sessionKey, seq: head + 1 };
  await toFollowers(agent, sessionKey, clients, async (followers) => {
    await Promise.all([
      agent.broadcast.send(followers, "chat", { ...started, message }),
      agent.broadcast.send(followers, "session.changed", changeOf(agent, state, true)),
    ]);
  });
}

/** Tells the clients that follow all sessions that a run or a reset has ended. As `announceStart`. */
export async function announceEnd(
  agent: Announcer,
  state: SessionState,
  clients: Promise<string[]>,
): Promise<void> {
  await toFollowers(agent, state.sessionKey, clients, (followers) =>
    agent.broadcast.send(followers, "session.changed", changeOf(agent, state, false)),
  );
}

function changeOf({ now }: Announcer, state: SessionState, isProcessing: boolean): SessionChanged {
  const { sessionKey, sessionId, label } = state;
  return {
    sessionKey,
    sessionId,
    ...(label === undefined ? {} : { label }),
    lastActiveAt: now(),
    isProcessing,
  };
}

async function toFollowers(
  { broadcast }: Announcer,
  sessionKey: string,
  clients: Promise<string[]>,
  send: (followers: readonly string[]) => Promise<void>,
): Promise<void> {
  try {
    const followers = broadcast.following(await clients);
    if (followers.length > 0) await send(followers);
  } catch (error) {
    logError("announce.failed", error, { sessionKey });
  }
}
