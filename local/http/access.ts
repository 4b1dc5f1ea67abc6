import type { IncomingHttpHeaders } from "node:http";

/** One permission that a request needs, in the terms of an IAM policy. */
export interface AccessRequest {
  /** The caller's access key id, as its signature names it. */
  accessKeyId: string;
  /** IAM action, e.g. `dynamodb:GetItem`. */
  action: string;
  /** ARN of the resource, or `*` for actions that have none. */
  resource: string;
  /** Condition keys of the request, e.g. `iam:PassedToService`. */
  context?: Record<string, string>;
}

/** Decides whether a request is allowed. Without one, the emulators allow every signed request. */
export type Authorize = (request: AccessRequest) => boolean;

/** What the endpoints of AWS are called by: another name is that of a page which a browser was led to them by. */
export function isAddressedLocally({ host = "" }: IncomingHttpHeaders): boolean {
  return /^(127\.0\.0\.1|localhost)(:\d+)?$/i.test(host);
}

/** What a request is told that is not addressed so. */
export const foreignHost = "Host: expected 127.0.0.1 or localhost";

/**
 * The access key id of a request signed with Signature Version 4 in its `Authorization` header, undefined when it is
 * not signed so. The signature itself is not checked: the emulators know no secret keys.
 */
export function accessKeyIdOf(headers: IncomingHttpHeaders): string | undefined {
  return /^AWS4-HMAC-SHA256 Credential=([^/,\s]+)\//.exec(headers.authorization ?? "")?.[1];
}
