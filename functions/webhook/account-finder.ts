import { type AccountLookup, accountSettings, lookUpAccount } from "../../shared/channels/account.ts";
import type { Channel } from "../../shared/channels/channel.ts";
import type { Configuration } from "../../shared/configuration/schema.ts";
import type { CachedSecrets } from "../../shared/configuration/secret-cache.ts";
import type { ConfigurationStore } from "../../shared/configuration/store.ts";

/** Min time between two reads of the configuration for one unknown account, in milliseconds. */
const unknownMs = 30_000;

/**
 * Max unknown accounts for which the configuration is read in `unknownMs`. Enough for an owner who adds several accounts in
 * a minute: the first request must find each.
 */
const maxUnknown = 20;

/** Min time between two reads of configuration and secrets after wrong signatures, in milliseconds. */
const mismatchMs = 10_000;

/**
 * Finds the accounts that requests name. Anybody can send requests, so the reads that requests without a valid signature
 * cause are limited, for all accounts together.
 */
export interface AccountFinder {
  /**
   * The account, even if it is stopped. An unknown account is looked up in the newest configuration, but at most once in
   * 30 s, and at most 20 accounts in 30 s.
   */
  find(channel: Channel, accountId: string): Promise<AccountLookup>;
  /** The account in the newest configuration. For requests with a valid signature. */
  findNewest(channel: Channel, accountId: string): Promise<AccountLookup>;
  /**
   * After a wrong signature: the account with its newest settings and secrets, which may just have been replaced. Undefined
   * when this was done less than 10 s ago.
   */
  findAgain(channel: Channel, accountId: string): Promise<AccountLookup | undefined>;
}

interface FinderOptions {
  configuration: Pick<ConfigurationStore, "load" | "version">;
  secrets: CachedSecrets;
  /** Epoch milliseconds. */
  now: () => number;
}

export function createAccountFinder({ configuration, secrets, now }: FinderOptions): AccountFinder {
  const mayReadUnknown = oncePerName(unknownMs, maxUnknown, now);
  const mayReadMismatch = atMostEach(mismatchMs, now);
  const lookIn = (loaded: Configuration, channel: Channel, accountId: string) =>
    lookUpAccount(channel, accountId, loaded, secrets, { stopped: true });
  return {
    async find(channel, accountId) {
      const isFirst = configuration.version() === undefined;
      const seen = await configuration.load({ anyAge: true });
      const isKnown = accountSettings(seen, { channel: channel.name, accountId }) !== undefined;
      const found = await lookIn(isKnown ? await configuration.load() : seen, channel, accountId);
      // The first request of a function has just read the newest configuration.
      if (found.ok || isFirst || !mayReadUnknown(`${channel.name}/${accountId}`)) return found;
      return lookIn(await configuration.load({ fresh: true }), channel, accountId);
    },
    findNewest: async (channel, accountId) =>
      lookIn(await configuration.load({ fresh: true }), channel, accountId),
    async findAgain(channel, accountId) {
      if (!mayReadMismatch()) return undefined;
      const newest = await configuration.load({ fresh: true });
      secrets.forget();
      return lookIn(newest, channel, accountId);
    },
  };
}

/** Creates a function that returns true at most once in this time. Milliseconds. */
function atMostEach(intervalMs: number, now: () => number): () => boolean {
  let last = Number.NEGATIVE_INFINITY;
  return () => {
    if (now() - last < intervalMs) return false;
    last = now();
    return true;
  };
}

/** Creates a function that returns true at most once for each name, and for at most `maxNames` names, in this time. */
function oncePerName(intervalMs: number, maxNames: number, now: () => number): (name: string) => boolean {
  const answered = new Map<string, number>();
  return (name) => {
    for (const [other, at] of answered) if (now() - at >= intervalMs) answered.delete(other);
    if (answered.has(name) || answered.size >= maxNames) return false;
    answered.set(name, now());
    return true;
  };
}
