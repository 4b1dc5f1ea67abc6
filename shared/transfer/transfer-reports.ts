import { code, PeerError } from "../protocol/errors.ts";
import type { TransferPart } from "../protocol/results.ts";
import { sizeText } from "../runtime/size-text.ts";
import type { Presigner } from "../world/world.ts";
import { acceptedBy, advance, checkAlive, isEndOf, move } from "./transfer.ts";
import { endName } from "./transfer-endpoint.ts";
import { partCount, partSize, transferPartKey } from "./transfer-parts.ts";
import { changeTransfer, isOpen, readTransfer, type Transfer, type TransferStep } from "./transfer-state.ts";
import type { TransferWorld } from "./transfer-world.ts";
import { maxBytesAt, tooLarge } from "./workspace-endpoint.ts";

/** Maximum size of a transferred file, in bytes. */
const maxTransferBytes = 5 * 1024 ** 3;

/** Lifetime of a part's URL, in seconds: its request must start within it. A machine that needs longer requests another. */
const urlSeconds = 120;

/** The machine that reports. */
export interface Reporter {
  mode: string;
  id: string;
}

/** The source reports the size of its file, or why it cannot send it. Reports of other machines change nothing. */
export async function reportMeta(
  world: TransferWorld,
  reporter: Reporter,
  id: number,
  { size, mime, error }: { size?: number; mime?: string; error?: string },
): Promise<void> {
  await report(world, reporter, id, "source", "asked", (transfer) => {
    if (error !== undefined || size === undefined)
      throw machineError(transfer, "source", error ?? "reported no size");
    if (size > maxTransferBytes)
      throw machineError(
        transfer,
        "source",
        `the file has ${sizeText(size)}; the limit of a transfer is ${sizeText(maxTransferBytes)}`,
      );
    const { destination } = transfer;
    if (destination.kind === "workspace" && size > maxBytesAt(destination)) throw tooLarge(destination, size);
    return { step: "offered", size, mime };
  });
}

/** The destination reports that it accepts the file, or why not. */
export async function reportAccept(
  world: TransferWorld,
  reporter: Reporter,
  id: number,
  error?: string,
): Promise<void> {
  await report(world, reporter, id, "destination", "offered", (transfer) => {
    if (error !== undefined) throw machineError(transfer, "destination", error);
    return acceptedBy(transfer);
  });
}

/** The source reports that all parts are stored, with the SHA-256 of the file, or why it gives up. */
export async function reportComplete(
  world: TransferWorld,
  reporter: Reporter,
  id: number,
  { sha256, error }: { sha256?: string; error?: string },
): Promise<void> {
  await report(world, reporter, id, "source", "sending", (transfer) => {
    if (error !== undefined || sha256 === undefined)
      throw machineError(transfer, "source", error ?? "reported no SHA-256");
    return { step: "stored", sha256, stored: partCount(transfer) };
  });
}

/** The destination reports that the file is complete, or why it gives up. */
export async function reportDone(
  world: TransferWorld,
  reporter: Reporter,
  id: number,
  { bytesWritten, error }: { bytesWritten?: number; error?: string },
): Promise<void> {
  await report(world, reporter, id, "destination", "stored", (transfer) => {
    if (error !== undefined) throw machineError(transfer, "destination", error);
    if (bytesWritten !== transfer.size)
      throw machineError(transfer, "destination", `wrote ${bytesWritten} of ${transfer.size} bytes`);
    return { step: "done", taken: transfer.stored };
  });
}

/**
 * The URL of a part, with which the source stores it or the destination fetches it. A request for a part means that all
 * earlier parts are done.
 * @throws PeerError 404 when the machine is not an endpoint of the transfer, or the part does not exist; 409 when the
 *   transfer has ended or it is the other machine's turn
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
  if (!side) throw new PeerError(code.conflict, "it is the other machine's turn");
  if (part >= partCount(transfer))
    throw new PeerError(code.notFound, `part: the transfer has ${partCount(transfer)} parts, from 0`);
  const progress = side === "source" ? "stored" : "taken";
  if (part > transfer[progress])
    await changeTransfer(world.table, transfer, { [progress]: part }, world.now());
  const [key, bytes] = [transferPartKey(id, part), partSize(transfer, part)];
  if (side === "destination") return { url: await world.presigner.get(key, urlSeconds), headers: {}, bytes };
  const headers = { "content-type": "application/octet-stream" };
  return { url: await world.presigner.put(key, urlSeconds, bytes), headers, bytes };
}

/** The side of a machine if it is its turn to move parts. */
function sideOf({ step, source, destination }: Transfer, reporter: Reporter) {
  if (step === "sending" && isEndOf(source, reporter)) return "source";
  return step === "stored" && isEndOf(destination, reporter) ? "destination" : undefined;
}

/** Handles a report of a machine. A repeated report performs the next step again. */
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

function machineError(transfer: Transfer, side: "source" | "destination", reason: string): PeerError {
  return new PeerError(code.badRequest, `${endName(transfer[side])}: ${reason}`);
}
