import type { APIGatewayProxyWebsocketEventV2 } from "aws-lambda";
import { createActivity, recordFailures } from "../../shared/channels/activity.ts";
import { openBridges } from "../../shared/channels/bridge/bridge.ts";
import { channels } from "../../shared/channels/channels.ts";
import { createChannelSender } from "../../shared/channels/outbound/sender.ts";
import { cacheSecrets } from "../../shared/configuration/secret-cache.ts";
import { openConfiguration } from "../../shared/configuration/store.ts";
import { loadMemories } from "../../shared/memory/load-memories.ts";
import { createBroadcast } from "../../shared/peers/broadcast.ts";
import { openPayloads, sendByReference } from "../../shared/peers/payloads.ts";
import { createTokenVerifier } from "../../shared/peers/tokens.ts";
import { createSegments, removeNotes } from "../../shared/recall/segments.ts";
import { watchInvocations } from "../../shared/runtime/faults.ts";
import { wrapHandler } from "../../shared/runtime/handler.ts";
import { createSkillLister } from "../../shared/skills/skill-lister.ts";
import { openWorkspace } from "../../shared/workspace/workspace-files.ts";
import type { World } from "../../shared/world/world.ts";
import { endLostCalls } from "./calls/end-lost-calls.ts";
import { handleFrame } from "./frame.ts";
import type { Gateway } from "./gateway.ts";
import { closeSocket, openSocket } from "./socket-lifecycle.ts";

/** API Gateway's event. Only that of `$connect` has headers. */
type SocketEvent = APIGatewayProxyWebsocketEventV2 & { headers?: Record<string, string | undefined> };

interface SocketAnswer {
  statusCode: number;
}

/** The socket function's handler, for all routes of the WebSocket API. */
export function createSocketHandler(world: World) {
  const gateway = createGateway(world);
  return wrapHandler<SocketEvent, SocketAnswer>("socket", (event) => route(gateway, event), {
    fields: ({ requestContext: { routeKey, connectionId } }) => ({ routeKey, connectionId }),
    onError: () => ({ statusCode: 500 }),
    watch: watchInvocations(world.table, "socket", world.now),
  });
}

async function route(
  gateway: Gateway,
  { requestContext: { eventType, connectionId, connectedAt }, headers = {}, body = "" }: SocketEvent,
): Promise<SocketAnswer> {
  // Not by route: API Gateway chooses a frame's route by the `action` in its body, which the peer controls.
  switch (eventType) {
    case "CONNECT":
      return {
        statusCode: await openSocket(
          gateway,
          { connectionId, openedAt: connectedAt },
          {
            token: headerOf(headers, "authorization")
              ?.replace(/^Bearer\s+/i, "")
              .trim(),
            origin: headerOf(headers, "origin"),
          },
        ),
      };
    case "DISCONNECT":
      await disconnect(gateway, connectionId, connectedAt);
      return { statusCode: 200 };
    case "MESSAGE":
      await handleFrame(gateway, { connectionId, openedAt: connectedAt }, body);
      return { statusCode: 200 };
  }
}

/** Removes the socket, and ends the calls that its node was running, which may take longer than the grace period. */
async function disconnect(gateway: Gateway, connectionId: string, openedAt: number): Promise<void> {
  const nodeId = await closeSocket(gateway, connectionId, openedAt);
  if (nodeId !== undefined) await endLostCalls(gateway, nodeId, connectionId);
}

function createGateway(world: World): Gateway {
  const { table, bucket, now } = world;
  const payloads = openPayloads(bucket, world.presigner);
  const sockets = sendByReference(world.sockets, { table, payloads, now });
  const configuration = openConfiguration(table, world.secrets, { now, model: world.defaultModel });
  const secrets = cacheSecrets(world.secrets, configuration, now);
  const activity = createActivity(table, now);
  const segments = createSegments(bucket);
  const workspace = openWorkspace(bucket, undefined, (agentId, path) =>
    removeNotes(segments, agentId, [path]),
  );
  const bridges = openBridges({
    table,
    sockets,
    activity,
    payloads,
    platforms: channels,
    configuration,
    now,
  });
  const broadcast = createBroadcast(table, sockets, now);
  return {
    table,
    bucket,
    sockets,
    payloads,
    presigner: world.presigner,
    schedules: world.schedules,
    wake: world.wake,
    configuration,
    broadcast,
    secrets,
    channels,
    activity,
    webhookUrl: world.webhookUrl,
    bridges,
    sender: recordFailures(createChannelSender({ table, secrets, configuration, bridges, now }), activity),
    workspace,
    ...loadMemories({ table, bucket, workspace }, segments),
    skills: createSkillLister(bucket),
    tokens: createTokenVerifier(table, now),
    connected: new Map(),
    closing: {},
    requiresHeader: world.requiresHeader ?? false,
    pageOrigins: world.pageOrigins ?? [],
    mcpUrl: world.mcpUrl,
    now,
    pause: world.pause,
    servers: {
      ...{ table, configuration, now, pause: world.pause, serverSecrets: world.secrets },
      ...(world.webhookUrl === undefined ? {} : { webhookUrl: world.webhookUrl }),
    },
  };
}

/** The value of a header; undefined without one, and for an empty one. */
function headerOf(headers: Record<string, string | undefined>, wanted: string): string | undefined {
  const name = Object.keys(headers).find((header) => header.toLowerCase() === wanted);
  return (name && headers[name]) || undefined;
}
