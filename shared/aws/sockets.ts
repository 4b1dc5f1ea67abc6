import {
  ApiGatewayManagementApiClient,
  DeleteConnectionCommand,
  GoneException,
  PostToConnectionCommand,
} from "@aws-sdk/client-apigatewaymanagementapi";
import { type Frame, maxFrameBytes } from "../protocol/frames.ts";

/** Sends to and closes WebSocket connections through API Gateway's @connections API. */
export interface Sockets {
  /**
   * Posts a frame. "gone" when the connection has ended: that is not an error of the sender. "too large" when the
   * frame is above API Gateway's 128 KB, in which case nothing was sent.
   */
  post(connectionId: string, frame: Frame): Promise<"sent" | "gone" | "too large">;
  /** Ends a connection; one that has ended already is fine. */
  close(connectionId: string): Promise<void>;
}

/** @param endpoint the API's callback URL, `https://{api}.execute-api.{region}.amazonaws.com/{stage}` */
export function openSockets(endpoint: string): Sockets {
  const client = new ApiGatewayManagementApiClient({ endpoint, maxAttempts: 4 });
  return {
    async post(connectionId, frame) {
      const text = JSON.stringify(frame);
      if (Buffer.byteLength(text) > maxFrameBytes) return "too large";
      try {
        await client.send(
          new PostToConnectionCommand({ ConnectionId: connectionId, Data: Buffer.from(text) }),
        );
        return "sent";
      } catch (error) {
        if (error instanceof GoneException) return "gone";
        throw error;
      }
    },
    async close(connectionId) {
      try {
        await client.send(new DeleteConnectionCommand({ ConnectionId: connectionId }));
      } catch (error) {
        if (!(error instanceof GoneException)) throw error;
      }
    },
  };
}
