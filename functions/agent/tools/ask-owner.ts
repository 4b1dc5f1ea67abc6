import { createHash } from "node:crypto";
import { putRequest, settleRequest } from "../../../shared/approvals/requests.ts";
import type { ChannelOrigin } from "../../../shared/channels/channel.ts";
import { findOwner } from "../../../shared/channels/last-active.ts";
import { findReceiver } from "../../../shared/channels/receiver.ts";
import { durationMs } from "../../../shared/configuration/duration.ts";
import type { Approval, ApprovalAnswer, ApprovalState } from "../../../shared/protocol/approvals.ts";
import { showHidden } from "../../../shared/runtime/hidden-characters.ts";
import { log, logError } from "../../../shared/runtime/log.ts";
import { agentIdOf } from "../../../shared/session/key/session-key.ts";
import { type Run, senderOf } from "../../../shared/session/run.ts";
import type { WaitingRequest } from "../../../shared/session/waiting.ts";
import type { Agent } from "../agent.ts";
import type { ConnectedPeers } from "../context/connected-peers.ts";
import type { TurnContext } from "../context/model-request.ts";
import type { SessionWriter } from "../session-writer.ts";

/** Max characters of a call's arguments in a direct message. */
const maxShown = 1500;

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
      tellOwner(agent, sessionKey, run, isReminder ? `ask:${id}:again` : `ask:${id}`, textOf(request)),
    ]);
  }
}

function reminderName(id: string): string {
  return `approval-${createHash("sha256").update(id).digest("hex").slice(0, 40)}`;
}

/**
 * Writes to the owner: in the direct message that a run answers, or, for a task and in a room, where an owner last wrote
 * directly. Others may read the answer of a task and a room, but no request.
 */
async function tellOwner(
  agent: Agent,
  sessionKey: string,
  run: Run,
  id: string,
  text: string,
): Promise<void> {
  try {
    const to = await findConversation(agent, sessionKey, run);
    if (to === "client") return;
    const told = to && run.origin !== to ? `${text}\n\nThis is about ${sessionKey}.` : text;
    const sent = to && (await agent.channels.deliver(to, id, told));
    if (!sent?.ok) log("approval.undelivered", { runId: run.runId, id });
  } catch (error) {
    logError("approval.undelivered", error, { runId: run.runId, id });
  }
}

async function findConversation(
  agent: Agent,
  sessionKey: string,
  run: Run,
): Promise<ChannelOrigin | "client" | undefined> {
  const { origin, task } = run;
  if (!task && origin.kind === "client") return "client";
  if (!task && origin.kind === "channel" && origin.peer.kind === "dm") {
    const found = await findReceiver(agent, origin, senderOf(run));
    return typeof found === "string" ? undefined : found;
  }
  return findOwner(agent.table, await agent.configuration.load({ fresh: true }), agentIdOf(sessionKey));
}

function textOf({ id, tool, args, why, until, createdAt }: Approval): string {
  const text = showHidden(typeof args.command === "string" ? args.command : JSON.stringify(args, null, 1));
  const isCut = text.length > maxShown;
  const hours = Math.round((until - createdAt) / 360_000) / 10;
  return [
    `May I use ${tool}? I ask because ${why}.`,
    isCut
      ? `${text.slice(0, maxShown).toWellFormed()}\n… (cut: see the whole with \`gsv approvals show ${id}\`)`
      : text,
    `Answer with \`gsv approvals allow ${id}\` or \`gsv approvals deny ${id}\` within ${hours} h.`,
  ].join("\n\n");
}

/** Says in the direct message that requests were set aside for a later message. */
export async function tellSetAside(
  agent: Agent,
  sessionKey: string,
  run: Run,
  requests: readonly WaitingRequest[],
): Promise<void> {
  const different = new Map(requests.map((one) => [one.approval.id, one.tool]));
  for (const [id, tool] of different)
    await tellOwner(
      agent,
      sessionKey,
      run,
      `ask:${id}:aside`,
      `Set aside: ${tool}, because you wrote something else.`,
    );
}

/** Records requests as ended, and tells the clients. Not the owner's answers: who answered has seen to that. */
export async function closeRequests(
  agent: Pick<Agent, "table" | "broadcast">,
  { sessionKey }: Pick<SessionWriter, "sessionKey">,
  { runId }: Pick<Run, "runId">,
  requests: readonly WaitingRequest[],
  state: Exclude<ApprovalState, "open">,
  answer?: ApprovalAnswer,
): Promise<void> {
  const different = new Map(requests.map((one) => [one.approval.id, one]));
  if (different.size === 0) return;
  const clients = await agent.broadcast.clients();
  const resolved = answer ? { state, answer } : { state };
  for (const [id, { tool }] of different) {
    await settleRequest(agent.table, id, state, answer);
    await agent.broadcast.send(clients, "approval.resolved", { id, sessionKey, runId, tool, ...resolved });
  }
}
