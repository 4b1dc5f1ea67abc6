import {
  ApiGatewayManagementApiClient,
  DeleteConnectionCommand,
  ForbiddenException,
  GoneException,
  LimitExceededException,
  PayloadTooLargeException,
  PostToConnectionCommand,
} from "@aws-sdk/client-apigatewaymanagementapi";
import { maxFrameBytes } from "../protocol/frames.ts";
import type { Posted, Sockets } from "../world/world.ts";
import { clientSettings, type SocketLimits, socketLimits } from "./call-limits.ts";

/**
 * Connections of an API Gateway WebSocket API, reached by its @connections API.
 * @param endpoint the API's callback URL, `https://{api}.execute-api.{region}.amazonaws.com/{stage}`
 */
export function openApiGatewaySockets(endpoint: string, limits: SocketLimits = socketLimits): Sockets {
  const client = new ApiGatewayManagementApiClient({ endpoint, ...clientSettings(limits) });
  // Both send on the same HTTP connections.
  const { requestHandler } = client.config;
  const trier = new ApiGatewayManagementApiClient({ endpoint, maxAttempts: 1, requestHandler });
  return {
    async post(connectionId, frame, { once = false } = {}) {
      const text = JSON.stringify(frame);
      if (Buffer.byteLength(text) > maxFrameBytes) return "too large";
      const command = new PostToConnectionCommand({ ConnectionId: connectionId, Data: Buffer.from(text) });
      try {
        await (once ? trier.send(command, { requestTimeout: limits.onceMs }) : client.send(command));
        return "sent";
      } catch (error) {
        const outcome = outcomeOf(error, once);
        if (outcome === undefined) throw error;
        return outcome;
      }
    },
    async close(connectionId) {
      try {
        await client.send(new DeleteConnectionCommand({ ConnectionId: connectionId }));
      } catch (error) {
        if (!isGone(error)) throw error;
      }
    },
  };
}

/** What a failed post says of its connection; undefined when it says nothing. */
function outcomeOf(error: unknown, once: boolean): Posted | undefined {
  if (isGone(error)) return "gone";
  if (error instanceof PayloadTooLargeException) return "too large";
  // API Gateway answers 429 while the buffer of the connection's client is full.
  if (error instanceof LimitExceededException) return "busy";
  if (once && error instanceof Error && error.name === "TimeoutError") return "busy";
  return undefined;
}

/**
 * ForbiddenException is the answer for a connection that is not this API's. A role that may not post gets
 * AccessDeniedException, which is a fault of the deployment.
 */
function isGone(error: unknown): boolean {
  return error instanceof GoneException || error instanceof ForbiddenException;
}
