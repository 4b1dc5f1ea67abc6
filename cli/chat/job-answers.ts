import type { ChatError, ChatReply } from "../../shared/protocol/events.ts";
import { cronKind, parseSessionKey } from "../../shared/session/key/session-key.ts";
import type { Gateway } from "../gateway/gateway-client.ts";

/** The final event of a scheduled job's run, and its title. */
export interface JobAnswer {
  title: string;
  end: ChatReply | ChatError;
}

/**
 * Calls `show` with the answer of each run of an agent's scheduled jobs, except jobs that do not deliver their answer.
 * Returns a function that unsubscribes.
 * @param sessionKey of the open conversation, whose own runs are ignored
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
    // A job's session accepts messages, too. Their runs have other ids.
    const isOfJob = parts?.agentId === agentId && parts?.peer.kind === cronKind && runId.startsWith("cron-");
    if (!isOfJob || event.sessionKey === sessionKey) return;
    // Look up the title when the run begins, because a one-shot job is removed when its run ends.
    const title = titles.get(runId) ?? titleOf(gateway, parts.agentId, parts.peer.id);
    titles.set(runId, title);
    if (event.state !== "final" && event.state !== "error") return;
    titles.delete(runId);
    void title.then((known) => known && show({ title: known, end: event }));
  });
}

/** The title of a job's answers; undefined for a job that does not deliver them. A removed job has no name. */
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
