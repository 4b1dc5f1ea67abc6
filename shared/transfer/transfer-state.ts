import type { CallAddress } from "../session/call-address.ts";
import { absent, equal, type Step, set } from "../world/expression.ts";
import { ConditionFailed, type Item, type Key, type Table } from "../world/world.ts";
import type { TransferEnd } from "./transfer-endpoint.ts";

/**
 * What happens next. `asked`: the source says how large its file is. `offered`: the destination says whether it takes
 * it. `sending`: the source stores the parts. `stored`: the destination takes them. `done`, `failed`: nothing.
 */
export type TransferStep = "asked" | "offered" | "sending" | "stored" | "done" | "failed";

/** Who waits for the end of a transfer. */
export type TransferOwner =
  /** A model's tool call. `nodeId`: the node that its session waits for. */
  | { kind: "call"; address: CallAddress; nodeId: string }
  /** A client, which asks how it goes. */
  | { kind: "client"; tokenId: string };

/** A transfer of one file. Times are epoch ms, sizes bytes. */
export interface Transfer {
  id: number;
  step: TransferStep;
  source: TransferEnd;
  destination: TransferEnd;
  owner: TransferOwner;
  /** Size of every part but the last. */
  partBytes: number;
  /** Known once the source has told. */
  size?: number;
  mime?: string;
  /** SHA-256 of the file in hex, known once all parts are stored. */
  sha256?: string;
  /** Number of parts that are stored, as the source has told. */
  stored: number;
  /** Number of parts that the destination has taken, as it has told. */
  taken: number;
  /** Why it has failed. */
  error?: string;
  /** When it began. Absent for a transfer that is older than this field. */
  begunAt?: number;
  /** When it counts as failed, unless it has gone on. */
  aliveUntil: number;
}

/** All transfers are in one partition, so that a node that connects finds its own by one query. */
const partition = "TRANSFER";

/** TTL of a transfer, in seconds after it has gone on last: as long as its parts are kept. */
const ttlSeconds = 24 * 3600;

/** Time within which a transfer has to go on, in milliseconds. It fails otherwise. */
export const stallMs = 10 * 60_000;

/** Longest time of a transfer, in milliseconds: an hour, and what its bytes take at 100 KB/s. */
function longestMs({ size = 0 }: Pick<Transfer, "size">): number {
  return 3600_000 + size / 100;
}

const keyOf = (id: number): Key => ({ pk: partition, sk: String(id).padStart(10, "0") });

/** When a transfer that goes on now counts as failed, and when its item is removed. */
function lifeFrom(now: number): { aliveUntil: number; expiresAt: number } {
  return { aliveUntil: now + stallMs, expiresAt: Math.floor(now / 1000) + ttlSeconds };
}

/** Stores a new transfer. @returns the stored one: that of an earlier attempt when there is one with this id */
export async function createTransfer(
  table: Table,
  transfer: Omit<Transfer, "aliveUntil" | "begunAt">,
  now: number,
): Promise<Transfer> {
  const item = { ...transfer, begunAt: now, ...lifeFrom(now) };
  try {
    await table.put({ ...(item as unknown as Item), ...keyOf(transfer.id) }, absent("pk"));
    return item;
  } catch (error) {
    if (!(error instanceof ConditionFailed)) throw error;
    return (await readTransfer(table, transfer.id, now)) ?? createTransfer(table, transfer, now);
  }
}

/** Undefined when there is none, or when its parts are not kept any more. */
export async function readTransfer(table: Table, id: number, now: number): Promise<Transfer | undefined> {
  const item = await table.get(keyOf(id));
  return item && isKept(item, now) ? (item as unknown as Transfer) : undefined;
}

/** Every transfer of the last day. */
export async function listTransfers(table: Table, now: number): Promise<Transfer[]> {
  const items = await table.query({ pk: partition });
  return items.filter((item) => isKept(item, now)) as unknown as Transfer[];
}

function isKept(item: Item, now: number): boolean {
  return Number(item.expiresAt) > now / 1000;
}

/**
 * Changes a transfer that is at a step, which then has time to go on again.
 * @returns the transfer as it is now, changed or not
 */
export async function changeTransfer(
  table: Table,
  { id, step }: Pick<Transfer, "id" | "step">,
  changes: Partial<Transfer>,
  now: number,
): Promise<Transfer | undefined> {
  const known = Object.entries({ ...lifeFrom(now), ...changes }).filter(([, value]) => value !== undefined);
  const steps: Step[] = known.map(([name, value]) => set(name, value as never));
  try {
    return (await table.update(keyOf(id), steps, equal("step", step))) as unknown as Transfer;
  } catch (error) {
    if (!(error instanceof ConditionFailed)) throw error;
    return readTransfer(table, id, now);
  }
}

/** Whether it has not ended. */
export function isOpen({ step }: Pick<Transfer, "step">): boolean {
  return step !== "done" && step !== "failed";
}

/** Whether it has stood still for too long, or takes too long as a whole: a machine that asks for ever goes on for ever. */
export function lateness(transfer: Transfer, now: number): "stalled" | "slow" | undefined {
  if (!isOpen(transfer)) return undefined;
  if (transfer.aliveUntil <= now) return "stalled";
  const { begunAt = now } = transfer;
  return begunAt + longestMs(transfer) <= now ? "slow" : undefined;
}
