/**
 * Timeouts of a connection, in ms. The defaults fit API Gateway, which closes idle sockets after 10 minutes.
 */
export interface ConnectionTiming {
  pingIntervalMs: number;
  pongTimeoutMs: number;
  /** After this time without a message in either direction one is sent, which the gateway ignores. */
  quietMs: number;
  /**
   * Upgrade and `connect` together. Above API Gateway's 29 s: no `connect` succeeds there after the client
   * gave up.
   */
  connectTimeoutMs: number;
  /** One attempt to upload or fetch a payload that is too large for a frame. */
  transferTimeoutMs: number;
  /** After this time connected, the backoff is reset. */
  stableMs: number;
  backoffMinMs: number;
  backoffMaxMs: number;
  /** Time after which a node asks for its place again that another process has. */
  reclaimMs: number;
}

/** The timeouts of a connection that is given no others. */
export const defaultTiming: ConnectionTiming = {
  pingIntervalMs: 240_000,
  pongTimeoutMs: 10_000,
  quietMs: 540_000,
  connectTimeoutMs: 35_000,
  transferTimeoutMs: 120_000,
  stableMs: 30_000,
  backoffMinMs: 500,
  backoffMaxMs: 30_000,
  reclaimMs: 30_000,
};
