/**
 * Limits of API Gateway's WebSocket APIs. Tests may shorten the times, but not change the sizes. Where AWS's documents
 * leave open what a connection sees, the harder case holds, and a test may set the other.
 */
export interface WebSocketLimits {
  /** Bytes of one message, either way. A larger one from the client closes its connection with 1009. */
  messageBytes: number;
  /** Bytes of one frame's payload: a client must split a larger message, or is closed with 1009. */
  frameBytes: number;
  /** Without a frame either way a connection is closed with 1001 after this, in milliseconds. */
  idleMs: number;
  /** Whether a ping or pong is such a frame. */
  countsPings: boolean;
  /** A connection is closed after this, in milliseconds. */
  connectionMs: number;
  /** The close code of a connection of that age. */
  agedCode: 1000 | 1001;
  /** How long a route's function may take, in milliseconds. */
  integrationMs: number;
}

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-execution-service-websocket-limits-table.html */
export const apiGatewayLimits: WebSocketLimits = {
  messageBytes: 128 * 1024,
  frameBytes: 32 * 1024,
  idleMs: 10 * 60_000,
  countsPings: false,
  connectionMs: 2 * 60 * 60_000,
  agedCode: 1000,
  integrationMs: 29_000,
};
