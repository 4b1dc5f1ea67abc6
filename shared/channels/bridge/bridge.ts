import { randomUUID } from "node:crypto";
import { kindOfMedia } from "../../media/media-types.ts";
import type { Payloads } from "../../peers/payloads.ts";
import { forgetPeer, listPeers, type PeerRecord, readPeer } from "../../peers/registry.ts";
import type { ChannelOutbound } from "../../protocol/events.ts";
import { eventFrame } from "../../protocol/frames.ts";
import { log, logError } from "../../runtime/log.ts";
import type { Item, Sockets, Table } from "../../world/world.ts";
import { ownValue } from "../account.ts";
import type { Activity } from "../activity.ts";
import type { ChannelAddress, Destination, OutboundChannel, OutboundFile, SendOutcome } from "../channel.ts";
import {
  claimMessage,
  dropMessage,
  isDue,
  type KeptFile,
  type KeptOutbound,
  keepMessage,
  listWaiting,
  maxWaiting,
  unclaimMessage,
} from "./bridge-outbox.ts";

/**
 * What a bridge announces in `connect` when it says of each message that it has taken it
 * (`channel.delivered`).
 */
export const receiptCapability = "channel-receipts";

/** How long a bridge is known after it last attached, in seconds. */
const knownSeconds = 90 * 86_400;

/**
 * Longest text of one message where the platform is none that is known here: with all its escapes it fits a
 * frame.
 */
const maxText = 16_000;

/** An account that a bridge has attached for. Times in epoch ms. */
export interface BridgeRecord extends ChannelAddress {
  /** Last. */
  attachedAt: number;
  /** Absent while it is away. */
  connectedAt?: number;
}

/**
 * The bridges of accounts that are not the gateway's own: programs that attach over the socket, in mode
 * `channel`.
 */
export interface Bridges {
  /** The channel by which an account's bridge is spoken to; undefined where none has attached for months. */
  find(address: ChannelAddress): Promise<OutboundChannel | undefined>;
  /** A bridge has attached: it is sent what waits for it. */
  attached(address: ChannelAddress): Promise<void>;
  /** The bridge has taken a message, or says why its platform does not. False for one that does not wait. */
  delivered(address: ChannelAddress, id: string, error?: string): Promise<boolean>;
  /** Every bridge that is known. */
  list(): Promise<BridgeRecord[]>;
  /** How many messages wait for a bridge. */
  waiting(address: ChannelAddress): Promise<number>;
  /** Forgets a bridge, and what waits for it. */
  forget(address: ChannelAddress): Promise<void>;
}

export interface BridgeOptions {
  table: Table;
  sockets: Pick<Sockets, "post">;
  activity: Activity;
  payloads: Pick<Payloads, "keepFile" | "fileUrl">;
  /** Longest texts of the platforms that are known here. */
  limits: Readonly<Record<string, { maxText: number }>>;
  now: () => number;
}

/** The one bridge of an account has this id among the peers in mode `channel`. */
export function bridgeId({ channel, accountId }: ChannelAddress): string {
  return `${channel}:${accountId}`;
}

/**
 * Speaks to bridges. A message is kept before it is sent, and goes once the bridge has said that it took it;
 * where a bridge does not say so, once it was sent. What was sent on a connection that then ended is sent
 * again on the next.
 */
export function openBridges(options: BridgeOptions): Bridges {
  const { table, activity, limits, now } = options;
  const isKnown = (item: Item | undefined) => Number(item?.expiresAt) > now() / 1000;
  return {
    async find({ channel, accountId }) {
      const address = { channel, accountId };
      if (!isKnown(await table.get(keyOf(address)))) return undefined;
      return {
        name: channel,
        maxText: ownValue(limits, channel)?.maxText ?? maxText,
        send: (_account, { text, ...to }) => send(options, address, to, { text }),
        sendFile: async (_account, { file, ...to }) =>
          send(options, address, to, { text: "", media: [await keepFile(options, file)] }),
        typing: (_account, { peer }) => showTyping(options, address, peer, true),
      };
    },
    async attached(address) {
      const expiresAt = Math.floor(now() / 1000) + knownSeconds;
      await table.put({ ...address, attachedAt: now(), expiresAt, ...keyOf(address) });
      await sendWaiting(options, address);
    },
    async delivered(address, id, error) {
      if (!(await dropMessage(table, address, id))) return false;
      log("bridge.delivered", { ...address, deliveryId: id, reason: error });
      if (error !== undefined) await activity.failure(address, error);
      return true;
    },
    async list() {
      const [known, peers] = await Promise.all([
        table.query({ pk: partition }),
        listPeers(table, "channel", now()),
      ]);
      return known.filter(isKnown).map((item) => {
        const address = { channel: String(item.channel), accountId: String(item.accountId) };
        const peer = peers.find(({ id }) => id === bridgeId(address));
        const connected = peer ? { connectedAt: peer.connectedAt } : {};
        return { ...address, attachedAt: Number(item.attachedAt), ...connected };
      });
    },
    waiting: async (address) => (await listWaiting(table, address, now())).length,
    async forget(address) {
      for (const { id } of await listWaiting(table, address, now())) await dropMessage(table, address, id);
      await table.delete(keyOf(address));
    },
  };
}

const partition = "BRIDGE";
const keyOf = ({ channel, accountId }: ChannelAddress) => ({ pk: partition, sk: `${channel}#${accountId}` });

async function keepFile({ payloads }: BridgeOptions, file: OutboundFile): Promise<KeptFile> {
  const { mimeType, filename, body } = file;
  const type = kindOfMedia(mimeType);
  return { type, mimeType, filename, size: body.byteLength, key: await payloads.keepFile(file) };
}

async function send(
  options: BridgeOptions,
  address: ChannelAddress,
  { id = randomUUID(), peer, replyToId }: Destination & { id?: string },
  content: { text: string; media?: KeptFile[] },
): Promise<SendOutcome> {
  const { table, now } = options;
  const waiting = await listWaiting(table, address, now());
  const isKept = waiting.some((message) => message.id === id);
  if (!isKept && waiting.length >= maxWaiting)
    return { status: "failed", reason: `the bridge is away, and ${waiting.length} messages wait for it` };
  const reply = replyToId === undefined ? {} : { replyToId };
  const payload = { ...address, peer: { ...peer }, message: { id, ...content, ...reply } };
  await keepMessage(table, address, { id, at: now(), payload });
  // It is kept: whatever goes wrong from here is made good when the bridge attaches again.
  await sendWaiting(options, address).catch((error: unknown) =>
    logError("bridge.unsent", error, { ...address }),
  );
  await showTyping(options, address, peer, false).catch(() => {});
  return { status: "sent", messageId: id };
}

/**
 * Sends an attached bridge what waits and was not sent on this connection, or has waited for its receipt for
 * long.
 */
async function sendWaiting(options: BridgeOptions, address: ChannelAddress): Promise<void> {
  const { table, sockets, now } = options;
  const peer = await findPeer(options, address);
  if (!peer) return;
  const { connectionId, capabilities = [] } = peer;
  for (const message of await listWaiting(table, address, now())) {
    const { id, payload } = message;
    if (!isDue(message, connectionId, now())) continue;
    if (!(await claimMessage(table, address, id, connectionId, now()))) continue;
    const post = async () =>
      sockets.post(connectionId, eventFrame("channel.outbound", await withUrls(options, payload)));
    const outcome = await post().catch(async (error: unknown) => {
      await unclaimMessage(table, address, id);
      throw error;
    });
    log("bridge.sent", { ...address, deliveryId: id, outcome });
    if (outcome === "gone") return void (await forgetPeer(table, connectionId));
    if (outcome === "sent" && !capabilities.includes(receiptCapability))
      await dropMessage(table, address, id);
  }
}

/** The message with a URL for each of its files. URLs expire, so they are made when a message is sent. */
async function withUrls({ payloads }: BridgeOptions, payload: KeptOutbound): Promise<ChannelOutbound> {
  const { media: kept, ...message } = payload.message;
  if (!kept) return { ...payload, message };
  const media = await Promise.all(
    kept.map(async ({ key, ...file }) => ({ ...file, url: await payloads.fileUrl(key) })),
  );
  return { ...payload, message: { ...message, media } };
}

async function showTyping(
  options: BridgeOptions,
  address: ChannelAddress,
  { kind, id }: Destination["peer"],
  typing: boolean,
): Promise<void> {
  const peer = await findPeer(options, address);
  if (!peer) return;
  const payload = { ...address, peer: { kind, id }, typing };
  await options.sockets.post(peer.connectionId, eventFrame("channel.typing", payload));
}

function findPeer({ table, now }: BridgeOptions, address: ChannelAddress): Promise<PeerRecord | undefined> {
  return readPeer(table, "channel", bridgeId(address), now());
}
