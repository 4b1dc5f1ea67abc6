import { log } from "../runtime/log.ts";
import type { WakeAgent } from "../world/world.ts";
import { answererOf } from "./asked-session.ts";
import type { SessionStore } from "./bodies.ts";
import { recordResult } from "./calls.ts";
import type { SessionTask } from "./inbox-entry.ts";
import { type Run, wordsRead } from "./run.ts";
import { needsAgent } from "./state.ts";

/**
 * Records a session's answer as the result of the call that waits for it, and wakes the calling session's agent. Safe to
 * repeat: a call is answered once, and never after its deadline.
 * @param run the run that answers
 */
export async function answerAsker(
  { wake, now, ...store }: SessionStore & { wake: WakeAgent; now: () => number },
  { asker, sessionKey, runId, queued }: SessionTask,
  { answer, failure = "it has no answer" }: { answer?: string; failure?: string },
  { notSentTo, origins }: Pick<Run, "notSentTo" | "origins">,
): Promise<void> {
  if (!asker) return;
  const result =
    answer === undefined
      ? { ok: false, error: `${sessionKey} has not answered: ${failure}` }
      : {
          ok: true,
          result: {
            status: "ok",
            runId,
            sessionKey,
            queued,
            reply: answer,
            ...(notSentTo ? { notSentTo } : {}),
          },
        };
  const recorded = await recordResult(
    store,
    asker,
    answererOf(sessionKey),
    { result, origins: [...wordsRead({ origins })] },
    now(),
  );
  log("session.answered", { ...asker, by: sessionKey, status: recorded.status });
  // Also when an earlier attempt recorded the result: it may have crashed before it woke the agent.
  if (recorded.status !== "unknown" && needsAgent(recorded.state, now())) await wake(asker.sessionKey);
}
