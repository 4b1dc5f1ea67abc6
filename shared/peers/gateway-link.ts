import { randomUUID } from "node:crypto";
import { once } from "node:events";
import WebSocket from "ws";
import { code, type ErrorCode, type ErrorShape, PeerError } from "../protocol/errors.ts";
import type { Events } from "../protocol/events.ts";
import {
  type EventFrame,
  isNotExecuted,
  maxFrameBytes,
  type PayloadRef,
  parseFrame,
  payloadCapability,
  protocolVersion,
  type ResponseFrame,
} from "../protocol/frames.ts";
import type { Method, ParamsInput } from "../protocol/methods.ts";
import type { Results, Upload } from "../protocol/results.ts";
import type { Mode } from "./registry.ts";
import { RequestsInFlight } from "./requests-in-flight.ts";

/** Max time to open the socket, and for the answer to a request without its own limit, in milliseconds. */
const answerMs = 25_000;

/** Room in a frame for its type, id and method, in bytes. */
const frameRoom = 1024;

/**
 * A connection of a function to the gateway's own WebSocket API, with the token of the program that it serves. The function
 * needs no rights of its own: the socket function decides what the token may do.
 */
export interface GatewayLink {
  /** @throws PeerError the gateway's, or 503, retryable, without an answer in `timeoutMs` (25 s) */
  request<M extends Method>(
    method: M,
    params: ParamsInput<M>,
    options?: { timeoutMs?: number },
  ): Promise<Results[M]>;
  /** Uploads the bytes of an attachment. @returns the `dataRef` of `chat.send` */
  upload(bytes: Uint8Array): Promise<string>;
  /** Calls the listener with the events `chat` of all runs. */
  onChat(listener: (event: Events["chat"]) => void): void;
  /** Resolves when the connection has ended. */
  ended: Promise<void>;
  close(): void;
}

/**
 * Connects with a token.
 * @param url of the WebSocket API's stage
 * @throws PeerError 401 for a token that is not good, 403 for one without the mode's scope, 429 or 503, retryable
 */
export async function linkToGateway(
  url: string,
  token: string,
  { name, mode }: { name: string; mode: Mode },
): Promise<GatewayLink> {
  const socket = await open(url, token);
  const link = speak(socket);
  try {
    await link.request("connect", {
      minProtocol: protocolVersion,
      maxProtocol: protocolVersion,
      client: { id: `${name}-${randomUUID()}`, version: "0", platform: "gateway", mode },
      capabilities: [payloadCapability],
    });
    return link;
  } catch (error) {
    link.close();
    throw error;
  }
}

async function open(url: string, token: string): Promise<WebSocket> {
  const socket = new WebSocket(url, {
    headers: { authorization: `Bearer ${token}` },
    handshakeTimeout: answerMs,
    perMessageDeflate: false,
  });
  socket.on("error", () => {});
  const refused = new Promise<never>((_, reject) => {
    socket.once("unexpected-response", (_request, { statusCode = 500 }) => {
      socket.terminate();
      reject(refusalOf(statusCode));
    });
    socket.once("error", () => reject(refusalOf(503)));
  });
  await Promise.race([once(socket, "open"), refused]);
  return socket;
}

function refusalOf(status: number): PeerError {
  if (status === 401 || status === 403)
    return new PeerError(code.unauthorized, "the token is unknown, was revoked or has expired");
  if (status === 429) return new PeerError(code.rateLimited, "too many connections", { retryable: true });
  return new PeerError(code.unavailable, `the gateway does not answer (${status})`, { retryable: true });
}

function speak(socket: WebSocket): GatewayLink {
  const waiting = new Map<string, (frame: Answer) => void>();
  const inFlight = new RequestsInFlight();
  const listeners: ((event: Events["chat"]) => void)[] = [];
  const ended = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  void ended.then(() => inFlight.clear());
  socket.on("message", async (data) => {
    const text = String(data);
    if (isNotExecuted(text)) return inFlight.notExecuted();
    const frame = parseFrame(text);
    if (!frame || "malformed" in frame || frame.type === "req") return;
    if (frame.type === "res") inFlight.answered(frame.id);
    const whole = frame.payloadRef ? await download(frame.payloadRef) : frame;
    if (frame.type === "res") waiting.get(frame.id)?.(whole ?? lost("the answer could not be downloaded"));
    else if (frame.event === "chat" && whole)
      for (const listener of listeners) listener(whole.payload as Events["chat"]);
  });
  let requests = 0;
  const send = async (method: string, fields: object, timeoutMs = answerMs): Promise<unknown> => {
    const id = `${++requests}`;
    let timer: NodeJS.Timeout | undefined;
    const answer = new Promise<Answer>((resolve) => {
      waiting.set(id, resolve);
      timer = setTimeout(() => resolve(lost(`no answer in ${timeoutMs / 1000} s`)), timeoutMs);
      void ended.then(() => resolve(lost("the connection to the gateway has ended")));
    });
    inFlight.add(id, () => socket.send(JSON.stringify({ type: "req", id, method, ...fields })));
    const { payload, error } = await answer.finally(() => clearTimeout(timer));
    waiting.delete(id);
    inFlight.abandon(id);
    if (error) throw errorOf(error);
    return payload;
  };
  const put = async (bytes: Uint8Array, kind: "params" | "media"): Promise<string> => {
    const reserved = await send("payload.upload", { params: { bytes: bytes.byteLength, kind } });
    const { ref, url } = reserved as Upload;
    const { ok, status } = await fetch(url, { method: "PUT", body: Buffer.from(bytes) });
    if (!ok) throw errorOf(lost(`the upload failed (${status})`).error);
    return ref;
  };
  return {
    async request<M extends Method>(
      method: M,
      params: ParamsInput<M>,
      { timeoutMs }: { timeoutMs?: number } = {},
    ) {
      const text = Buffer.from(JSON.stringify(params ?? {}));
      const isLarge = text.byteLength > maxFrameBytes - frameRoom;
      const fields = isLarge ? { paramsRef: await put(text, "params") } : { params };
      return (await send(method, fields, timeoutMs)) as Results[M];
    },
    upload: (bytes) => put(bytes, "media"),
    onChat: (listener) => void listeners.push(listener),
    ended,
    close: () => socket.close(),
  };
}

type Answer = Pick<ResponseFrame, "payload" | "error">;

/** The answer of a gateway that has not given one. */
function lost(message: string): { error: ErrorShape } {
  return { error: { code: code.unavailable, message, retryable: true } };
}

function errorOf({ code, message, details, retryable }: ErrorShape): PeerError {
  return new PeerError(code as ErrorCode, message, { details, retryable });
}

/** The whole frame that a reference stands for; undefined when it cannot be downloaded. */
async function download({ url }: PayloadRef): Promise<ResponseFrame | EventFrame | undefined> {
  const response = await fetch(url).catch(() => undefined);
  return response?.ok ? ((await response.json()) as ResponseFrame | EventFrame) : undefined;
}
