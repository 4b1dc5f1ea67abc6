import type { IncomingHttpHeaders } from "node:http";
import { AwsError } from "../../../local/http/aws-error.ts";
import type { HttpRequest } from "../../../local/http/http-endpoint.ts";

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

/**
 * The caller of a signed request.
 * @throws AwsError 403 when the request is not addressed to this machine, or carries no Signature Version 4
 */
export function callerOf(request: HttpRequest): string {
  if (!isAddressedLocally(request.headers)) throw new AwsError(403, "AccessDeniedException", foreignHost);
  const accessKeyId = accessKeyIdOf(request.headers);
  if (accessKeyId === undefined) {
    throw new AwsError(403, "MissingAuthenticationTokenException", "Missing Authentication Token");
  }
  return accessKeyId;
}

/**
 * Checks a request with `authorize`. Without it, every request is allowed.
 * @param status the HTTP status of a refusal: most APIs answer 403, those of the JSON protocols 400
 * @throws AwsError AccessDeniedException
 */
export function requireAccess(authorize: Authorize | undefined, request: AccessRequest, status = 403): void {
  if (authorize === undefined || authorize(request)) return;
  const { accessKeyId, action, resource } = request;
  throw new AwsError(
    status,
    "AccessDeniedException",
    `User: ${accessKeyId} is not authorized to perform: ${action} on resource: ${resource}`,
  );
}
