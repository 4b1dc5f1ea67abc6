import type { IncomingHttpHeaders } from "node:http";

/** One permission that a request needs, in the terms of an IAM policy. */
export interface AccessRequest {
  /** The caller's access key id, from its signature. */
  accessKeyId: string;
  /** IAM action, e.g. `dynamodb:GetItem`. */
  action: string;
  /** ARN of the resource, or `*` for actions that have none. */
  resource: string;
  /** Condition keys of the request, e.g. `iam:PassedToService`. */
  context?: Record<string, string>;
}

/** Returns whether a request is allowed. Without this function, the emulators allow every signed request. */
export type Authorize = (request: AccessRequest) => boolean;

/**
 * Whether the Host header names this machine. Other names indicate DNS rebinding by a web page in a browser.
 */
export function isAddressedLocally({ host = "" }: IncomingHttpHeaders): boolean {
  return /^(127\.0\.0\.1|localhost)(:\d+)?$/i.test(host);
}

/** The error message for other Host headers. */
export const foreignHost = "Host: expected 127.0.0.1 or localhost";

/**
 * The access key id of a request with a Signature Version 4 in its `Authorization` header; otherwise
 * undefined. The signature is not verified: the emulators have no secret keys.
 */
export function accessKeyIdOf(headers: IncomingHttpHeaders): string | undefined {
  return /^AWS4-HMAC-SHA256 Credential=([^/,\s]+)\//.exec(headers.authorization ?? "")?.[1];
}
