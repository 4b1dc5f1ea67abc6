import { code, type PlaceTaken } from "../../shared/protocol/errors.ts";
import { RequestError } from "./request-error.ts";
import type { SocketEnd } from "./socket.ts";

/** Error codes of `connect` that a retry cannot fix: version, mode, parameters, token, role. */
const finalCodes: number[] = [
  code.unsupportedVersion,
  code.badClient,
  code.badRequest,
  code.unauthorized,
  code.forbidden,
  code.notFound,
];

/** Whether an error response to `connect` with this code ends the connection permanently. */
export function isFinalRefusal(errorCode: number): boolean {
  return finalCodes.includes(errorCode);
}

/** Max consecutive attempts answered 403. API Gateway answers 403 for some seconds after a deployment. */
const maxForbidden = 6;

/** The details of a refusal because another process uses the node's id; undefined for any other error. */
export function placeTaken(error: unknown): PlaceTaken | undefined {
  const details =
    error instanceof RequestError ? (error.details as Partial<PlaceTaken> | undefined) : undefined;
  return details?.taken === true ? (details as PlaceTaken) : undefined;
}

/**
 * Delay in ms before a node that was replaced `losses` times reclaims its id. It doubles each time, up to an hour, so
 * that two nodes with one id do not replace each other all the time.
 */
export function reclaimDelay(minMs: number, losses: number): number {
  return Math.min(3_600_000, minMs * 2 ** (losses - 1));
}

/** The error of a connection that the gateway ended permanently with the event `connection.ended`. */
export function endedFor(reason: "superseded" | "revoked", clientId: string): RequestError {
  if (reason === "revoked")
    return new RequestError(code.unauthorized, "the gateway ended the connection: its token was revoked");
  const message = `the gateway ended the connection: another "${clientId}" has taken its place`;
  return new RequestError(code.conflict, message);
}

/**
 * The error of a socket end that forbids reconnecting. Undefined when the client should reconnect, for example after
 * close code 1000, with which API Gateway ends a connection after two hours.
 * @param forbidden number of consecutive attempts answered 403, including this one
 */
export function finalEnd(end: SocketEnd, forbidden: number): RequestError | undefined {
  if (end.status === 401 || end.code === 4001) {
    return new RequestError(code.unauthorized, `the gateway refused the token (${end.reason})`);
  }
  if (end.status === 403 && forbidden >= maxForbidden) {
    return new RequestError(
      code.forbidden,
      "the gateway refused the connection (HTTP 403): check the url and the token",
    );
  }
  return undefined;
}
