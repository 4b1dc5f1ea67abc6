import type { CallAddress } from "../session/call-address.ts";
import { absent, equal, type Step, set } from "../world/expression.ts";
import { ConditionFailed, type Item, type Key, type Table } from "../world/world.ts";
import type { TransferEnd } from "./transfer-endpoint.ts";

/**
 * The step that happens next. `asked`: the source reports the size of its file. `offered`: the destination accepts or
 * refuses it. `sending`: the source stores the parts. `stored`: the destination fetches them. `done`, `failed`: none.
 */
export type TransferStep = "asked" | "offered" | "sending" | "stored" | "done" | "failed";

/** The requester that waits for the end of a transfer. */
export type TransferOwner =
  /** A model's tool call. `nodeId`: the node that its session waits for. */
  | { kind: "call"; address: CallAddress; nodeId: string }
  /** A client, which polls the status. */
  | { kind: "client"; tokenId: string };

/** A transfer of one file. Times are epoch ms, sizes bytes. */
export interface Transfer {
  id: number;
  step: TransferStep;
  source: TransferEnd;
  destination: TransferEnd;
  owner: TransferOwner;
  /** Whose words the requester had read, besides the owner's; they are stored with a workspace's file. Absent for a client. */
  origins?: string[];
  /** Size of every part but the last. */
  partBytes: number;
  /** Known once the source has reported it. */
  size?: number;
  mime?: string;
  /** SHA-256 of the file in hex, known once all parts are stored. */
  sha256?: string;
  /** Number of stored parts, as reported by the source. */
  stored: number;
  /** Number of parts that the destination has fetched, as it reported. */
  taken: number;
  /** Why it failed. */
  error?: string;
  /** When it began. Absent for a transfer of an earlier version. */
  begunAt?: number;
  /** When it counts as stalled, unless it makes progress. */
  aliveUntil: number;
}

/** All transfers are in one partition, so that one query finds those of a node that connects. */
const partition = "TRANSFER";

/** TTL of a transfer, in seconds after its last progress: as long as its parts exist. */
const ttlSeconds = 24 * 3600;

/** A transfer fails after this time without progress, in milliseconds. */
export const stallMs = 10 * 60_000;

/** Maximum duration of a transfer, in milliseconds: an hour, plus the time for its bytes at 100 KB/s. */
function maxDurationMs({ size = 0 }: Pick<Transfer, "size">): number {
  return 3600_000 + size / 100;
}

const keyOf = (id: number): Key => ({ pk: partition, sk: String(id).padStart(10, "0") });

/** The new times after progress: when the transfer counts as stalled, and when its item expires. */
function lifeFrom(now: number): { aliveUntil: number; expiresAt: number } {
  return { aliveUntil: now + stallMs, expiresAt: Math.floor(now / 1000) + ttlSeconds };
}

/** Stores a new transfer. @returns the stored one, which an earlier attempt may have created */
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

/** Undefined when there is none, or when its parts have expired. */
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
 * Changes a transfer if it is still at this step, and renews its time without progress.
 * @returns the current transfer, changed or not
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

/** Whether a transfer has not ended. */
export function isOpen({ step }: Pick<Transfer, "step">): boolean {
  return step !== "done" && step !== "failed";
}

/** Whether a transfer stalled or exceeded its total time. Without the total, a machine that keeps asking would keep it alive. */
export function lateness(transfer: Transfer, now: number): "stalled" | "slow" | undefined {
  if (!isOpen(transfer)) return undefined;
  if (transfer.aliveUntil <= now) return "stalled";
  const { begunAt = now } = transfer;
  return begunAt + maxDurationMs(transfer) <= now ? "slow" : undefined;
}
