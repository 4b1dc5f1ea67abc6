import { randomUUID } from "node:crypto";
import { accountSettings, isOwnAccount, ownValue } from "../../../shared/channels/account.ts";
import { bridgeStatusOf, statusOf } from "../../../shared/channels/account-status.ts";
import {
  findChannel,
  noAccount,
  removeAccount,
  startAccount,
  startBridge,
  stopAccount,
} from "../../../shared/channels/accounts.ts";
import { readActivity } from "../../../shared/channels/activity.ts";
import type { ChannelAddress, ChannelOrigin } from "../../../shared/channels/channel.ts";
import { listRequests, type PairingRequest } from "../../../shared/channels/inbound/pairing.ts";
import type { AccountStatus, PairEntry } from "../../../shared/protocol/channel-accounts.ts";
import { code, type MissingScope, PeerError } from "../../../shared/protocol/errors.ts";
import type { Results } from "../../../shared/protocol/results.ts";
import { approveSender, rejectSender } from "../approval.ts";
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
  const message = `${channel} has no login: \`gsv channel add ${channel}\` sets its credentials (channel.start), \`gsv channel remove ${channel}\` deletes them`;
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
      if (config === undefined && (await startBridge(gateway, address))) return { ok: true, ...address };
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
      const all = await statusesOf(gateway, channel);
      if (accountId === undefined) return { channel, accounts: all };
      const accounts = all.filter((account) => account.accountId === accountId);
      if (accounts.length === 0) throw noAccount(gateway, { channel, accountId });
      return { channel, accounts };
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

/** The statuses of a channel's accounts. @throws PeerError 404 for a channel that is not built in and has no bridge */
async function statusesOf(gateway: Gateway, name: string): Promise<AccountStatus[]> {
  const found = ownValue(gateway.channels, name);
  const [{ channels }, known] = await Promise.all([
    gateway.configuration.load({ fresh: true }),
    gateway.bridges.list(),
  ]);
  const accounts = Object.entries(ownValue(channels, name)?.accounts ?? {});
  const own = accounts.filter(([, settings]) => isOwnAccount(found, settings)).map(([id]) => id);
  const bridges = known.filter(({ channel, accountId }) => channel === name && !own.includes(accountId));
  if (!found && bridges.length === 0) findChannel(gateway, name);
  return Promise.all([
    ...(found ? own.map((id) => statusOf(gateway, found, id)) : []),
    ...bridges.map((bridge) => bridgeStatusOf(gateway, bridge)),
  ]);
}

/** Lists all accounts: the gateway's own and those of bridges. */
async function listChannels({
  configuration,
  channels,
  bridges,
  table,
  now,
}: Gateway): Promise<Results["channels.list"]> {
  const [loaded, activityOf, known] = await Promise.all([
    configuration.load({ fresh: true }),
    readActivity(table, now()),
    bridges.list(),
  ]);
  const settingsOf = (address: ChannelAddress) => accountSettings(loaded, address);
  const isOwn = (address: ChannelAddress) =>
    isOwnAccount(ownValue(channels, address.channel), settingsOf(address));
  const own = Object.entries(loaded.channels)
    .flatMap(([channel, { accounts = {} }]) =>
      Object.keys(accounts).map((accountId) => ({ channel, accountId })),
    )
    .filter(isOwn)
    .map((address) => ({ ...address, connectedAt: activityOf(address).startedAt ?? 0 }));
  const bridged = known
    .filter((bridge) => !isOwn(bridge))
    .map(({ channel, accountId, connectedAt = 0 }) => ({
      channel,
      accountId,
      connectedAt,
      bridge: true as const,
    }));
  const entries = [...own, ...bridged].map((entry) => {
    const { lastMessageAt } = activityOf(entry);
    const stopped = settingsOf(entry)?.enabled === false;
    return { ...entry, ...(lastMessageAt === undefined ? {} : { lastMessageAt }), stopped };
  });
  return { channels: entries, count: entries.length };
}

/** Characters of a held message that `pair.list` returns. */
const shownCharacters = 200;

export const pairingMethods: Pick<MethodTable, "pair.list" | "pair.approve" | "pair.reject"> = {
  "pair.list": {
    modes: ["client"],
    scope: "admin",
    forDevices: true,
    async handle({ table, now }) {
      const requests = await listRequests(table, now());
      return { pairs: Object.fromEntries(requests.map((request) => [nameOf(request), pairEntry(request)])) };
    },
  },
  "pair.approve": {
    modes: ["client"],
    scope: "admin",
    forDevices: true,
    async handle(gateway, applicant, { caller }) {
      if (applicant.owner && !caller.scopes.includes("admin"))
        throw new PeerError(code.forbidden, "owner: needs a token with the scope admin", {
          details: { scope: "admin" } satisfies MissingScope,
        });
      return { approved: true, ...(await approveSender(gateway, applicant)) };
    },
  },
  "pair.reject": {
    modes: ["client"],
    scope: "admin",
    forDevices: true,
    handle: async (gateway, applicant) => ({ rejected: true, ...(await rejectSender(gateway, applicant)) }),
  },
};

function nameOf({ channel, accountId, senderId }: PairingRequest): string {
  return `${channel}:${accountId}:${senderId}`;
}

function pairEntry({ message, eventId: _eventId, ...request }: PairingRequest): PairEntry {
  if (!message) return request;
  const shown = message.text.slice(0, shownCharacters).toWellFormed();
  return { ...request, message: shown, firstMessage: shown };
}
