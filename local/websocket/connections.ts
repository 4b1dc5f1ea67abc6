import { WebSocket } from "ws";
import type { ConnectionFacts } from "./websocket-events.ts";
import type { WebSocketLimits } from "./websocket-limits.ts";

/** An open connection of the WebSocket API. */
export interface Connection extends ConnectionFacts {
  /** False from the moment that its closing starts. */
  isOpen(): boolean;
  /** Time of the last frame in either direction, in epoch milliseconds. */
  lastActiveAt(): number;
  /**
   * Sends a text message, in frames of at most 32 KB.
   * @returns false when the client is gone, "full" when it does not read what was sent before
   */
  send(data: Buffer): boolean | "full";
  close(code: number, reason: string): void;
}

/** Timeout for a client's answer to a close frame, ms. A client that is gone never answers. */
const goodbyeMs = 2000;

/** Maximum size of unread messages of a client, in bytes. Further messages are refused. */
const maxUnreadBytes = 8 * 1024 * 1024;

/**
 * Wraps an open socket: counts its activity and closes it when it is idle or too old.
 * @param onClose called once, with the close code and reason
 */
export function openConnection(
  facts: ConnectionFacts,
  socket: WebSocket,
  limits: WebSocketLimits,
  onClose: (code: number, reason: string) => void,
): Connection {
  let lastActiveAt = Date.now();
  const active = () => {
    lastActiveAt = Date.now();
  };
  for (const event of limits.countsPings ? ["message", "ping", "pong"] : ["message"])
    socket.on(event, active);

  let goodbye: NodeJS.Timeout | undefined;
  function close(code: number, reason: string): void {
    socket.close(code, reason);
    goodbye ??= setTimeout(() => socket.terminate(), goodbyeMs);
  }
  let idle = setTimeout(checkIdle, limits.idleMs);
  function checkIdle(): void {
    const left = lastActiveAt + limits.idleMs - Date.now();
    if (left <= 0) close(1001, "Going away");
    else idle = setTimeout(checkIdle, left);
  }
  const tooOld = setTimeout(() => close(limits.agedCode, "Going away"), limits.connectionMs);
  socket.once("close", (code, reason) => {
    for (const timer of [idle, tooOld, goodbye]) clearTimeout(timer);
    onClose(code, reason.toString());
  });

  return {
    ...facts,
    isOpen: () => socket.readyState === WebSocket.OPEN,
    lastActiveAt: () => lastActiveAt,
    send(data) {
      if (socket.readyState !== WebSocket.OPEN) return false;
      if (socket.bufferedAmount > maxUnreadBytes) return "full";
      active();
      sendInFrames(socket, data, limits.frameBytes);
      return true;
    },
    close,
  };
}

function sendInFrames(socket: WebSocket, data: Buffer, frameBytes: number): void {
  let offset = 0;
  do {
    const end = offset + frameBytes;
    // A failed write closes the socket; its close event reports it.
    socket.send(data.subarray(offset, end), { binary: false, fin: end >= data.length }, () => undefined);
    offset = end;
  } while (offset < data.length);
}
