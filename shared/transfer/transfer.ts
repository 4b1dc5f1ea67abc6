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
 * Begins a transfer, or continues the one that an earlier attempt began.
 * @param asked its id is chosen by the caller, the same for a repeat
 */
export async function beginTransfer(
  world: TransferWorld,
  asked: Pick<Transfer, "id" | "source" | "destination" | "owner" | "origins"> & { partBytes?: number },
): Promise<Transfer> {
  const { partBytes = defaultPartBytes, ...rest } = asked;
  const fresh = { ...rest, step: "asked", partBytes, stored: 0, taken: 0 } as const;
  const transfer = await createTransfer(world.table, fresh, world.now());
  if (!isSameOwner(transfer.owner, asked.owner))
    throw new PeerError(code.conflict, "the id of this transfer is already used; try again", {
      retryable: true,
    });
  log("transfer.begin", { transferId: transfer.id, step: transfer.step });
  const alive = await checkAlive(world, transfer);
  return advance(world, alive, alive.step === "asked");
}

/**
 * Performs the next step. It notifies the machine whose turn it is, each time it is called; steps of a workspace are done
 * here. When the transfer has ended, answers its owner and deletes its parts.
 * @param mustBeThere fail the transfer when that machine is not connected; otherwise it may reconnect
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
  const notify = () => {
    switch (transfer.step) {
      case "asked":
        return send(world, turn, "transfer.send", { transferId, path });
      case "offered":
        return send(world, turn, "transfer.receive", { transferId, path, size, ...(mime ? { mime } : {}) });
      case "sending":
        return send(world, turn, "transfer.start", { transferId, path, size, partBytes, stored });
      default:
        return send(world, turn, "transfer.end", { transferId, path, size, partBytes, sha256 });
    }
  };
  if ((await notify()) || !mustBeThere) return transfer;
  return failTransfer(world, transfer, `Node not connected: ${endName(turn)}`);
}

/** The endpoint whose turn it is; undefined when the transfer has ended. */
function turnOf({ step, source, destination }: Transfer): TransferEnd | undefined {
  if (step === "asked" || step === "sending") return source;
  return step === "offered" || step === "stored" ? destination : undefined;
}

async function workOfWorkspace({ bucket }: TransferWorld, transfer: Transfer): Promise<Partial<Transfer>> {
  const { step, source, destination } = transfer;
  const from = source.kind === "workspace" ? source : undefined;
  const to = destination.kind === "workspace" ? destination : undefined;
  if (step === "asked" && from)
    return to ? copyInBucket(bucket, transfer, from, to) : sendFromWorkspace(bucket, transfer, from);
  if (step === "stored" && to) return copyIntoWorkspace(bucket, transfer, to);
  return acceptedBy(transfer);
}

/** The next step after the destination accepted the file: a source that has already sent it is not asked again. */
export function acceptedBy({ sha256 }: Transfer): Partial<Transfer> {
  return { step: sha256 === undefined ? "sending" : "stored" };
}

/**
 * Applies the changes of `work` to a transfer, and performs the next step. A PeerError of the work, or wrong parts, fail
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

/** Fails a transfer that has not ended: answers its owner, and tells both machines to remove partial files. */
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
    for (const end of [transfer.source, transfer.destination]) await sendCancelled(world, transfer, end);
  return transfer;
}

/** Tells a machine to stop a failed transfer and remove its partial file. */
async function sendCancelled(world: TransferWorld, transfer: Transfer, end: TransferEnd): Promise<void> {
  if (end.kind === "workspace") return;
  const reason = transfer.error ?? "cancelled";
  await send(world, end, "transfer.cancel", { transferId: transfer.id, path: end.path, reason });
}

/**
 * Notifies a machine that has connected of the next steps of its transfers of the last day, and of failed ones.
 */
export async function resumeTransfers(
  world: TransferWorld,
  peer: { mode: string; id: string },
): Promise<void> {
  for (const transfer of await listTransfers(world.table, world.now())) {
    const ends = [transfer.source, transfer.destination].filter((end) => isEndOf(end, peer));
    if (transfer.step === "failed") for (const end of ends) await sendCancelled(world, transfer, end);
    else if (ends.length > 0) {
      const alive = await checkAlive(world, transfer);
      if (isOpen(alive) && ends.some((end) => end === turnOf(transfer))) await advance(world, alive);
    }
  }
}

/** Whether an endpoint is a file of this peer. */
export function isEndOf(end: TransferEnd, { mode, id }: { mode: string; id: string }): boolean {
  return end.kind !== "workspace" && end.kind === mode && end.id === id;
}

/** Fails a transfer that takes too long or is no longer needed. @returns the transfer's state after the call */
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
    ? `${who} made no progress for 10 minutes`
    : `${who} is too slow: the limit is one hour plus 10 seconds per MB`;
}

/** @returns whether the machine is connected and the event was sent */
async function send<E extends TransferEvent>(
  { table, sockets, now }: TransferWorld,
  end: MachineEnd,
  event: E,
  payload: Events[E],
): Promise<boolean> {
  const peer = await readPeer(table, end.kind, end.id, now());
  return peer !== undefined && (await sockets.post(peer.connectionId, eventFrame(event, payload))) === "sent";
}
