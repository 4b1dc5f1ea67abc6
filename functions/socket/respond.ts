import { forgetPeer } from "../../shared/peers/registry.ts";
import { code } from "../../shared/protocol/errors.ts";
import {
  errorFrame,
  maxFrameBytes,
  maxPayloadBytes,
  type ResponseFrame,
} from "../../shared/protocol/frames.ts";
import { log } from "../../shared/runtime/log.ts";
import type { Gateway } from "./gateway.ts";

/**
 * Posts a response. A response that is too large for the peer is replaced by a 413 error. When the connection
 * is gone, its peer record is removed.
 * @throws Error for a peer that does not read: an answer that was kept for it stays
 */
export async function respond(
  gateway: Pick<Gateway, "sockets" | "table">,
  connectionId: string,
  frame: ResponseFrame,
): Promise<void> {
  let outcome = await gateway.sockets.post(connectionId, frame);
  if (outcome === "too large") {
    const message = `the response is too large: a frame holds ${maxFrameBytes} bytes, and ${maxPayloadBytes} by reference for a peer that announced it; ask for less at a time`;
    outcome = await gateway.sockets.post(
      connectionId,
      errorFrame(frame.id, { code: code.tooLarge, message }),
    );
  }
  if (outcome === "busy")
    throw new Error(`the peer of connection ${connectionId} does not read what it is sent`);
  if (outcome === "gone") {
    log("socket.gone", { connectionId });
    await forgetPeer(gateway.table, connectionId);
  }
}
