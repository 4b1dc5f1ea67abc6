import { logError } from "../runtime/log.ts";
import { set } from "../world/expression.ts";
import type { Table } from "../world/world.ts";
import { ownValue } from "./account.ts";
import type { ChannelAddress, ChannelSender, Delivered } from "./channel.ts";
import { createLastActive, type Heard } from "./last-active.ts";

/** Minimum time between two writes of an account's `lastMessageAt`, in milliseconds. */
const stepMs = 60_000;

/** TTL of an account's activity record, in seconds. */
const keptSeconds = 90 * 86_400;

/** An account's activity. Times in epoch ms. */
export interface AccountActivity {
  startedAt?: number;
  /** Accurate to a minute. */
  lastMessageAt?: number;
  /** The last delivery failure. */
  lastError?: string;
  lastErrorAt?: number;
}

/** Records the last activity of each account and agent. Its methods do not throw. */
export interface Activity {
  /** Records an admitted message for its account and for its agent. */
  message(heard: Heard): Promise<void>;
  failure(address: ChannelAddress, reason: string): Promise<void>;
  started(address: ChannelAddress): Promise<void>;
}

const partition = "CHANNEL";
const keyOf = ({ channel, accountId }: ChannelAddress) => ({ pk: partition, sk: `${channel}#${accountId}` });

export function createActivity(table: Table, now: () => number): Activity {
  const recordedAt = new Map<string, number>();
  const record = async (address: ChannelAddress, fields: AccountActivity) => {
    const expiresAt = Math.floor(now() / 1000) + keptSeconds;
    const values = Object.entries({ ...fields, expiresAt }).map(([name, value]) => set(name, value));
    await table.update(keyOf(address), values).catch((error: unknown) => {
      logError("channel.unnoted", error, { ...address });
    });
  };
  const recordMessage = async (address: ChannelAddress) => {
    const { sk } = keyOf(address);
    if (now() - (recordedAt.get(sk) ?? 0) < stepMs) return;
    recordedAt.set(sk, now());
    await record(address, { lastMessageAt: now() });
  };
  const recordActive = createLastActive(table, now);
  return {
    message: async (heard) => void (await Promise.all([recordMessage(heard), recordActive(heard)])),
    failure: (address, reason) => record(address, { lastError: reason, lastErrorAt: now() }),
    started: (address) => record(address, { startedAt: now() }),
  };
}

/** Wraps a sender so that it also records delivery failures. */
export function recordFailures(sender: ChannelSender, activity: Activity): ChannelSender {
  const recorded = async (origin: ChannelAddress, delivered: Delivered) => {
    if (!delivered.ok) await activity.failure(addressOf(origin), delivered.reason);
    return delivered;
  };
  return {
    ...sender,
    deliver: async (origin, ...rest) => recorded(origin, await sender.deliver(origin, ...rest)),
    ask: async (origin, ...rest) => recorded(origin, await sender.ask(origin, ...rest)),
  };
}

function addressOf({ channel, accountId }: ChannelAddress): ChannelAddress {
  return { channel, accountId };
}

/** Reads the activity of all accounts; the returned function gives the activity of one account. */
export async function readActivity(
  table: Table,
  now: number,
): Promise<(address: ChannelAddress) => AccountActivity> {
  const items = await table.query({ pk: partition });
  const current = items.filter(({ expiresAt }) => Number(expiresAt) > now / 1000);
  const found = Object.fromEntries(current.map((item) => [String(item.sk), item]));
  return (address) => ownValue(found, keyOf(address).sk) ?? {};
}

/** Deletes an account's activity record. */
export async function forgetActivity(table: Table, address: ChannelAddress): Promise<void> {
  await table.delete(keyOf(address));
}
