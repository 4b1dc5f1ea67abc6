/**
 * Timeouts of a connection, in ms. The defaults fit API Gateway, which closes idle sockets after 10 minutes.
 */
export interface ConnectionTiming {
  pingIntervalMs: number;
  pongTimeoutMs: number;
  /** After this time without a message in either direction, the client sends one that the gateway ignores. */
  quietMs: number;
  /**
   * Upgrade and `connect` together. Longer than API Gateway's 29 s, so that no `connect` succeeds there after the
   * client has given up.
   */
  connectTimeoutMs: number;
  /** One attempt to upload or fetch a payload that is too large for a frame. */
  transferTimeoutMs: number;
  /** After this time connected, the backoff is reset. */
  stableMs: number;
  backoffMinMs: number;
  backoffMaxMs: number;
  /** Time after which a node reclaims its id from another process. */
  reclaimMs: number;
}

/** The default timeouts. */
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
