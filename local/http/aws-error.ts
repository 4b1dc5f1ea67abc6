import {
  type AccessRequest,
  type Authorize,
  accessKeyIdOf,
  foreignHost,
  isAddressedLocally,
} from "./access.ts";
import type { HttpRequest } from "./http-endpoint.ts";

/** An error response of an AWS API. Each emulator encodes it in its own protocol. */
export class AwsError extends Error {
  readonly status: number;
  /** The exception's name in the API, e.g. `ResourceNotFoundException`. */
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
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
