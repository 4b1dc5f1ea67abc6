import { createHash } from "node:crypto";
import { transferMethods } from "../../../../functions/socket/methods/transfer.ts";
import { PeerError } from "../../../../shared/protocol/errors.ts";
import type { Events } from "../../../../shared/protocol/events.ts";
import { resumeTransfers } from "../../../../shared/transfer/transfer.ts";
import type { World } from "../../../../shared/world/world.ts";
import { gatewayOf } from "../gateway.ts";
import type { Stage } from "../scene.ts";

export type TransferEvent = Extract<keyof Events, `transfer.${string}`>;

/** A node or client with files, which sends and receives them as the program of a node does. */
export interface FileMachine {
  files: Map<string, string>;
  /** Handles an event, unless it is already being handled. */
  handle(event: TransferEvent, payload: Events[TransferEvent]): void;
  /** Connects again, and continues its transfers. */
  connect(): Promise<void>;
}

/** The gateway has ended the transfer, or the machine's process has died. */
class Ended extends Error {}

export function createMachine(stage: Stage, mode: "node" | "client", peerId: string): FileMachine {
  const { peers, timeline, faults, cloud } = stage;
  const files = new Map<string, string>();
  const caller = { mode, peerId, tokenId: "simulated" };
  /** The steps in progress. A new process begins with none. */
  let running = new Map<string, { isOver: boolean }>();
  let requests = 0;
  /** Repeats a request of a step until it is answered. @throws Ended when it is refused for good */
  const ask = async <M extends keyof typeof transferMethods>(method: M, params: object) => {
    let [result, isRefused] = [undefined as unknown, false];
    const isAnswered = await peers.insist(`${peerId}-${method}-${++requests}`, async (world: World) => {
      try {
        const handle = transferMethods[method].handle as (...args: unknown[]) => Promise<unknown>;
        result = await handle(gatewayOf(world), params, { caller });
      } catch (error) {
        if (!(error instanceof PeerError) || error.retryable) throw error;
        isRefused = true;
      }
    });
    if (isRefused || !isAnswered) throw new Ended(method);
    return result;
  };
  const partKey = async (transferId: number, part: number) => {
    const { url } = (await ask("transfer.part", { transferId, part })) as { url: string };
    return url.replace("https://bucket/", "");
  };
  /** Stores a part. A slow network may store it once more, much later. */
  const store = async (transferId: number, part: number, bytes: Buffer) => {
    const key = await partKey(transferId, part);
    await timeline.pass(timeline.jitter(400));
    await cloud.bucket.put(key, bytes);
    if (faults.draw(["late"], 8))
      timeline.after(faults.between(100, 30_000), () => void cloud.bucket.put(key, bytes));
  };
  const send = async ({ transferId, path, size, partBytes, stored }: Events["transfer.start"]) => {
    const bytes = Buffer.from(files.get(path) ?? "");
    for (let part = stored; part * partBytes < size; part++)
      await store(transferId, part, bytes.subarray(part * partBytes, (part + 1) * partBytes));
    return { sha256: hashOf(bytes) };
  };
  const receive = async ({ transferId, path, size, partBytes, sha256 }: Events["transfer.end"]) => {
    const pieces: Uint8Array[] = [];
    for (let part = 0; part * partBytes < size; part++) {
      const object = await cloud.bucket.get(await partKey(transferId, part));
      pieces.push(object?.body ?? Buffer.alloc(0));
      await timeline.pass(timeline.jitter(200));
    }
    const bytes = Buffer.concat(pieces);
    if (hashOf(bytes) !== sha256) return { error: "the SHA-256 differs" };
    files.set(path, bytes.toString());
    return { bytesWritten: bytes.byteLength };
  };
  const step = async (event: TransferEvent, payload: Events[TransferEvent], own: { isOver: boolean }) => {
    const { transferId, path } = payload;
    if (event === "transfer.send") {
      const size = files.get(path)?.length;
      await ask("transfer.meta", {
        transferId,
        ...(size === undefined ? { error: "no such file" } : { size }),
      });
    } else if (event === "transfer.receive") await ask("transfer.accept", { transferId });
    else if (event === "transfer.start") {
      const sent = await send(payload as Events["transfer.start"]);
      if (!own.isOver) await ask("transfer.complete", { transferId, ...sent });
    } else {
      const received = await receive(payload as Events["transfer.end"]);
      if (!own.isOver) await ask("transfer.done", { transferId, ...received });
    }
  };
  const machine: FileMachine = {
    files,
    handle(event, payload) {
      const key = `${payload.transferId} ${event}`;
      if (event === "transfer.cancel" || running.has(key)) return;
      const own = { isOver: false };
      running.set(key, own);
      const of = running;
      void step(event, payload, own)
        .catch((error: unknown) => {
          if (!(error instanceof Ended)) throw error;
        })
        .finally(() => of.delete(key));
      if (!faults.draw(["kills"], 16)) return;
      timeline.after(faults.between(10, 3_000), () => {
        for (const one of running.values()) one.isOver = true;
        running = new Map();
        timeline.after(faults.between(1_000, 30_000), () => void machine.connect());
      });
    },
    async connect() {
      await peers.insist(`${peerId}-connect-${++requests}`, (world) =>
        resumeTransfers(gatewayOf(world), { mode, id: peerId }),
      );
    },
  };
  return machine;
}

function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
