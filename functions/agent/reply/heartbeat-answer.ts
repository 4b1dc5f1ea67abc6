import { deliverableText } from "../../../shared/heartbeat/beat-answer.ts";
import { noteAnswer } from "../../../shared/heartbeat/beat-state.ts";
import { claimText, releaseText } from "../../../shared/heartbeat/repeat-guard.ts";
import { log } from "../../../shared/runtime/log.ts";
import type { HeartbeatTask } from "../../../shared/session/inbox-entry.ts";
import type { Agent } from "../agent.ts";
import type { TaskEnd } from "./task-end.ts";

/** All failures count as one text: their reasons differ in details, and one a day is enough. */
const failureText = "failure";

/**
 * Settles a beat of a heartbeat: delivers what the answer says, unless it says nothing or the same was sent
 * within 24 hours, and notes it for `heartbeat.status`. A beat that failed tells so, likewise once in 24 hours;
 * one that was stopped does not. Every write can be repeated; the delivery has receipts under the run's id.
 */
export async function settleHeartbeat(
  agent: Pick<Agent, "table" | "channels" | "now">,
  { agentId, to }: HeartbeatTask,
  runId: string,
  end: TaskEnd,
): Promise<void> {
  const { table, now } = agent;
  const { failure, answer = "" } = end;
  const told = failure === undefined ? deliverableText(answer) : end.note;
  let sentAt: number | undefined;
  if (told && to) {
    const toSend = { agentId, text: failure === undefined ? told : failureText, runId };
    if (await claimText(table, toSend, now())) {
      const delivered = await agent.channels.deliver(to, runId, told);
      if (delivered.ok) sentAt = now();
      else {
        log("channel.undelivered", { runId, channel: to.channel, reason: delivered.reason });
        await releaseText(table, toSend);
      }
    } else log("heartbeat.repeated", { agentId, runId });
  }
  const text = failure === undefined ? answer : `Error: ${failure}`;
  await noteAnswer(table, agentId, { at: now(), text, sentAt });
}
