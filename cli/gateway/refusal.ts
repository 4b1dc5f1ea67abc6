import { code } from "../../shared/protocol/errors.ts";
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

/** The error of a socket end that forbids reconnecting. Undefined when the client should reconnect. */
export function finalEnd(end: SocketEnd, connected: boolean, clientId: string): RequestError | undefined {
  if (end.status === 401 || end.code === 4001) {
    return new RequestError(code.unauthorized, `the gateway refused the token (${end.reason})`);
  }
  if (end.status === 403) {
    return new RequestError(
      code.forbidden,
      "the gateway refused the connection (HTTP 403): check the url and the token",
    );
  }
  // API Gateway closes with 1000 only when the gateway deletes the connection. Its own limits close with
  // 1001.
  if (end.code === 1000 && connected) {
    const message = `the gateway ended the connection: another "${clientId}" has taken its place, or the token was revoked`;
    return new RequestError(code.conflict, message);
  }
  return undefined;
}
