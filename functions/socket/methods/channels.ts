import { randomUUID } from "node:crypto";
import { ownValue } from "../../../shared/channels/account.ts";
import { statusOf } from "../../../shared/channels/account-status.ts";
import { findChannel, removeAccount, startAccount, stopAccount } from "../../../shared/channels/accounts.ts";
import { readActivity } from "../../../shared/channels/activity.ts";
import type { ChannelOrigin } from "../../../shared/channels/channel.ts";
import { code, PeerError } from "../../../shared/protocol/errors.ts";
import type { Gateway, MethodTable } from "../gateway.ts";

type ChannelMethod =
  | "channels.list"
  | "channel.start"
  | "channel.stop"
  | "channel.status"
  | "channel.login"
  | "channel.logout"
  | "channel.remove"
  | "channel.test";

const noLogin = async (_gateway: Gateway, { channel }: { channel: string }): Promise<never> => {
  const message = `${channel} has no login: its credentials are given by channel.start, or \`gsv channel add ${channel}\``;
  throw new PeerError(code.badRequest, message);
};

export const channelMethods: Pick<MethodTable, ChannelMethod> = {
  "channels.list": {
    modes: ["client"],
    handle: listChannels,
  },
  "channel.start": {
    modes: ["client"],
    scope: "admin",
    async handle(gateway, { config, ...address }) {
      return { ok: true, ...address, ...(await startAccount(gateway, address, config)) };
    },
  },
  "channel.stop": {
    modes: ["client"],
    scope: "admin",
    async handle(gateway, address) {
      await stopAccount(gateway, address);
      return { ok: true, ...address };
    },
  },
  "channel.status": {
    modes: ["client"],
    async handle(gateway, { channel, accountId }) {
      const found = findChannel(gateway, channel);
      const { channels } = await gateway.configuration.load({ fresh: true });
      const ids = Object.keys(ownValue(channels, channel)?.accounts ?? {});
      const asked = accountId === undefined ? ids : ids.filter((id) => id === accountId);
      if (accountId !== undefined && asked.length === 0)
        throw new PeerError(code.notFound, `there is no account ${accountId} of ${channel}`);
      return { channel, accounts: await Promise.all(asked.map((id) => statusOf(gateway, found, id))) };
    },
  },
  "channel.login": { modes: ["client"], scope: "admin", handle: noLogin },
  "channel.logout": { modes: ["client"], scope: "admin", handle: noLogin },
  "channel.remove": {
    modes: ["client"],
    scope: "admin",
    async handle(gateway, address) {
      await removeAccount(gateway, address);
      return { removed: true, ...address };
    },
  },
  "channel.test": {
    modes: ["client"],
    scope: "admin",
    async handle(gateway, { channel, accountId, to, peerKind, text }) {
      const origin: ChannelOrigin = { kind: "channel", channel, accountId, peer: { kind: peerKind, id: to } };
      const delivered = await gateway.sender.deliver(origin, `test:${randomUUID()}`, text);
      return delivered.ok
        ? { ok: true, channel, accountId }
        : { ok: false, channel, accountId, error: delivered.reason };
    },
  },
};

/** Every account that is configured. */
async function listChannels({ configuration, table, now }: Gateway) {
  const [{ channels }, activityOf] = await Promise.all([
    configuration.load({ fresh: true }),
    readActivity(table, now()),
  ]);
  const entries = Object.entries(channels).flatMap(([channel, { accounts = {} }]) =>
    Object.entries(accounts).map(([accountId, { enabled }]) => {
      const { startedAt = 0, lastMessageAt } = activityOf({ channel, accountId });
      return {
        channel,
        accountId,
        connectedAt: startedAt,
        ...(lastMessageAt === undefined ? {} : { lastMessageAt }),
        stopped: enabled === false,
      };
    }),
  );
  return { channels: entries, count: entries.length };
}
