import type { APIGatewayProxyWebsocketEventV2 } from "aws-lambda";
import { openBucket } from "../../shared/aws/bucket.ts";
import { openAgent } from "../../shared/aws/invoke.ts";
import { openPresigner } from "../../shared/aws/presign.ts";
import { openSchedules } from "../../shared/aws/schedules.ts";
import { openSecrets } from "../../shared/aws/secrets.ts";
import { openSockets } from "../../shared/aws/sockets.ts";
import { openTable } from "../../shared/aws/table.ts";
import { createBroadcast } from "../../shared/broadcast.ts";
import { createActivity, noteFailures } from "../../shared/channels/activity.ts";
import { openBridges } from "../../shared/channels/bridge.ts";
import { channels } from "../../shared/channels/channels.ts";
import { createChannelSender } from "../../shared/channels/sender.ts";
import { readEnvironment } from "../../shared/config.ts";
import { openConfiguration } from "../../shared/configuration/store.ts";
import { once, wrapHandler } from "../../shared/handler.ts";
import { openPayloads, sendByReference } from "../../shared/payloads.ts";
import { createTokenVerifier } from "../../shared/tokens.ts";
import { openWorkspace } from "../../shared/workspace/files.ts";
import { handleFrame } from "./frame.ts";
import type { Gateway } from "./gateway.ts";
import { closeSocket, openSocket } from "./lifecycle.ts";

const gateway = once((): Gateway => {
  const environment = readEnvironment();
  const now = Date.now;
  const table = openTable(environment.tableName);
  const bucket = openBucket(environment.bucketName);
  const payloads = openPayloads(bucket, openPresigner(environment.bucketName));
  const sockets = sendByReference(openSockets(environment.webSocketApiEndpoint), { table, payloads, now });
  const secrets = openSecrets(environment.ssmPrefix);
  const configuration = openConfiguration(table, secrets);
  const activity = createActivity(table, now);
  const bridges = openBridges({ table, sockets, activity, payloads, limits: channels, now });
  return {
    table,
    bucket,
    sockets,
    payloads,
    schedules: openSchedules(environment),
    wake: openAgent(environment.agentFunction),
    configuration,
    broadcast: createBroadcast(table, sockets, now),
    secrets,
    channels,
    activity,
    webhookUrl: environment.webhookUrl,
    bridges,
    sender: noteFailures(createChannelSender({ table, secrets, configuration, bridges, now }), activity),
    workspace: openWorkspace(bucket),
    tokens: createTokenVerifier(table),
    connected: new Map(),
    now,
  };
});

/** API Gateway's event; only `$connect` carries headers. */
type SocketEvent = APIGatewayProxyWebsocketEventV2 & { headers?: Record<string, string | undefined> };

interface SocketAnswer {
  statusCode: number;
}

export const handler = wrapHandler<SocketEvent, SocketAnswer>(
  "socket",
  async ({ requestContext: { routeKey, connectionId, connectedAt }, headers = {}, body = "" }) => {
    switch (routeKey) {
      case "$connect":
        return { statusCode: await openSocket(gateway(), connectionId, connectedAt, bearerOf(headers)) };
      case "$disconnect":
        await closeSocket(gateway(), connectionId);
        return { statusCode: 200 };
      default:
        await handleFrame(gateway(), connectionId, body);
        return { statusCode: 200 };
    }
  },
  {
    fields: ({ requestContext: { routeKey, connectionId } }) => ({ routeKey, connectionId }),
    onError: () => ({ statusCode: 500 }),
  },
);

function bearerOf(headers: Record<string, string | undefined>): string | undefined {
  const name = Object.keys(headers).find((header) => header.toLowerCase() === "authorization");
  const value = name && headers[name];
  return value ? value.replace(/^Bearer\s+/i, "").trim() : undefined;
}
