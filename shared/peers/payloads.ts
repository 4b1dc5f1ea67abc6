import { randomUUID } from "node:crypto";
import { maxMediaBytes } from "../media/media-store.ts";
import { code, PeerError } from "../protocol/errors.ts";
import { type Frame, maxPayloadBytes, type PayloadRef, payloadCapability } from "../protocol/frames.ts";
import type { Upload } from "../protocol/results.ts";
import type { Bucket, Presigner, Sockets, Table } from "../world/world.ts";
import { readConnection } from "./registry.ts";

/** How long an upload or a download may begin after it was offered. Seconds. */
const urlSeconds = 300;

/** What is uploaded: a request's params as JSON, or the bytes of an attachment. */
export type UploadKind = "params" | "media";

const uploads = {
  params: { mostBytes: maxPayloadBytes, extension: "json", field: "paramsRef" },
  media: { mostBytes: maxMediaBytes, extension: "bin", field: "dataRef" },
} as const;

/**
 * Payloads that are too large for a frame, on their way through the bucket. What is not used is removed by
 * the bucket's lifecycle a day later. See docs/protocol-extensions.md, "Large payloads".
 */
export interface Payloads {
  /** Keeps a file for somebody to fetch, for a day. @returns its key */
  keepFile(file: { mimeType: string; body: Uint8Array }): Promise<string>;
  /** Where a file that is kept can be fetched, for a few minutes from now. */
  fileUrl(key: string): Promise<string>;
  /** Stores a whole frame for its recipient. Undefined above `maxPayloadBytes`. */
  offer(frame: Frame): Promise<PayloadRef | undefined>;
  /** @throws PeerError 413 above `maxPayloadBytes`; for media above `maxMediaBytes` */
  reserve(connectionId: string, bytes: number, kind: UploadKind): Promise<Upload>;
  /**
   * The params that a connection has uploaded. They are removed with it: a ref works once.
   * @throws PeerError 400 for a ref that `reserve` did not make, or what is not JSON; 404 for one that was
   * not uploaded on this connection, or was used; 413 above `maxPayloadBytes`
   */
  take(connectionId: string, ref: string): Promise<unknown>;
  /** As `take`, for the bytes of an attachment. */
  takeMedia(connectionId: string, ref: string): Promise<Uint8Array>;
}

export function openPayloads(bucket: Pick<Bucket, "get" | "put" | "delete">, presigner: Presigner): Payloads {
  const takeUpload = async (connectionId: string, ref: string, kind: UploadKind) => {
    const key = uploadKey(connectionId, ref, kind);
    const object = await bucket.get(key);
    if (!object) {
      const message = `${uploads[kind].field}: nothing was uploaded there, or it was used already`;
      throw new PeerError(code.notFound, message);
    }
    await bucket.delete(key);
    checkSize(object.body.byteLength, kind);
    return object.body;
  };
  return {
    async keepFile({ mimeType, body }) {
      const key = `payloads/files/${randomUUID()}`;
      await bucket.put(key, body, { contentType: mimeType });
      return key;
    },
    fileUrl: (key) => presigner.get(key, urlSeconds),
    async offer(frame) {
      const body = Buffer.from(JSON.stringify(frame));
      if (body.byteLength > maxPayloadBytes) return undefined;
      const key = `payloads/out/${randomUUID()}.json`;
      await bucket.put(key, body, { contentType: "application/json" });
      return { url: await presigner.get(key, urlSeconds), bytes: body.byteLength };
    },
    async reserve(connectionId, bytes, kind) {
      checkSize(bytes, kind);
      const ref = randomUUID();
      return { ref, url: await presigner.put(uploadKey(connectionId, ref, kind), urlSeconds, bytes) };
    },
    async take(connectionId, ref) {
      const body = await takeUpload(connectionId, ref, "params");
      try {
        return JSON.parse(Buffer.from(body).toString());
      } catch {
        throw new PeerError(code.badRequest, "paramsRef: what was uploaded is not JSON");
      }
    },
    takeMedia: (connectionId, ref) => takeUpload(connectionId, ref, "media"),
  };
}

/** The connection is part of the key, so that a ref leads nowhere on any other. */
function uploadKey(connectionId: string, ref: string, kind: UploadKind): string {
  const { extension, field } = uploads[kind];
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(ref)) {
    throw new PeerError(code.badRequest, `${field}: not a ref that payload.upload has given`);
  }
  return `payloads/in/${encodeURIComponent(connectionId)}/${ref}.${extension}`;
}

function checkSize(bytes: number, kind: UploadKind): void {
  const { mostBytes } = uploads[kind];
  if (bytes > mostBytes)
    throw new PeerError(code.tooLarge, `${bytes} bytes; ${kind} by reference hold at most ${mostBytes}`);
}

/**
 * Sockets that send a frame which is too large by reference to a peer that has announced it. A frame that
 * fits costs nothing more; one frame for several peers is stored once.
 */
export function sendByReference(
  sockets: Sockets,
  { table, payloads, now }: { table: Table; payloads: Pick<Payloads, "offer">; now: () => number },
): Sockets {
  const offered = new WeakMap<Frame, Promise<PayloadRef | undefined>>();
  const offer = (frame: Frame) => {
    const stored = offered.get(frame) ?? payloads.offer(frame);
    offered.set(frame, stored);
    return stored;
  };
  return {
    ...sockets,
    async post(connectionId, frame) {
      const outcome = await sockets.post(connectionId, frame);
      if (outcome !== "too large") return outcome;
      const connection = await readConnection(table, connectionId, now());
      if (!connection?.capabilities?.includes(payloadCapability)) return outcome;
      const payloadRef = await offer(frame);
      return payloadRef ? sockets.post(connectionId, headOf(frame, payloadRef)) : outcome;
    },
  };
}

/** What says of a frame which one it is, with the reference to all of it. */
function headOf(frame: Frame, payloadRef: PayloadRef): Frame {
  switch (frame.type) {
    case "res":
      return { type: "res", id: frame.id, ok: frame.ok, payloadRef };
    case "evt":
      return {
        type: "evt",
        event: frame.event,
        ...(frame.seq === undefined ? {} : { seq: frame.seq }),
        payloadRef,
      };
    case "req":
      return frame;
  }
}
