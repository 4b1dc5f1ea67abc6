import { randomUUID } from "node:crypto";
import type { ConfigurationStore } from "../../configuration/store.ts";
import { kindOfMedia } from "../../media/media-types.ts";
import type { Payloads } from "../../peers/payloads.ts";
import { forgetPeer, listPeers, type PeerRecord, readPeer } from "../../peers/registry.ts";
import type { ChannelOutbound, Mark } from "../../protocol/events.ts";
import { type EventFrame, eventFrame } from "../../protocol/frames.ts";
import { log, logError } from "../../runtime/log.ts";
import type { Item, Sockets, Table } from "../../world/world.ts";
import { ownValue } from "../account.ts";
import type { Activity } from "../activity.ts";
import type {
  Channel,
  ChannelAddress,
  Destination,
  OutboundChannel,
  OutboundFile,
  SendOutcome,
  SentQuestion,
} from "../channel.ts";
import { isStillOwner } from "../inbound/sender-role.ts";
import { keepSentText } from "../sent-text.ts";
import {
  claimMessage,
  dropMessage,
  findMessage,
  isDue,
  type KeptFile,
  type KeptOutbound,
  keepMessage,
  listWaiting,
  maxWaiting,
  unclaimMessage,
  type Waiting,
} from "./bridge-outbox.ts";

/** Capability of a bridge that confirms each message by `channel.delivered`. */
const receiptCapability = "channel-receipts";

/** A message that waited longer than this is sent only if its receiver is still an owner. Milliseconds. */
const recheckMs = 1000;

/** TTL of a bridge's record after its last attach, in seconds. */
const knownSeconds = 90 * 86_400;

/** Maximum text length for platforms that are not built in. With JSON escapes it still fits into a frame. */
const maxText = 16_000;

/** The account of a bridge. Times in epoch ms. */
export interface BridgeRecord extends ChannelAddress {
  /** When the bridge last attached. */
  attachedAt: number;
  /** Absent while the bridge is not connected. */
  connectedAt?: number;
}

/** Whether a platform's formatted messages are text alone, as a frame carries them. Bridges for others get markdown. */
const isWritten = (channel: string) => channel === "discord";

/**
 * Bridges: programs that connect over the socket in mode `channel`, for accounts that are not the gateway's
 * own.
 */
export interface Bridges {
  /** The channel that sends to an account's bridge; undefined when no bridge is known. */
  find(address: ChannelAddress): Promise<OutboundChannel | undefined>;
  /** Records that a bridge has attached, and sends its queued messages. */
  attached(address: ChannelAddress): Promise<void>;
  /** Handles a bridge's receipt for a message. False when the message is not queued. */
  delivered(address: ChannelAddress, receipt: BridgeReceipt): Promise<boolean>;
  /** All known bridges. */
  list(): Promise<BridgeRecord[]>;
  /** Number of queued messages of a bridge. */
  waiting(address: ChannelAddress): Promise<number>;
  /** Deletes a bridge and its queued messages. */
  forget(address: ChannelAddress): Promise<void>;
}

/** The receipt for the message with this id: the platform's id of it, or the error with which the platform refused it. */
export interface BridgeReceipt {
  id: string;
  error?: string;
  messageId?: string;
}

export interface BridgeOptions {
  table: Table;
  sockets: Pick<Sockets, "post">;
  activity: Activity;
  payloads: Pick<Payloads, "keepFile" | "fileUrl">;
  /** The built-in platforms. */
  platforms: Readonly<Record<string, Pick<Channel, "maxText" | "format">>>;
  configuration: Pick<ConfigurationStore, "load">;
  now: () => number;
}

/** The peer id of an account's bridge; an account has at most one. */
export function bridgeId({ channel, accountId }: ChannelAddress): string {
  return `${channel}:${accountId}`;
}

/**
 * Sends to bridges. A message is queued before it is sent and deleted after the bridge confirms it, or after
 * sending when the bridge does not confirm messages. A message sent on a connection that then ended is sent
 * again on the next connection.
 */
export function openBridges(options: BridgeOptions): Bridges {
  const { table, activity, platforms, now } = options;
  const isKnown = (item: Item | undefined) => Number(item?.expiresAt) > now() / 1000;
  return {
    async find({ channel, accountId }) {
      const address = { channel, accountId };
      if (!isKnown(await table.get(keyOf(address)))) return undefined;
      const platform = ownValue(platforms, channel);
      return {
        name: channel,
        maxText: platform?.maxText ?? maxText,
        ...(isWritten(channel) ? { format: platform?.format } : {}),
        send: (_account, { text, ...to }) => send(options, address, to, { text }),
        keepsTexts: true,
        sendFile: async (_account, { file, ...to }) =>
          send(options, address, to, { text: "", media: [await keepFile(options, file)] }),
        typing: (_account, to) => showTyping(options, address, to, true),
        mark: (_account, message, mark) => showMark(options, address, message, mark),
      };
    },
    async attached(address) {
      const expiresAt = Math.floor(now() / 1000) + knownSeconds;
      await table.put({ ...address, attachedAt: now(), expiresAt, ...keyOf(address) });
      await sendWaiting(options, address);
    },
    async delivered(address, { id, error, messageId }) {
      // Before the message is deleted: after a crash in between, the bridge repeats its receipt.
      if (error === undefined && messageId !== undefined) {
        const message = await findMessage(table, address, id);
        if (message) await keepText(options, message, messageId);
      }
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

/** Keeps a message's text, for replies and reactions to it. A notice to a stranger, and a file, have none to keep. */
async function keepText(
  { table, now }: BridgeOptions,
  { channel, accountId, peer, sessionKey, message: { text } }: KeptOutbound,
  messageId: string,
): Promise<void> {
  if (sessionKey === undefined || text === "") return;
  await keepSentText(table, { channel, accountId, peer, messageId }, { text, sessionKey }, now());
}

async function send(
  options: BridgeOptions,
  address: ChannelAddress,
  { id = randomUUID(), peer, sessionKey, replyToId, whileOwner }: Destination & { id?: string },
  content: { text: string; media?: KeptFile[] },
): Promise<SendOutcome> {
  const { table, now } = options;
  const waiting = await listWaiting(table, address, now());
  const isKept = waiting.some((message) => message.id === id);
  if (!isKept && waiting.length >= maxWaiting)
    return {
      status: "failed",
      reason: `the bridge is not connected, and its queue is full (${waiting.length} messages)`,
    };
  const reply = replyToId === undefined ? {} : { replyToId };
  const session = sessionKey === undefined ? {} : { sessionKey };
  const payload = { ...address, ...session, peer: { ...peer }, message: { id, ...content, ...reply } };
  await keepMessage(table, address, { id, at: now(), payload, ...(whileOwner ? { whileOwner } : {}) });
  // The message is queued: after a failure from here on it is sent when the bridge attaches again.
  await sendWaiting(options, address).catch((error: unknown) =>
    logError("bridge.unsent", error, { ...address }),
  );
  await showTyping(options, address, { peer, ...session }, false).catch(() => {});
  return { status: "sent" };
}

/** Sends an attached bridge its due messages. */
async function sendWaiting(options: BridgeOptions, address: ChannelAddress): Promise<void> {
  const { table, sockets, now } = options;
  const peer = await findPeer(options, address);
  if (!peer) return;
  const { connectionId, capabilities = [] } = peer;
  for (const message of await listWaiting(table, address, now())) {
    const { id, payload } = message;
    if (!isDue(message, connectionId, now())) continue;
    if (!(await isStillMeant(options, message))) {
      await dropMessage(table, address, id);
      log("channel.undelivered", {
        ...address,
        deliveryId: id,
        reason: "its receiver is no longer an owner",
      });
      continue;
    }
    if (!(await claimMessage(table, address, id, connectionId, now()))) continue;
    const post = async () =>
      sockets.post(connectionId, eventFrame("channel.outbound", await withUrls(options, payload)));
    const outcome = await post().catch(async (error: unknown) => {
      await unclaimMessage(table, address, id);
      throw error;
    });
    log("bridge.sent", { ...address, deliveryId: id, outcome });
    if (outcome === "gone") return void (await forgetPeer(table, connectionId, now()));
    if (outcome === "busy") return void (await unclaimMessage(table, address, id));
    if (outcome === "sent" && !capabilities.includes(receiptCapability))
      await dropMessage(table, address, id);
  }
}

/** Whether a message's receiver still is who it was meant for. One that was just queued has just been checked. */
async function isStillMeant(
  { configuration, now }: BridgeOptions,
  { at, whileOwner }: Waiting,
): Promise<boolean> {
  if (!whileOwner || now() - at < recheckMs) return true;
  return isStillOwner(await configuration.load({ fresh: true }), whileOwner);
}

/** The payload with a URL for each file. URLs expire, so they are created at sending. */
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
  { peer: { kind, id }, sessionKey }: Destination,
  typing: boolean,
): Promise<void> {
  const session = sessionKey === undefined ? {} : { sessionKey };
  const payload = { ...address, ...session, peer: { kind, id }, typing };
  await post(options, address, eventFrame("channel.typing", payload));
}

async function showMark(
  options: BridgeOptions,
  address: ChannelAddress,
  { peer: { kind, id }, messageId }: SentQuestion,
  mark: Mark,
): Promise<void> {
  await post(
    options,
    address,
    eventFrame("channel.mark", { ...address, peer: { kind, id }, messageId, mark }),
  );
}

/** Posts an event to an attached bridge. One that is away never gets it. */
async function post(options: BridgeOptions, address: ChannelAddress, event: EventFrame): Promise<void> {
  const peer = await findPeer(options, address);
  if (peer) await options.sockets.post(peer.connectionId, event);
}

function findPeer({ table, now }: BridgeOptions, address: ChannelAddress): Promise<PeerRecord | undefined> {
  return readPeer(table, "channel", bridgeId(address), now());
}
