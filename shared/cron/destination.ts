import type { Configuration } from "../configuration/schema.ts";
import type { CronSpec } from "../protocol/cron.ts";
import type { Origin } from "../session/inbox-entry.ts";
import { cronSessionKey, mainSessionKey } from "../session/key/session-key.ts";
import { readSession } from "../session/sessions.ts";
import type { Table } from "../world/world.ts";
import type { StoredJob } from "./job-item.ts";

/** Where the message of a job's run goes, and its answer. */
export interface Destination {
  sessionKey: string;
  origin: Origin;
  /** In words: where the answer goes. */
  answer: string;
  /** Why the answer can go nowhere although it should. */
  fault?: string;
}

type LastChannel = Extract<Origin, { kind: "channel" }>;
type TaskSpec = Extract<CronSpec, { mode: "task" }>;

/**
 * The session of a job's run and the receiver of its answer. Connected clients see every run. An event's answer goes where
 * the main session was last held on a channel. A task's goes to the channel that the job names, or to the last one.
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
    const last = await lastChannel(table, mainKey);
    return last ? toChannel(sessionKey, last) : toClients;
  }
  if (spec.deliver === false) return { ...toClients, answer: "its answer stays in the session" };
  const isNamed = spec.channel !== undefined || spec.to !== undefined;
  if (!isNamed && spec.deliver === undefined) return toClients;
  const chosen = await channelOf(table, mainKey, spec);
  if (typeof chosen !== "string") return toChannel(sessionKey, chosen);
  return spec.bestEffortDeliver ? toClients : { ...toClients, fault: chosen };
}

function toChannel(sessionKey: string, origin: LastChannel): Destination {
  const account = origin.accountId === "default" ? "" : ` (account ${origin.accountId})`;
  const answer = `its answer goes to ${origin.channel} ${origin.peer.id}${account}`;
  return { sessionKey, origin: { ...origin, sessionKey }, answer };
}

/** The channel that a task's answer goes to; a text when it is not known. */
async function channelOf(table: Table, mainKey: string, spec: TaskSpec): Promise<LastChannel | string> {
  const { channel, to, accountId, peerKind = "dm" } = spec;
  const isNamed = channel !== undefined && channel !== "last";
  if (isNamed && to !== undefined)
    return { kind: "channel", channel, accountId: accountId ?? "default", peer: { kind: peerKind, id: to } };
  const last = await lastChannel(table, mainKey);
  if (!last) return "the agent's main session was held on no channel yet: name channel and to";
  if (isNamed && channel !== last.channel)
    return `the agent's main session was last held on ${last.channel}, not on ${channel}: name to`;
  return to === undefined ? last : { ...last, peer: { kind: peerKind, id: to } };
}

/** Where the main session, which only owners write in, was last held on a channel. */
async function lastChannel(table: Table, mainKey: string): Promise<LastChannel | undefined> {
  const last = (await readSession(table, mainKey))?.lastChannel;
  if (!last) return undefined;
  const { replyToId: _answered, context: _context, ...origin } = last;
  return origin;
}
