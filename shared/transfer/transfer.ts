import { readPeer } from "../peers/registry.ts";
import { code, PeerError } from "../protocol/errors.ts";
import type { Events } from "../protocol/events.ts";
import { eventFrame } from "../protocol/frames.ts";
import { log } from "../runtime/log.ts";
import { askAllNodes } from "../skills/probing.ts";
import { createSkillLister } from "../skills/skill-lister.ts";
import { isSkillFile } from "../workspace/workspace-paths.ts";
import { endName, type MachineEnd, type TransferEnd } from "./transfer-endpoint.ts";
import { answerOwner, isSameOwner, isWanted } from "./transfer-owner.ts";
import { defaultPartBytes, deleteParts, WrongParts } from "./transfer-parts.ts";
import {
  changeTransfer,
  createTransfer,
  isOpen,
  lateness,
  listTransfers,
  type Transfer,
} from "./transfer-state.ts";
import type { TransferWorld } from "./transfer-world.ts";
import { copyInBucket, copyIntoWorkspace, sendFromWorkspace } from "./workspace-endpoint.ts";

type TransferEvent = Extract<keyof Events, `transfer.${string}`>;

/**
 * Begins a transfer, or goes on with the one that an earlier attempt has begun.
 * @param asked with an id of the caller's choice, which is the same for a repeat
 */
export async function beginTransfer(
  world: TransferWorld,
  asked: Pick<Transfer, "id" | "source" | "destination" | "owner"> & { partBytes?: number },
): Promise<Transfer> {
  const { partBytes = defaultPartBytes, ...rest } = asked;
  const fresh = { ...rest, step: "asked", partBytes, stored: 0, taken: 0 } as const;
  const transfer = await createTransfer(world.table, fresh, world.now());
  if (!isSameOwner(transfer.owner, asked.owner))
    throw new PeerError(code.conflict, "the id of this transfer is taken; try again", { retryable: true });
  log("transfer.begin", { transferId: transfer.id, step: transfer.step });
  const alive = await checkAlive(world, transfer);
  return advance(world, alive, alive.step === "asked");
}

/**
 * Does what comes next. It tells the machine whose turn it is, again each time it is called; what a workspace has to do
 * is done here. An ended transfer is cleared away and its owner answered.
 * @param mustBeThere fails the transfer when that machine is not connected; else it may come back
 */
export async function advance(
  world: TransferWorld,
  transfer: Transfer,
  mustBeThere = false,
): Promise<Transfer> {
  const { id: transferId, size = 0, mime, partBytes, stored, sha256 = "" } = transfer;
  const turn = turnOf(transfer);
  if (!turn) return conclude(world, transfer);
  if (turn.kind === "workspace")
    return move(world, transfer, () => workOfWorkspace(world, transfer), mustBeThere);
  const { path } = turn;
  const told = () => {
    switch (transfer.step) {
      case "asked":
        return tell(world, turn, "transfer.send", { transferId, path });
      case "offered":
        return tell(world, turn, "transfer.receive", { transferId, path, size, ...(mime ? { mime } : {}) });
      case "sending":
        return tell(world, turn, "transfer.start", { transferId, path, size, partBytes, stored });
      default:
        return tell(world, turn, "transfer.end", { transferId, path, size, partBytes, sha256 });
    }
  };
  if ((await told()) || !mustBeThere) return transfer;
  return failTransfer(world, transfer, `Node not connected: ${endName(turn)}`);
}

/** The end whose turn it is; undefined when the transfer has ended. */
function turnOf({ step, source, destination }: Transfer): TransferEnd | undefined {
  if (step === "asked" || step === "sending") return source;
  return step === "offered" || step === "stored" ? destination : undefined;
}

async function workOfWorkspace({ bucket }: TransferWorld, transfer: Transfer): Promise<Partial<Transfer>> {
  const { step, source, destination } = transfer;
  const from = source.kind === "workspace" ? source : undefined;
  const to = destination.kind === "workspace" ? destination : undefined;
  if (step === "asked" && from)
    return to ? copyInBucket(bucket, from, to) : sendFromWorkspace(bucket, transfer, from);
  if (step === "stored" && to) return copyIntoWorkspace(bucket, transfer, to);
  return acceptedBy(transfer);
}

/** What follows when the destination takes the file: a source that has sent it already is not asked again. */
export function acceptedBy({ sha256 }: Transfer): Partial<Transfer> {
  return { step: sha256 === undefined ? "sending" : "stored" };
}

/**
 * Changes a transfer by the outcome of some work, and does what comes next. A PeerError of the work, or wrong parts, fail
 * the transfer.
 */
export async function move(
  world: TransferWorld,
  transfer: Transfer,
  work: () => Promise<Partial<Transfer>> | Partial<Transfer>,
  mustBeThere = false,
): Promise<Transfer> {
  let changes: Partial<Transfer>;
  try {
    changes = await work();
  } catch (error) {
    if (!(error instanceof PeerError) && !(error instanceof WrongParts)) throw error;
    return failTransfer(world, transfer, error.message);
  }
  const changed = await changeTransfer(world.table, transfer, changes, world.now());
  log("transfer.step", { transferId: transfer.id, step: changed?.step });
  return changed ? advance(world, changed, mustBeThere) : transfer;
}

/** Fails a transfer that has not ended: its owner is answered, and both machines clear away what they hold of it. */
export async function failTransfer(
  world: TransferWorld,
  transfer: Transfer,
  error: string,
): Promise<Transfer> {
  let now: Transfer | undefined = transfer;
  while (now && isOpen(now))
    now = await changeTransfer(
      world.table,
      now,
      { step: "failed", error: error.slice(0, 1000) },
      world.now(),
    );
  log("transfer.failed", { transferId: transfer.id });
  return now ? conclude(world, now) : transfer;
}

async function conclude(world: TransferWorld, transfer: Transfer): Promise<Transfer> {
  await answerOwner(world, transfer);
  await deleteParts(world.bucket, transfer);
  const { step, destination } = transfer;
  if (step === "done" && destination.kind === "workspace" && isSkillFile(destination.path))
    await askAllNodes(world, createSkillLister(world.bucket));
  if (transfer.step === "failed")
    for (const end of [transfer.source, transfer.destination]) await tellCancelled(world, transfer, end);
  return transfer;
}

/** Has a machine stop its part of a failed transfer, and remove what it holds of it. */
async function tellCancelled(world: TransferWorld, transfer: Transfer, end: TransferEnd): Promise<void> {
  if (end.kind === "workspace") return;
  const reason = transfer.error ?? "cancelled";
  await tell(world, end, "transfer.cancel", { transferId: transfer.id, path: end.path, reason });
}

/**
 * Tells a machine that has connected what it has to do for its transfers of the last day, also that those have failed for
 * which nobody waits any more.
 */
export async function resumeTransfers(
  world: TransferWorld,
  peer: { mode: string; id: string },
): Promise<void> {
  for (const transfer of await listTransfers(world.table, world.now())) {
    const ends = [transfer.source, transfer.destination].filter((end) => isEndOf(end, peer));
    if (transfer.step === "failed") for (const end of ends) await tellCancelled(world, transfer, end);
    else if (ends.length > 0) {
      const alive = await checkAlive(world, transfer);
      if (isOpen(alive) && ends.some((end) => end === turnOf(transfer))) await advance(world, alive);
    }
  }
}

/** Whether an end is a file of this peer. */
export function isEndOf(end: TransferEnd, { mode, id }: { mode: string; id: string }): boolean {
  return end.kind !== "workspace" && end.kind === mode && end.id === id;
}

/** Fails a transfer that takes too long, or for which nobody waits. @returns it as it is then */
export async function checkAlive(world: TransferWorld, transfer: Transfer): Promise<Transfer> {
  if (!isOpen(transfer)) return transfer;
  const late = lateness(transfer, world.now());
  if (late) return failTransfer(world, transfer, lateText(transfer, late));
  return (await isWanted(world, transfer)) ? transfer : failTransfer(world, transfer, "stopped");
}

function lateText(transfer: Transfer, late: "stalled" | "slow"): string {
  const turn = turnOf(transfer);
  const who = turn ? endName(turn) : "the transfer";
  return late === "stalled"
    ? `${who} did not go on for 10 minutes`
    : `${who} is too slow: a transfer takes at most an hour, and 10 seconds for each MB`;
}

/** @returns whether the machine is connected and was sent the event */
async function tell<E extends TransferEvent>(
  { table, sockets, now }: TransferWorld,
  end: MachineEnd,
  event: E,
  payload: Events[E],
): Promise<boolean> {
  const peer = await readPeer(table, end.kind, end.id, now());
  return peer !== undefined && (await sockets.post(peer.connectionId, eventFrame(event, payload))) === "sent";
}
