import type { ErrorShape } from "./errors.ts";
import type { EventName, Events } from "./events.ts";
import type { Method } from "./methods.ts";
import type { Results } from "./results.ts";

/** Protocol version this gateway speaks; `connect` must ask for it. */
export const protocolVersion = 1;

/** API Gateway refuses a WebSocket message above this many bytes, in both directions. */
export const maxFrameBytes = 128 * 1024;

/**
 * Capability of a peer that accepts frames by reference. A gateway that accepts params by reference has the
 * method `payload.upload`. See docs/reference/protocol-extensions.md, "Large payloads".
 */
export const payloadCapability = "payload-s3";

/**
 * Capability of a node that ends a call when it receives the event `tool.cancel`. See
 * docs/reference/protocol-extensions.md, "A call that is stopped".
 */
export const cancelCapability = "tool.cancel";
/** Capability of a node that sends and receives files by the events `transfer.*` of docs/transfers.md. */
export const transferCapability = "transfer";
/** Capability of a node that mirrors the files of skills (`skills.files`) where its commands run. */
export const skillsCapability = "skills";

/** Capability of a client that shows all sessions: it gets `session.changed`, and each message with which a run begins. */
export const followCapability = "session-events";

/** Maximum bytes of a payload by reference, in both directions. */
export const maxPayloadBytes = 10 * 1024 * 1024;

/** A reference to the whole frame as JSON, in a response or event that contains only identifying fields. */
export interface PayloadRef {
  /** Presigned URL for GET, valid for a few minutes. Anybody with the URL can read the frame. */
  url: string;
  bytes: number;
}

export interface RequestFrame {
  type: "req";
  id: string;
  method: string;
  params?: unknown;
  /** Used instead of `params`: the ref of uploaded params. */
  paramsRef?: string;
}

export interface ResponseFrame {
  type: "res";
  id: string;
  ok: boolean;
  payload?: unknown;
  error?: ErrorShape;
  payloadRef?: PayloadRef;
}

export interface EventFrame {
  type: "evt";
  event: string;
  payload?: unknown;
  seq?: number;
  payloadRef?: PayloadRef;
}

export type Frame = RequestFrame | ResponseFrame | EventFrame;

/**
 * Reads one WebSocket text message. Returns undefined for text that the protocol ignores: no JSON object, or
 * an unknown `type`. Returns `{ malformed, id? }` for a known type with invalid fields, so that the caller
 * can answer with an error.
 */
export function parseFrame(text: string): Frame | { malformed: string; id: string } | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const frame = value as Record<string, unknown>;
  const id = typeof frame.id === "string" ? frame.id : "";
  switch (frame.type) {
    case "req":
      if (id === "") return { malformed: "id: expected a non-empty string", id };
      if (typeof frame.method !== "string") return { malformed: "method: expected a string", id };
      if (frame.paramsRef !== undefined && typeof frame.paramsRef !== "string")
        return { malformed: "paramsRef: expected a string", id };
      return { type: "req", id, method: frame.method, params: frame.params, paramsRef: frame.paramsRef };
    case "res":
      if (id === "") return undefined;
      return { ...frame, type: "res", id, ok: frame.ok === true } as ResponseFrame;
    case "evt":
      if (typeof frame.event !== "string") return undefined;
      return frame as unknown as EventFrame;
    default:
      return undefined;
  }
}

/**
 * Whether a message is API Gateway's own `{message, connectionId, requestId}` for a request that it did not execute, because
 * too many functions run, for example. It does not name the request. After a timeout, the function may still run.
 */
export function isNotExecuted(text: string): boolean {
  if (!text.includes('"connectionId"')) return false;
  try {
    const { type, message, connectionId } = Object(JSON.parse(text)) as Record<string, unknown>;
    const isOfGateway = type === undefined && typeof connectionId === "string";
    return isOfGateway && typeof message === "string" && message !== "Endpoint request timed out";
  } catch {
    return false;
  }
}

/**
 * A successful response to request `id` of the method `M`. The caller must name `M`: `okFrame<"chat.send">(id, …)`.
 */
export function okFrame<M extends Method = never>(id: string, payload: Results[NoInfer<M>]): ResponseFrame {
  return { type: "res", id, ok: true, payload };
}

/** An error response to request `id`. */
export function errorFrame(id: string, error: ErrorShape): ResponseFrame {
  return { type: "res", id, ok: false, error };
}

/** An event, as pushed to a peer. */
export function eventFrame<E extends EventName>(event: E, payload: Events[E]): EventFrame {
  return { type: "evt", event, payload };
}
