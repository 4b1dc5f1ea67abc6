import { code, PeerError } from "../protocol/errors.ts";
import type { TransferPart } from "../protocol/results.ts";
import { sizeText } from "../runtime/size-text.ts";
import type { Presigner } from "../world/world.ts";
import { acceptedBy, advance, checkAlive, isEndOf, move } from "./transfer.ts";
import { endName } from "./transfer-endpoint.ts";
import { partCount, partKey, partSize } from "./transfer-parts.ts";
import { changeTransfer, isOpen, readTransfer, type Transfer, type TransferStep } from "./transfer-state.ts";
import type { TransferWorld } from "./transfer-world.ts";
import { maxBytesAt, tooLarge } from "./workspace-endpoint.ts";

/** Largest file of a transfer, in bytes. */
const maxTransferBytes = 5 * 1024 ** 3;

/** Lifetime of the URL of a part, in seconds. A machine that needs longer asks for another. */
const urlSeconds = 900;

/** The machine that reports. */
export interface Reporter {
  mode: string;
  id: string;
}

/** The source tells the size of its file, or why it cannot be sent. Reports of others than the machine itself change nothing. */
export async function reportMeta(
  world: TransferWorld,
  reporter: Reporter,
  id: number,
  { size, mime, error }: { size?: number; mime?: string; error?: string },
): Promise<void> {
  await report(world, reporter, id, "source", "asked", (transfer) => {
    if (error !== undefined || size === undefined) throw refusal(transfer, "source", error ?? "told no size");
    if (size > maxTransferBytes)
      throw refusal(
        transfer,
        "source",
        `the file has ${sizeText(size)}; a transfer holds at most ${sizeText(maxTransferBytes)}`,
      );
    const { destination } = transfer;
    if (destination.kind === "workspace" && size > maxBytesAt(destination)) throw tooLarge(destination, size);
    return { step: "offered", size, mime };
  });
}

/** The destination tells that it takes the file, or why not. */
export async function reportAccept(
  world: TransferWorld,
  reporter: Reporter,
  id: number,
  error?: string,
): Promise<void> {
  await report(world, reporter, id, "destination", "offered", (transfer) => {
    if (error !== undefined) throw refusal(transfer, "destination", error);
    return acceptedBy(transfer);
  });
}

/** The source tells that all parts are stored, and the SHA-256 of the whole, or why it gives up. */
export async function reportComplete(
  world: TransferWorld,
  reporter: Reporter,
  id: number,
  { sha256, error }: { sha256?: string; error?: string },
): Promise<void> {
  await report(world, reporter, id, "source", "sending", (transfer) => {
    if (error !== undefined || sha256 === undefined)
      throw refusal(transfer, "source", error ?? "told no SHA-256");
    return { step: "stored", sha256, stored: partCount(transfer) };
  });
}

/** The destination tells that the file is in its place, or why it gives up. */
export async function reportDone(
  world: TransferWorld,
  reporter: Reporter,
  id: number,
  { bytesWritten, error }: { bytesWritten?: number; error?: string },
): Promise<void> {
  await report(world, reporter, id, "destination", "stored", (transfer) => {
    if (error !== undefined) throw refusal(transfer, "destination", error);
    if (bytesWritten !== transfer.size)
      throw refusal(transfer, "destination", `wrote ${bytesWritten} of ${transfer.size} bytes`);
    return { step: "done", taken: transfer.stored };
  });
}

/**
 * The URL of a part: for the source to store it, for the destination to fetch it. Who asks for a part has done with
 * those before it.
 * @throws PeerError 404 for a transfer that the machine has no part in, or a part that it does not have; 409 when the
 *   transfer has ended or it is the other's turn
 */
export async function givePart(
  world: TransferWorld & { presigner: Presigner },
  reporter: Reporter,
  id: number,
  part: number,
): Promise<TransferPart> {
  const transfer = await readTransfer(world.table, id, world.now());
  const isPart = [transfer?.source, transfer?.destination].some((end) => end && isEndOf(end, reporter));
  if (!transfer || !isPart) throw new PeerError(code.notFound, "no such transfer");
  const alive = await checkAlive(world, transfer);
  if (!isOpen(alive)) throw new PeerError(code.conflict, alive.error ?? "the transfer has ended");
  const side = sideOf(transfer, reporter);
  if (!side) throw new PeerError(code.conflict, "it is the turn of the other machine");
  if (part >= partCount(transfer))
    throw new PeerError(code.notFound, `part: there are ${partCount(transfer)}`);
  const progress = side === "source" ? "stored" : "taken";
  if (part > transfer[progress])
    await changeTransfer(world.table, transfer, { [progress]: part }, world.now());
  const [key, bytes] = [partKey(id, part), partSize(transfer, part)];
  if (side === "destination") return { url: await world.presigner.get(key, urlSeconds), headers: {}, bytes };
  const headers = { "content-type": "application/octet-stream" };
  return { url: await world.presigner.put(key, urlSeconds, bytes), headers, bytes };
}

/** The side of a machine whose turn it is to move parts. */
function sideOf({ step, source, destination }: Transfer, reporter: Reporter) {
  if (step === "sending" && isEndOf(source, reporter)) return "source";
  return step === "stored" && isEndOf(destination, reporter) ? "destination" : undefined;
}

/** Takes a report of the machine whose turn it is. To a repeated report it does again what follows from it. */
async function report(
  world: TransferWorld,
  reporter: Reporter,
  id: number,
  side: "source" | "destination",
  step: TransferStep,
  next: (transfer: Transfer) => Partial<Transfer>,
): Promise<void> {
  const transfer = await readTransfer(world.table, id, world.now());
  if (!transfer || !isEndOf(transfer[side], reporter)) return;
  if (!isOpen(transfer)) return void (await advance(world, transfer));
  const alive = await checkAlive(world, transfer);
  if (!isOpen(alive)) return;
  if (transfer.step === step) await move(world, transfer, () => next(transfer));
  else await advance(world, transfer);
}

function refusal(transfer: Transfer, side: "source" | "destination", reason: string): PeerError {
  return new PeerError(code.badRequest, `${endName(transfer[side])}: ${reason}`);
}
