/** Addresses that the page connects to. */
export interface PageAddresses {
  /** The WebSocket API's stage, such as `wss://{api}.execute-api.{region}.amazonaws.com/ws`. */
  ws: string;
  /** Origin of presigned URLs: that of the bucket. */
  objects: string;
}

/**
 * The headers of every answer. The policy allows the page's own files, the gateway's socket and the bucket, and nothing else;
 * Trusted Types make every HTML sink throw. `gsv-sw` is the policy for the service worker's address.
 */
export function pageHeaders({ ws, objects }: PageAddresses): Record<string, string> {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' blob: data:",
    "media-src 'self' blob:",
    `connect-src 'self' ${new URL(ws).origin} ${objects}`,
    "worker-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types gsv-sw",
  ];
  return {
    "content-security-policy": policy.join("; "),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "microphone=(self), camera=(self)",
    "strict-transport-security": "max-age=31536000",
  };
}
