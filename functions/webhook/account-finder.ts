import { type AccountLookup, accountSettings, lookUpAccount } from "../../shared/channels/account.ts";
import type { Channel } from "../../shared/channels/channel.ts";
import type { Configuration } from "../../shared/configuration/schema.ts";
import type { CachedSecrets } from "../../shared/configuration/secret-cache.ts";
import type { ConfigurationStore } from "../../shared/configuration/store.ts";

/** Shortest time between two reads of the configuration for accounts that are unknown, in milliseconds. */
const unknownMs = 30_000;

/** Shortest time between two reads of configuration and secrets after wrong signatures, in milliseconds. */
const mismatchMs = 10_000;

/**
 * Finds the accounts that requests name. Anybody can send requests, so there is a limit to the reads that
 * requests without a valid signature cause, over all accounts.
 */
export interface AccountFinder {
  /**
   * The account, also when it is stopped. An unknown or stopped account is looked up in the newest
   * configuration at most once in 30 s.
   */
  find(channel: Channel, accountId: string): Promise<AccountLookup>;
  /**
   * After a wrong signature: the account with its newest settings and secrets, which may have been replaced a
   * moment ago. Undefined when this was done less than 10 s ago.
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
  const mayReadUnknown = atMostEach(unknownMs, now);
  const mayReadMismatch = atMostEach(mismatchMs, now);
  const lookIn = (loaded: Configuration, channel: Channel, accountId: string) =>
    lookUpAccount(channel, accountId, loaded, secrets, { stopped: true });
  return {
    async find(channel, accountId) {
      const isFirst = configuration.version() === undefined;
      const seen = await configuration.load({ anyAge: true });
      const isKnown = accountSettings(seen, { channel: channel.name, accountId }) !== undefined;
      const found = await lookIn(isKnown ? await configuration.load() : seen, channel, accountId);
      const isRunning = found.ok && found.account.settings.enabled !== false;
      // The first request of a function has just read the newest configuration.
      if (isRunning || !mayReadUnknown() || isFirst) return found;
      return lookIn(await configuration.load({ fresh: true }), channel, accountId);
    },
    async findAgain(channel, accountId) {
      if (!mayReadMismatch()) return undefined;
      const newest = await configuration.load({ fresh: true });
      secrets.forget();
      return lookIn(newest, channel, accountId);
    },
  };
}

/** A function that answers true once, and again only after this time, in milliseconds. */
function atMostEach(intervalMs: number, now: () => number): () => boolean {
  let last = Number.NEGATIVE_INFINITY;
  return () => {
    if (now() - last < intervalMs) return false;
    last = now();
    return true;
  };
}
