import { randomUUID } from "node:crypto";
import { arn } from "../../../local/http/aws-account.ts";
import { AwsError } from "../../../local/http/aws-error.ts";
import {
  decodeSegment,
  type HttpHandler,
  type HttpRequest,
  type HttpResponse,
  json,
} from "../../../local/http/http-endpoint.ts";
import type { Connection } from "../../../local/websocket/connections.ts";
import { apiGatewayLimits, type WebSocketLimits } from "../../../local/websocket/websocket-limits.ts";
import { type Authorize, callerOf, requireAccess } from "./access.ts";

export interface ConnectionsApiOptions {
  /** The open connections by their id. */
  connections: ReadonlyMap<string, Connection>;
  stage: string;
  apiId: string;
  limits?: Partial<WebSocketLimits>;
  authorize?: Authorize;
}

/**
 * The @connections API of a WebSocket API: POST sends to a connection, GET describes it, DELETE ends it. A connection
 * that has ended, or whose $connect is still running, is 410 GoneException, one of another stage is 403
 * ForbiddenException, and one whose client does not read is 429 LimitExceededException.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-how-to-call-websocket-api-connections.html
 */
export function connectionsApi(options: ConnectionsApiOptions): HttpHandler {
  return async (request) => {
    try {
      return await handle(request, options);
    } catch (error) {
      if (!(error instanceof AwsError)) throw error;
      const connectionId = connectionIdOf(request.path, options.stage);
      const body = {
        message: error.message,
        ...(connectionId ? { connectionId } : {}),
        requestId: randomUUID(),
      };
      return json(error.status, body, { "x-amzn-errortype": error.code });
    }
  };
}

async function handle(request: HttpRequest, options: ConnectionsApiOptions): Promise<HttpResponse> {
  const { method, path, body } = request;
  if (/^\/[^/]+\/@connections\/[^/]+$/.test(path) && !path.startsWith(`/${options.stage}/`))
    throw new AwsError(403, "ForbiddenException", "Forbidden");
  const connectionId = connectionIdOf(path, options.stage);
  if (connectionId === undefined) throw new AwsError(426, "UpgradeRequired", "Upgrade Required");
  const accessKeyId = callerOf(request);
  const { apiId, stage, authorize, connections } = options;
  const resource = arn("execute-api", `${apiId}/${stage}/${method}/@connections/${connectionId}`);
  requireAccess(authorize, { accessKeyId, action: "execute-api:ManageConnections", resource });
  const connection = connections.get(connectionId);
  if (!connection?.isOpen()) throw new AwsError(410, "GoneException", "Gone");
  switch (method) {
    case "POST":
      return post(connection, body, options.limits?.messageBytes ?? apiGatewayLimits.messageBytes);
    case "GET":
      return json(200, describe(connection));
    case "DELETE":
      connection.close(1000, "");
      return { status: 204 };
    default:
      throw new AwsError(403, "MissingAuthenticationTokenException", "Missing Authentication Token");
  }
}

/** The path starts with the stage or not, as the API is called by its own domain or by a mapped one. */
function connectionIdOf(path: string, stage: string): string | undefined {
  const [, first = "", ...rest] = path.split("/").map(decodeSegment);
  const segments = first === stage ? rest : [first, ...rest];
  return segments[0] === "@connections" && segments.length === 2 ? segments[1] : undefined;
}

function post(connection: Connection, body: Buffer, maxBytes: number): HttpResponse {
  if (body.length > maxBytes) throw new AwsError(413, "PayloadTooLargeException", "Payload too large");
  const sent = connection.send(body);
  if (sent === "full")
    throw new AwsError(429, "LimitExceededException", "The client does not read its messages");
  if (!sent) throw new AwsError(410, "GoneException", "Gone");
  return { status: 200 };
}

function describe({ connectedAt, sourceIp, userAgent, lastActiveAt }: Connection): object {
  return {
    connectedAt: new Date(connectedAt).toISOString(),
    identity: { sourceIp, userAgent: userAgent ?? "" },
    lastActiveAt: new Date(lastActiveAt()).toISOString(),
  };
}
