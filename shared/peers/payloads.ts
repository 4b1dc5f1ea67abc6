import { randomUUID } from "node:crypto";
import { maxMediaBytes } from "../media/media-store.ts";
import { code, PeerError } from "../protocol/errors.ts";
import { type Frame, maxPayloadBytes, type PayloadRef, payloadCapability } from "../protocol/frames.ts";
import type { Upload } from "../protocol/results.ts";
import type { Bucket, Presigner, Sockets, Table } from "../world/world.ts";
import { readConnection } from "./registry.ts";

/** Lifetime of presigned URLs, in seconds: the upload or download must start within it. */
const urlSeconds = 300;

/** The content of an upload: a request's params as JSON, or the bytes of an attachment. */
export type UploadKind = "params" | "media";

const uploads = {
  params: { maxBytes: maxPayloadBytes, extension: "json", field: "paramsRef" },
  media: { maxBytes: maxMediaBytes, extension: "bin", field: "dataRef" },
} as const;

/**
 * Transfers payloads that are too large for a frame through the bucket. A lifecycle rule deletes unused ones
 * after a day. See docs/reference/protocol-extensions.md, "Large payloads".
 */
export interface Payloads {
  /** Stores a file for one day. @returns its key */
  keepFile(file: { mimeType: string; body: Uint8Array }): Promise<string>;
  /** A URL for downloading a file of `keepFile`, valid for five minutes. */
  fileUrl(key: string): Promise<string>;
  /** Stores a whole frame and returns a reference to it. Undefined above `maxPayloadBytes`. */
  offer(frame: Frame): Promise<PayloadRef | undefined>;
  /** @throws PeerError 413 above `maxPayloadBytes`; for media above `maxMediaBytes` */
  reserve(connectionId: string, bytes: number, kind: UploadKind): Promise<Upload>;
  /**
   * Reads and deletes params that a connection uploaded; a ref works once.
   * @throws PeerError 400 for a malformed ref or an upload that is not JSON; 404 when nothing was uploaded on
   * this connection or the ref was used; 413 above `maxPayloadBytes`
   */
  take(connectionId: string, ref: string): Promise<unknown>;
  /** As `take`, for the bytes of an attachment. */
  takeMedia(connectionId: string, ref: string): Promise<Uint8Array>;
}

export function openPayloads(bucket: Pick<Bucket, "get" | "put" | "delete">, presigner: Presigner): Payloads {
  const consumeUpload = async (connectionId: string, ref: string, kind: UploadKind) => {
    const key = uploadKey(connectionId, ref, kind);
    const object = await bucket.get(key);
    if (!object) {
      const message = `${uploads[kind].field}: nothing was uploaded for this ref, or it was already used`;
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
      const body = await consumeUpload(connectionId, ref, "params");
      try {
        return JSON.parse(Buffer.from(body).toString());
      } catch {
        throw new PeerError(code.badRequest, "paramsRef: the upload is not JSON");
      }
    },
    takeMedia: (connectionId, ref) => consumeUpload(connectionId, ref, "media"),
  };
}

/** The key contains the connection id, so that a ref is valid on its own connection only. */
function uploadKey(connectionId: string, ref: string, kind: UploadKind): string {
  const { extension, field } = uploads[kind];
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(ref)) {
    throw new PeerError(code.badRequest, `${field}: not a ref from payload.upload`);
  }
  return `payloads/in/${encodeURIComponent(connectionId)}/${ref}.${extension}`;
}

function checkSize(bytes: number, kind: UploadKind): void {
  const { maxBytes } = uploads[kind];
  if (bytes > maxBytes)
    throw new PeerError(code.tooLarge, `${bytes} bytes; the limit for ${kind} by reference is ${maxBytes}`);
}

/**
 * Wraps `sockets`: a frame that is too large is sent by reference, if the peer announced `payloadCapability`.
 * A frame that fits costs no extra request. A frame for several peers is stored once.
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
    async post(connectionId, frame, options) {
      const outcome = await sockets.post(connectionId, frame, options);
      if (outcome !== "too large") return outcome;
      const connection = await readConnection(table, connectionId, now());
      if (!connection?.capabilities?.includes(payloadCapability)) return outcome;
      const payloadRef = await offer(frame);
      return payloadRef ? sockets.post(connectionId, headOf(frame, payloadRef), options) : outcome;
    },
  };
}

/** The frame's identifying fields with the reference to the whole frame. */
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
