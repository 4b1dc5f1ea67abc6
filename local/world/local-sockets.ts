import type { Sockets } from "../../shared/world/world.ts";
import type { Connection } from "../websocket/connections.ts";
import { apiGatewayLimits, type WebSocketLimits } from "../websocket/websocket-limits.ts";

/** Sends directly to the open connections of the local WebSocket API, within API Gateway's limits. */
export function openLocalSockets(
  connections: ReadonlyMap<string, Connection>,
  limits: Partial<WebSocketLimits> = {},
): Sockets {
  const { messageBytes } = { ...apiGatewayLimits, ...limits };
  return {
    async post(connectionId, frame) {
      const data = Buffer.from(JSON.stringify(frame));
      if (data.byteLength > messageBytes) return "too large";
      const sent = connections.get(connectionId)?.send(data);
      if (sent === "full") return "busy";
      return sent ? "sent" : "gone";
    },
    async close(connectionId) {
      connections.get(connectionId)?.close(1000, "");
    },
  };
}
