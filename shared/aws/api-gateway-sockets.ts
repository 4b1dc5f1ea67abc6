import {
  ApiGatewayManagementApiClient,
  DeleteConnectionCommand,
  GoneException,
  PostToConnectionCommand,
} from "@aws-sdk/client-apigatewaymanagementapi";
import { maxFrameBytes } from "../protocol/frames.ts";
import type { Sockets } from "../world/world.ts";

/**
 * Connections of an API Gateway WebSocket API, reached by its @connections API.
 * @param endpoint the API's callback URL, `https://{api}.execute-api.{region}.amazonaws.com/{stage}`
 */
export function openApiGatewaySockets(endpoint: string): Sockets {
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
