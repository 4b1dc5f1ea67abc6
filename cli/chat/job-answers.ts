import type { ChatError, ChatReply } from "../../shared/protocol/events.ts";
import { cronKind, parseSessionKey } from "../../shared/session/key/session-key.ts";
import type { Gateway } from "../gateway/gateway-client.ts";

/** How a run of a scheduled job ended, and what is said above it. */
export interface JobAnswer {
  title: string;
  end: ChatReply | ChatError;
}

/**
 * Calls `show` with the answer of each scheduled job of an agent, unless the job says that its answer goes nowhere. Returns
 * a function that unsubscribes.
 * @param sessionKey of the conversation that is open; runs in it are not the business of this function
 */
export function followJobs(
  gateway: Pick<Gateway, "request" | "onEvent">,
  sessionKey: string,
  show: (answer: JobAnswer) => void,
): () => void {
  const agentId = sessionKey.split(":")[1];
  return gateway.onEvent("chat", (end) => {
    if ((end.state !== "final" && end.state !== "error") || end.sessionKey === sessionKey) return;
    const parts = parseSessionKey(end.sessionKey);
    // The session of a job takes messages too: their runs have other ids.
    if (parts?.agentId !== agentId || parts?.peer.kind !== cronKind || !end.runId.startsWith("cron-")) return;
    void titleOf(gateway, parts.agentId, parts.peer.id).then((title) => title && show({ title, end }));
  });
}

/** Undefined for a job whose answer goes nowhere. A job of one time is removed after its run, and then has no name here. */
async function titleOf(
  gateway: Pick<Gateway, "request">,
  agentId: string,
  jobId: string,
): Promise<string | undefined> {
  const listed = await gateway.request("cron.list", { agentId, limit: 500 }).catch(() => undefined);
  const job = listed?.jobs.find(({ id }) => id === jobId);
  if (job?.spec.mode === "task" && job.spec.deliver === false) return undefined;
  return job ? `the scheduled job ${job.name}` : "a scheduled job";
}
