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
  const titles = new Map<string, Promise<string | undefined>>();
  return gateway.onEvent("chat", (event) => {
    const { runId } = event;
    const parts = parseSessionKey(event.sessionKey);
    // The session of a job takes messages too: their runs have other ids.
    const isOfJob = parts?.agentId === agentId && parts?.peer.kind === cronKind && runId.startsWith("cron-");
    if (!isOfJob || event.sessionKey === sessionKey) return;
    // Asked when the run begins: a job of one time is removed at its end.
    const title = titles.get(runId) ?? titleOf(gateway, parts.agentId, parts.peer.id);
    titles.set(runId, title);
    if (event.state !== "final" && event.state !== "error") return;
    titles.delete(runId);
    void title.then((known) => known && show({ title: known, end: event }));
  });
}

/** Undefined for a job whose answer goes nowhere. One that is removed already has no name here. */
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
