import { machineOrigin } from "../origins/origins.ts";
import type { TransferStatus } from "../protocol/results.ts";
import { encodeCallAddress } from "../session/call-address.ts";
import { extendWait, recordResult } from "../session/calls.ts";
import { needsAgent } from "../session/state.ts";
import { endText } from "./transfer-endpoint.ts";
import { isOpen, stallMs, type Transfer, type TransferOwner } from "./transfer-state.ts";
import type { TransferWorld } from "./transfer-world.ts";

/** Answers the tool call that waits for an ended transfer. A client polls instead. Safe to repeat. */
export async function answerOwner(world: TransferWorld, transfer: Transfer): Promise<void> {
  const { owner, source, destination, size, mime, error } = transfer;
  if (owner.kind !== "call") return;
  const ends = { source: endText(source), destination: endText(destination) };
  const result = { ...ends, bytesTransferred: size ?? 0, ...(mime === undefined ? {} : { mime }) };
  const { address, nodeId } = owner;
  // The error may be a machine's words.
  const origins = transfer.step === "done" || nodeId === "gsv" ? [] : [machineOrigin(nodeId)];
  const outcome = transfer.step === "done" ? { result: { ok: true, result }, origins } : { error, origins };
  const recorded = await recordResult(world, address, nodeId, outcome, world.now());
  if (recorded.status !== "unknown" && needsAgent(recorded.state, world.now()))
    await world.wake(address.sessionKey);
}

/**
 * Whether a transfer in progress is still needed; if so, extends its run's deadline. A run stops waiting after a stop, a
 * reset or a timeout.
 */
export async function isWanted(world: TransferWorld, { owner }: Transfer): Promise<boolean> {
  if (owner.kind !== "call") return true;
  const now = world.now();
  return extendWait(world, owner.address, { atLeast: now + stallMs / 2, until: now + stallMs });
}

export function isSameOwner(one: TransferOwner, other: TransferOwner): boolean {
  if (one.kind === "call")
    return other.kind === "call" && encodeCallAddress(one.address) === encodeCallAddress(other.address);
  return other.kind === "client" && one.tokenId === other.tokenId;
}

/** A transfer's status for clients. */
export function statusOf(transfer: Transfer): TransferStatus {
  const { id, step, source, destination, size, mime, error, partBytes, stored, taken } = transfer;
  const reached = (parts: number) => Math.min(parts * partBytes, size ?? 0);
  const all = size ?? 0;
  return {
    transferId: id,
    status: isOpen({ step }) ? "running" : step === "done" ? "done" : "failed",
    source: endText(source),
    destination: endText(destination),
    sent: step === "stored" || step === "done" ? all : reached(stored),
    received: step === "done" ? all : reached(taken),
    ...(size === undefined ? {} : { size }),
    ...(mime === undefined ? {} : { mime }),
    ...(error === undefined ? {} : { error }),
  };
}
