import { findOwner } from "../channels/last-active.ts";
import type { Configuration } from "../configuration/schema.ts";
import type { CronSpec } from "../protocol/cron.ts";
import type { Origin } from "../session/inbox-entry.ts";
import { cronSessionKey, mainSessionKey } from "../session/key/session-key.ts";
import type { Table } from "../world/world.ts";
import type { StoredJob } from "./job-item.ts";

/** The destinations of a run's message and of its answer. */
export interface Destination {
  sessionKey: string;
  origin: Origin;
  /** Where the answer goes, in words. */
  answer: string;
  /** Why the answer cannot be delivered although the job requires it. */
  fault?: string;
}

type Place = Extract<Origin, { kind: "channel" }>;
type TaskSpec = Extract<CronSpec, { mode: "task" }>;

/**
 * The session of a job's run and the receiver of its answer. Connected clients see every run. The answer to an event goes to
 * the direct conversation where a current owner last wrote to the agent. A task's answer goes to the channel that the job
 * names, or to that conversation.
 */
export async function destinationOf(
  table: Table,
  configuration: Configuration,
  { id, agentId, spec }: Pick<StoredJob, "id" | "agentId" | "spec">,
): Promise<Destination> {
  const mainKey = mainSessionKey(agentId, configuration.session.mainKey);
  const sessionKey = spec.mode === "task" ? cronSessionKey(agentId, id) : mainKey;
  const toClients: Destination = {
    sessionKey,
    origin: { kind: "client" },
    answer: "its answer goes to clients",
  };
  if (spec.mode === "systemEvent") {
    const last = await findOwner(table, configuration, agentId);
    // A person who becomes an owner before the answer is there receives it.
    return last
      ? toChannel(sessionKey, last)
      : { ...toClients, origin: { kind: "client", owner: { agentId } } };
  }
  if (spec.deliver === false) return { ...toClients, answer: "its answer stays in the session" };
  const isNamed = spec.channel !== undefined || spec.to !== undefined;
  if (!isNamed && spec.deliver === undefined) return toClients;
  const chosen = await channelOf(table, configuration, agentId, spec);
  if (typeof chosen !== "string") return toChannel(sessionKey, chosen);
  return spec.bestEffortDeliver ? toClients : { ...toClients, fault: chosen };
}

function toChannel(sessionKey: string, origin: Place): Destination {
  const account = origin.accountId === "default" ? "" : ` (account ${origin.accountId})`;
  const answer = `its answer goes to ${origin.channel} ${origin.peer.id}${account}`;
  return { sessionKey, origin: { ...origin, sessionKey }, answer };
}

/** The channel for a task's answer, or why it is unknown. */
async function channelOf(
  table: Table,
  configuration: Configuration,
  agentId: string,
  spec: TaskSpec,
): Promise<Place | string> {
  const { channel, to, accountId, peerKind = "dm" } = spec;
  const isNamed = channel !== undefined && channel !== "last";
  if (isNamed && to !== undefined)
    return { kind: "channel", channel, accountId: accountId ?? "default", peer: { kind: peerKind, id: to } };
  const last = await findOwner(table, configuration, agentId, isNamed ? channel : undefined);
  if (!last) {
    const where = isNamed ? `on ${channel}: name to` : "on any channel: name channel and to";
    return `no owner has written to the agent in a direct message ${where}`;
  }
  if (to === undefined) return last;
  return {
    kind: "channel",
    channel: last.channel,
    accountId: last.accountId,
    peer: { kind: peerKind, id: to },
  };
}
