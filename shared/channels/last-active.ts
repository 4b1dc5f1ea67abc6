import type { Configuration } from "../configuration/schema.ts";
import type { LastActive } from "../protocol/agent-heartbeat.ts";
import type { Peer, Role } from "../protocol/channel-accounts.ts";
import { logError } from "../runtime/log.ts";
import { absent, any, below, set } from "../world/expression.ts";
import { type Item, type Key, succeeds, type Table } from "../world/world.ts";
import { ownValue } from "./account.ts";
import type { ChannelAddress, ChannelOrigin } from "./channel.ts";
import { senderRole } from "./inbound/sender-role.ts";

/** Minimum time between two writes for an agent whose place did not change, in milliseconds. */
const stepMs = 60_000;

/** An admitted message: its agent, sender and conversation. */
export interface Heard extends ChannelAddress {
  agentId: string;
  peer: Peer;
  senderId: string;
  role: Role;
}

/** The conversation of the last message on a channel. `timestamp` in epoch ms, accurate to a minute. */
interface Place {
  accountId: string;
  peer: Peer;
  timestamp: number;
}

/** The last places on one channel of an agent: of any sender, and of an owner's direct messages. */
interface Places {
  channel: string;
  last: Place;
  lastDirect?: Place & { senderId: string };
}

const partition = (agentId: string) => `ACTIVE#${agentId}`;

/**
 * Records the conversation where an agent last received a message. Each instance of a function writes at most once a minute
 * for each agent, unless the conversation changed. When two instances handle messages of two conversations within a minute,
 * either may be recorded as the last. The returned function does not throw.
 */
export function createLastActive(table: Table, now: () => number): (heard: Heard) => Promise<void> {
  const recorded = new Map<string, { place: string; at: number }>();
  return async ({ agentId, channel, accountId, peer, senderId, role }) => {
    const isDirect = role === "owner" && peer.kind === "dm";
    const place = JSON.stringify([channel, accountId, peer.kind, peer.id, isDirect && senderId]);
    const at = now();
    const before = recorded.get(agentId);
    if (before?.place === place && at - before.at < stepMs) return;
    recorded.set(agentId, { place, at });
    const last = { accountId, peer: { ...peer }, timestamp: at };
    const steps = [set("last", last), ...(isDirect ? [set("lastDirect", { ...last, senderId })] : [])];
    const isNewer = any(absent("last"), below(["last", "timestamp"], at));
    const key: Key = { pk: partition(agentId), sk: channel };
    await succeeds(table.update(key, steps, isNewer)).catch((error: unknown) => {
      recorded.delete(agentId);
      logError("active.unnoted", error, { agentId, channel });
    });
  };
}

/** The conversation where an agent last received a message from any sender; undefined before the first message. */
export async function readLastActive(table: Table, agentId: string): Promise<LastActive | undefined> {
  const places = (await readPlaces(table, agentId)).map(({ channel, last }) => ({ channel, ...last }));
  return newest(places);
}

/**
 * Where an agent can write to its owner unprompted: the conversation of the last direct message of a current owner, on one
 * channel or on any. Rooms and guests do not count, because others than the owner would read the message.
 */
export async function findOwner(
  table: Table,
  { channels }: Pick<Configuration, "channels">,
  agentId: string,
  onChannel?: string,
): Promise<ChannelOrigin | undefined> {
  const places = (await readPlaces(table, agentId)).flatMap(({ channel, lastDirect }) => {
    if (!lastDirect || (onChannel !== undefined && onChannel !== channel)) return [];
    const role = senderRole(channel, ownValue(channels, channel), lastDirect.senderId);
    return role === "owner" ? [{ channel, ...lastDirect }] : [];
  });
  const found = newest(places);
  if (!found) return undefined;
  const { channel, accountId, peer, senderId } = found;
  const owner = { agentId, ...(onChannel === undefined ? {} : { onChannel }) };
  return { kind: "channel", channel, accountId, peer, owner, whileOwner: { channel, senderId } };
}

async function readPlaces(table: Table, agentId: string): Promise<Places[]> {
  const items = await table.query({ pk: partition(agentId) });
  return items.map((item: Item) => ({ ...(item as unknown as Places), channel: String(item.sk) }));
}

function newest<T extends Place>(places: readonly T[]): T | undefined {
  return places.toSorted((a, b) => b.timestamp - a.timestamp)[0];
}
