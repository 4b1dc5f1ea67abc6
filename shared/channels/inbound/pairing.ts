import { isSameSender, normalizeSenderId } from "../../session/key/identity.ts";
import { absent, equal } from "../../world/expression.ts";
import { ConditionFailed, type Item, type Table } from "../../world/world.ts";
import type { ChannelAddress, InboundMessage } from "../channel.ts";

/**
 * Lifetime of a pairing request, in milliseconds. Not longer than a receipt's TTL: an approval repeated after
 * a crash must find the receipt of the held message.
 */
export const requestLifeMs = 2 * 86_400_000;

/** Maximum number of open requests of one account. Further senders are ignored. */
export const maxRequests = 25;

/** Maximum size of a held message, in bytes of JSON. All requests of an account share one item of 400 KB. */
const maxHeldBytes = 12_000;

/** Maximum attempts of an optimistic write. More conflicts in a row indicate another fault. */
const maxTries = 20;

/** A pairing request, created by a message of an unknown sender. Times in epoch ms. */
export interface PairingRequest extends ChannelAddress {
  senderId: string;
  senderName?: string;
  requestedAt: number;
  expiresAt: number;
  /** The event of the message that created it. */
  eventId: string;
  /** The held message, handled after approval; absent when it was too large. */
  message?: InboundMessage;
}

/** The outcome of requesting pairing. */
export type Asked =
  /** The request belongs to this event; it was created now or by an earlier delivery. */
  | { state: "open"; request: PairingRequest }
  /** The sender already has a request from another message. */
  | { state: "waiting" }
  /** The account has too many open requests. */
  | { state: "full" };

const partition = "PAIR";

interface Stored {
  /** Unexpired requests by normalized sender id. Search by `senderId`: earlier versions used other keys. */
  requests: Record<string, PairingRequest>;
  /** The item's version; 0 when there is no item. */
  version: number;
}

/** Creates a pairing request that holds the message. Each sender has at most one request for an account. */
export async function openRequest(
  table: Table,
  address: ChannelAddress,
  message: InboundMessage,
  now: number,
): Promise<Asked> {
  const { sender, eventId } = message;
  const { channel } = address;
  const id = normalizeSenderId(channel, sender.id);
  const request: PairingRequest = {
    ...address,
    senderId: sender.id,
    ...(sender.name === undefined ? {} : { senderName: sender.name }),
    requestedAt: now,
    expiresAt: now + requestLifeMs,
    eventId,
    ...(Buffer.byteLength(JSON.stringify(message)) > maxHeldBytes ? {} : { message }),
  };
  return change<Asked>(table, address, now, (requests) => {
    const found = Object.values(requests).find(({ senderId }) => isSameSender(channel, senderId, sender.id));
    if (found)
      return { result: found.eventId === eventId ? { state: "open", request: found } : { state: "waiting" } };
    if (Object.keys(requests).length >= maxRequests) return { result: { state: "full" } };
    return { result: { state: "open", request }, next: { ...requests, [id]: request } };
  });
}

/** Deletes a request, unless a newer one has replaced it. @returns false when it does not exist */
export async function closeRequest(table: Table, request: PairingRequest, now: number): Promise<boolean> {
  return change<boolean>(table, request, now, (requests) => {
    const all = Object.entries(requests);
    const others = all.filter(([, { senderId, eventId }]) => {
      return senderId !== request.senderId || eventId !== request.eventId;
    });
    return others.length === all.length
      ? { result: false }
      : { result: true, next: Object.fromEntries(others) };
  });
}

/** Open requests, oldest first: all, or only those of one sender on a channel. */
export async function listRequests(
  table: Table,
  now: number,
  of: { channel?: string; senderId?: string } = {},
): Promise<PairingRequest[]> {
  const prefix = of.channel === undefined ? undefined : `${of.channel}#`;
  const items = await table.query({ pk: partition, ...(prefix ? { prefix } : {}) });
  const requests = items.flatMap((item) => Object.values(waiting(item, now)));
  const isOf = (id: string) => (request: PairingRequest) =>
    isSameSender(request.channel, id, request.senderId);
  return requests
    .filter(of.senderId === undefined ? () => true : isOf(of.senderId))
    .sort((a, b) => a.requestedAt - b.requestedAt);
}

const keyOf = ({ channel, accountId }: ChannelAddress) => ({ pk: partition, sk: `${channel}#${accountId}` });

function waiting(item: Item, now: number): Stored["requests"] {
  const all = Object.entries(item.requests as unknown as Stored["requests"]);
  return Object.fromEntries(all.filter(([, request]) => request.expiresAt > now));
}

/**
 * Changes an account's requests in one conditional write. Nothing is written when `plan` returns no `next`.
 */
async function change<T>(
  table: Table,
  address: ChannelAddress,
  now: number,
  plan: (requests: Stored["requests"]) => { result: T; next?: Stored["requests"] },
): Promise<T> {
  for (let tries = 0; tries < maxTries; tries++) {
    const { requests, version } = await readRequests(table, address, now);
    const { result, next } = plan(requests);
    if (!next) return result;
    if (await writeRequests(table, address, { requests: next, version }, now)) return result;
  }
  throw new Error(`the pairing requests of an account changed during each of ${maxTries} writes`);
}

async function readRequests(table: Table, address: ChannelAddress, now: number): Promise<Stored> {
  const item = await table.get(keyOf(address));
  return item
    ? { requests: waiting(item, now), version: Number(item.version) }
    : { requests: {}, version: 0 };
}

/** @returns false when the item has changed since it was read */
async function writeRequests(
  table: Table,
  address: ChannelAddress,
  { requests, version }: Stored,
  now: number,
): Promise<boolean> {
  const ends = Object.values(requests).map((request) => request.expiresAt);
  const expiresAt = Math.ceil(Math.max(now, ...ends) / 1000);
  const item = { requests, version: version + 1, expiresAt } as unknown as Item;
  try {
    const unchanged = version === 0 ? absent("pk") : equal("version", version);
    await table.put({ ...item, ...keyOf(address) }, unchanged);
    return true;
  } catch (error) {
    if (error instanceof ConditionFailed) return false;
    throw error;
  }
}
