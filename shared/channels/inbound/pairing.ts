import { normalizeSenderId } from "../../session/key/identity.ts";
import { absent, equal } from "../../world/expression.ts";
import { ConditionFailed, type Item, type Table } from "../../world/world.ts";
import type { ChannelAddress, InboundMessage } from "../channel.ts";

/**
 * How long a request waits, in milliseconds. No longer than an event's receipt is kept: an approval that is
 * repeated after a crash has to find that its message was taken.
 */
export const requestLifeMs = 2 * 86_400_000;

/** Most requests that wait on one account; whoever asks when there are so many is not heard. */
export const maxRequests = 25;

/**
 * The largest message that is held, in bytes of JSON. All that wait on an account lie in one item of 400 KB.
 */
const maxHeldBytes = 12_000;

/** Writers that meet start over; this many times in a row means that something else is wrong. */
const maxTries = 20;

/** Somebody who asks to be let in, by having written. Times in epoch ms. */
export interface PairingRequest extends ChannelAddress {
  senderId: string;
  senderName?: string;
  requestedAt: number;
  expiresAt: number;
  /** The event that it came by. */
  eventId: string;
  /** What they wrote, to be taken once they are let in; absent when it is too large to be held. */
  message?: InboundMessage;
}

/** What became of asking. */
export type Asked =
  /** The event has the request, now or since before: it is a repeat then. */
  | { state: "open"; request: PairingRequest }
  /** They asked before, by another message. */
  | { state: "waiting" }
  /** Too many wait already. */
  | { state: "full" };

const partition = "PAIR";

interface Stored {
  /** By normalized sender, those that have not run out. */
  requests: Record<string, PairingRequest>;
  /** Of the item; 0 where there is none. */
  version: number;
}

/**
 * Notes that the sender of a message asks to be let in, with that message; one request a sender and account.
 */
export async function openRequest(
  table: Table,
  address: ChannelAddress,
  message: InboundMessage,
  now: number,
): Promise<Asked> {
  const { sender, eventId } = message;
  const id = normalizeSenderId(sender.id);
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
    const found = requests[id];
    if (found)
      return { result: found.eventId === eventId ? { state: "open", request: found } : { state: "waiting" } };
    if (Object.keys(requests).length >= maxRequests) return { result: { state: "full" } };
    return { result: { state: "open", request }, next: { ...requests, [id]: request } };
  });
}

/** Forgets a request, unless another has taken its place. @returns false when it is not there */
export async function closeRequest(table: Table, request: PairingRequest, now: number): Promise<boolean> {
  const id = normalizeSenderId(request.senderId);
  return change<boolean>(table, request, now, ({ [id]: found, ...others }) => {
    if (found?.eventId !== request.eventId) return { result: false };
    return { result: true, next: others };
  });
}

/** The requests that wait, oldest first: all, or those of a channel, of one sender there. */
export async function listRequests(
  table: Table,
  now: number,
  of: { channel?: string; senderId?: string } = {},
): Promise<PairingRequest[]> {
  const prefix = of.channel === undefined ? undefined : `${of.channel}#`;
  const items = await table.query({ pk: partition, ...(prefix ? { prefix } : {}) });
  const requests = items.flatMap((item) => Object.values(waiting(item, now)));
  const id = of.senderId === undefined ? undefined : normalizeSenderId(of.senderId);
  return requests
    .filter(({ senderId }) => id === undefined || normalizeSenderId(senderId) === id)
    .sort((a, b) => a.requestedAt - b.requestedAt);
}

const keyOf = ({ channel, accountId }: ChannelAddress) => ({ pk: partition, sk: `${channel}#${accountId}` });

function waiting(item: Item, now: number): Stored["requests"] {
  const all = Object.entries(item.requests as unknown as Stored["requests"]);
  return Object.fromEntries(all.filter(([, request]) => request.expiresAt > now));
}

/** Changes what waits on an account, in one conditional write; `plan` without `next` leaves it as it is. */
async function change<T>(
  table: Table,
  address: ChannelAddress,
  now: number,
  plan: (requests: Stored["requests"]) => { result: T; next?: Stored["requests"] },
): Promise<T> {
  for (let tries = 0; tries < maxTries; tries++) {
    const { requests, version } = await read(table, address, now);
    const { result, next } = plan(requests);
    if (!next) return result;
    if (await write(table, address, { requests: next, version }, now)) return result;
  }
  throw new Error("the requests of an account were changed by others every time");
}

async function read(table: Table, address: ChannelAddress, now: number): Promise<Stored> {
  const item = await table.get(keyOf(address));
  return item
    ? { requests: waiting(item, now), version: Number(item.version) }
    : { requests: {}, version: 0 };
}

/** @returns false when the item has changed since it was read */
async function write(
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
