import { logError } from "../runtime/log.ts";
import { set } from "../world/expression.ts";
import type { Table } from "../world/world.ts";
import { ownValue } from "./account.ts";
import type { ChannelAddress, ChannelSender } from "./channel.ts";

/**
 * How often the time of the last message is written for an account, in milliseconds: it is only information.
 */
const stepMs = 60_000;

/** How long what happened is remembered, in seconds. */
const keptSeconds = 90 * 86_400;

/** What is remembered of an account besides its configuration. Times in epoch ms. */
export interface AccountActivity {
  startedAt?: number;
  /** To the minute. */
  lastMessageAt?: number;
  /** Why a message of the agent's was last not delivered. */
  lastError?: string;
  lastErrorAt?: number;
}

/**
 * Keeps what happened last on each account. Best effort: nothing is ever thrown, and nothing depends on it.
 */
export interface Activity {
  message(address: ChannelAddress): Promise<void>;
  failure(address: ChannelAddress, reason: string): Promise<void>;
  started(address: ChannelAddress): Promise<void>;
}

const partition = "CHANNEL";
const keyOf = ({ channel, accountId }: ChannelAddress) => ({ pk: partition, sk: `${channel}#${accountId}` });

export function createActivity(table: Table, now: () => number): Activity {
  const noted = new Map<string, number>();
  const note = async (address: ChannelAddress, fields: AccountActivity) => {
    const expiresAt = Math.floor(now() / 1000) + keptSeconds;
    const values = Object.entries({ ...fields, expiresAt }).map(([name, value]) => set(name, value));
    await table.update(keyOf(address), values).catch((error: unknown) => {
      logError("channel.unnoted", error, { ...address });
    });
  };
  return {
    async message(address) {
      const { sk } = keyOf(address);
      if (now() - (noted.get(sk) ?? 0) < stepMs) return;
      noted.set(sk, now());
      await note(address, { lastMessageAt: now() });
    },
    failure: (address, reason) => note(address, { lastError: reason, lastErrorAt: now() }),
    started: (address) => note(address, { startedAt: now() }),
  };
}

/** A sender that keeps why a delivery failed. */
export function noteFailures(sender: ChannelSender, activity: Activity): ChannelSender {
  return {
    ...sender,
    async deliver(origin, ...rest) {
      const delivered = await sender.deliver(origin, ...rest);
      if (!delivered.ok) await activity.failure(addressOf(origin), delivered.reason);
      return delivered;
    },
  };
}

function addressOf({ channel, accountId }: ChannelAddress): ChannelAddress {
  return { channel, accountId };
}

/** What is remembered of an account, for every account there is. */
export async function readActivity(
  table: Table,
  now: number,
): Promise<(address: ChannelAddress) => AccountActivity> {
  const items = await table.query({ pk: partition });
  const current = items.filter(({ expiresAt }) => Number(expiresAt) > now / 1000);
  const found = Object.fromEntries(current.map((item) => [String(item.sk), item]));
  return (address) => ownValue(found, keyOf(address).sk) ?? {};
}

/** Forgets an account. */
export async function forgetActivity(table: Table, address: ChannelAddress): Promise<void> {
  await table.delete(keyOf(address));
}
