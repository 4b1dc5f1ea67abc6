import { createHash } from "node:crypto";
import { closeQuestions } from "../../../shared/approvals/press.ts";
import { aboutSession, questionIds, questionOf } from "../../../shared/approvals/question.ts";
import { putRequest, readRequest, settleRequest } from "../../../shared/approvals/requests.ts";
import type { ChannelOrigin, Delivered } from "../../../shared/channels/channel.ts";
import { findOwner } from "../../../shared/channels/last-active.ts";
import { findReceiver, isForClients } from "../../../shared/channels/receiver.ts";
import { durationMs } from "../../../shared/configuration/duration.ts";
import type {
  Approval,
  ApprovalAnswer,
  ApprovalResolved,
  ApprovalState,
} from "../../../shared/protocol/approvals.ts";
import { log, logError } from "../../../shared/runtime/log.ts";
import { type Outcomes, unansweredRequest } from "../../../shared/session/calls.ts";
import { agentIdOf } from "../../../shared/session/key/session-key.ts";
import { type Run, senderOf } from "../../../shared/session/run.ts";
import type { WaitingRequest } from "../../../shared/session/waiting.ts";
import type { Agent } from "../agent.ts";
import type { ConnectedPeers } from "../context/connected-peers.ts";
import type { TurnContext } from "../context/model-request.ts";
import type { SessionWriter } from "../session-writer.ts";

/**
 * Shows requests to the owner: to all clients, and in the direct message that the run answers. Everything is repeated after a
 * crash, and after the time of the reminder, under ids that let nobody see it more often.
 */
export async function askOwner(
  agent: Agent,
  { configuration }: Pick<TurnContext, "configuration">,
  requests: readonly Approval[],
  peers: ConnectedPeers,
  run: Run,
): Promise<void> {
  const different = [...new Map(requests.map((one) => [one.id, one])).values()];
  if (different.length === 0) return;
  const remindMs = durationMs(configuration.toolApproval.remindAfter);
  const clients = peers.refreshClients();
  for (const request of different) {
    const { id, sessionKey, runId, step, createdAt, until } = request;
    const isReminder = remindMs > 0 && agent.now() - createdAt >= remindMs;
    await putRequest(agent.table, request);
    log("approval.requested", { sessionKey, runId, id, tool: request.tool, isReminder });
    const at = createdAt + remindMs;
    const event = { kind: "approval-reminder", sessionKey, runId, step, at } as const;
    const shown = isReminder ? { ...request, reminder: true as const } : request;
    await Promise.all([
      remindMs > 0 && !isReminder && at < until
        ? agent.schedules.once(reminderName(id), at, event)
        : undefined,
      agent.broadcast.send(await clients, "approval.requested", shown),
      askInMessenger(agent, run, isReminder ? questionIds(id).again : questionIds(id).first, request),
    ]);
  }
}

function reminderName(id: string): string {
  return `approval-${createHash("sha256").update(id).digest("hex").slice(0, 40)}`;
}

/** Asks in a direct message. */
async function askInMessenger(agent: Agent, run: Run, id: string, request: Approval): Promise<void> {
  await tellOwner(agent, request.sessionKey, run, id, (to, isElsewhere) =>
    agent.channels.ask(to, id, (form) => questionOf(request, form, isElsewhere)),
  );
}

/**
 * Writes to the owner: in the direct message that a run answers, or, for a task and in a room, where an owner last wrote
 * directly. Others may read the answer of a task and a room, but no request.
 */
export async function tellOwner(
  agent: Agent,
  sessionKey: string,
  run: Run,
  id: string,
  send: (to: ChannelOrigin, isElsewhere: boolean) => Promise<Delivered>,
): Promise<void> {
  try {
    const to = await findConversation(agent, sessionKey, run);
    if (to === "client") return;
    const sent = to && (await send(to, !isAt(run.origin, to)));
    if (!sent?.ok) log("approval.undelivered", { runId: run.runId, id });
  } catch (error) {
    logError("approval.undelivered", error, { runId: run.runId, id });
  }
}

/** Whether a receiver was found in the conversation of a run, which stays the same object. */
function isAt(origin: Run["origin"], { peer }: ChannelOrigin): boolean {
  return origin.kind === "channel" && origin.peer === peer;
}

async function findConversation(
  agent: Agent,
  sessionKey: string,
  run: Run,
): Promise<ChannelOrigin | "client" | undefined> {
  const { origin, task } = run;
  if (!task && isForClients(origin)) return "client";
  if (!task && origin.kind === "channel" && origin.peer.kind === "dm") {
    const found = await findReceiver(agent, origin, senderOf(run));
    return typeof found === "string" ? undefined : found;
  }
  return findOwner(agent.table, await agent.configuration.load({ fresh: true }), agentIdOf(sessionKey));
}

/** Says in the direct message that requests were set aside for a later message. */
export async function tellSetAside(
  agent: Agent,
  sessionKey: string,
  run: Run,
  requests: readonly WaitingRequest[],
): Promise<void> {
  const different = new Map(requests.map((one) => [one.approval.id, one.tool]));
  for (const [id, tool] of different) {
    const text = `Set aside: ${tool}, because you wrote something else.`;
    const aside = `ask:${id}:aside`;
    await tellOwner(agent, sessionKey, run, aside, (to, isElsewhere) =>
      agent.channels.deliver(to, aside, isElsewhere ? `${text}\n\n${aboutSession(sessionKey)}` : text),
    );
  }
}

/** Records requests as ended, and tells the clients and the messenger. Not the owner's answers: who answered has seen to that. */
export async function closeRequests(
  agent: Pick<Agent, "table" | "broadcast" | "channels">,
  where: Pick<SessionWriter, "sessionKey">,
  run: Pick<Run, "runId">,
  requests: readonly WaitingRequest[],
  state: Exclude<ApprovalState, "open">,
  answer?: ApprovalAnswer,
): Promise<void> {
  const different = [...new Map(requests.map((one) => [one.approval.id, one])).values()];
  for (const { approval } of different) {
    await settleRequest(agent.table, approval.id, state, answer);
    const stored = await readRequest(agent.table, approval.id);
    if (stored) await closeQuestions(agent.channels, stored, state);
  }
  await tellClients(agent, where, run, different, answer ? { state, answer } : { state });
}

/**
 * Shows in the messenger that nobody has answered requests of a step in time. The timer, which has recorded it, reaches no
 * messenger.
 */
export async function closeUnanswered(
  { table, channels }: Pick<Agent, "table" | "channels">,
  { decisions }: Pick<Run, "decisions">,
  outcomes: Outcomes,
): Promise<void> {
  const ids = Object.entries(decisions?.calls ?? {}).flatMap(([callId, { requestId }]) => {
    const outcome = outcomes.get(callId);
    const isUnanswered = typeof outcome === "object" && outcome.error === unansweredRequest.error;
    return requestId && isUnanswered ? [requestId] : [];
  });
  for (const id of new Set(ids)) {
    const stored = await readRequest(table, id);
    if (stored) await closeQuestions(channels, stored, "unanswered");
  }
}

/** Tells the clients how requests ended. */
export async function tellClients(
  { broadcast }: Pick<Agent, "broadcast">,
  { sessionKey }: Pick<SessionWriter, "sessionKey">,
  { runId }: Pick<Run, "runId">,
  requests: readonly WaitingRequest[],
  resolved: Pick<ApprovalResolved, "state" | "answer">,
): Promise<void> {
  if (requests.length === 0) return;
  const clients = await broadcast.clients();
  for (const { tool, approval } of requests)
    await broadcast.send(clients, "approval.resolved", {
      id: approval.id,
      sessionKey,
      runId,
      tool,
      ...resolved,
    });
}
