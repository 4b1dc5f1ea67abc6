import { setTimeout } from "node:timers/promises";
import {
  ApiGatewayManagementApiClient,
  DeleteConnectionCommand,
  ForbiddenException,
  GoneException,
  LimitExceededException,
  PayloadTooLargeException,
  PostToConnectionCommand,
} from "@aws-sdk/client-apigatewaymanagementapi";
import { maxFrameBytes } from "../protocol/frames.ts";
import { type Environment, readEnvironment } from "../runtime/environment.ts";
import { openFormatted } from "../world/stored-format.ts";
import type {
  Bucket,
  Metrics,
  Posted,
  Presigner,
  Schedules,
  Secrets,
  Sockets,
  WakeAgent,
  World,
} from "../world/world.ts";
import { clientSettings, type SocketLimits, socketLimits } from "./call-limits.ts";
import { openDynamoDBTable } from "./dynamodb-table.ts";

/**
 * The world on AWS. Only the clients of DynamoDB and of @connections are loaded at cold start, because every
 * invocation needs them; other clients are loaded on first use.
 * @throws Error that names every missing environment variable
 */
export function openAws(environment: Environment = readEnvironment()): World {
  return {
    table: openFormatted(openDynamoDBTable(environment.tableName)),
    bucket: openBucket(environment.bucketName),
    presigner: openPresigner(environment.bucketName),
    sockets: openApiGatewaySockets(environment.webSocketApiEndpoint),
    schedules: openSchedules(environment),
    secrets: openSecrets(environment.ssmPrefix),
    wake: openWake(environment.agentFunction),
    maxAgents: environment.maxAgents === undefined ? undefined : Number(environment.maxAgents),
    webhookUrl: environment.webhookUrl,
    gatewayUrl: environment.webSocketApiEndpoint.replace(/^http/, "ws"),
    requiresHeader: environment.requireHeader !== undefined,
    mcpUrl: environment.mcpUrl,
    defaultModel: environment.defaultModel && JSON.parse(environment.defaultModel),
    pageOrigins: environment.pageOrigins?.split(",") ?? [],
    ...(environment.metricsNamespace === undefined ? {} : { metrics: openMetrics() }),
    now: Date.now,
    pause: (ms) => setTimeout(ms, true),
  };
}

function openBucket(bucketName: string): Bucket {
  const methods = {
    get: true,
    getIfChanged: true,
    head: true,
    getStream: true,
    put: true,
    putStream: true,
    delete: true,
    list: true,
  } as const;
  return lazily<Bucket>(methods, async () => (await import("./s3-bucket.ts")).openS3Bucket(bucketName));
}

function openPresigner(bucketName: string): Presigner {
  return lazily<Presigner>({ get: true, put: true }, async () =>
    (await import("./s3-presigner.ts")).openS3Presigner(bucketName),
  );
}

function openSchedules(environment: Environment): Schedules {
  return lazily<Schedules>({ once: true }, async () =>
    (await import("./eventbridge-schedules.ts")).openEventBridgeSchedules(environment),
  );
}

function openSecrets(prefix: string): Secrets {
  return lazily<Secrets>({ get: true, put: true, delete: true }, async () =>
    (await import("./ssm-secrets.ts")).openSsmSecrets(prefix),
  );
}

function openMetrics(): Metrics {
  return lazily<Metrics>({ record: true }, async () => (await import("./emf-metrics.ts")).openEmfMetrics());
}

function openWake(agentFunction: string): WakeAgent {
  const { wake } = lazily<{ wake: WakeAgent }>({ wake: true }, async () => ({
    wake: (await import("./lambda-wake.ts")).openLambdaWake(agentFunction),
  }));
  return wake;
}

/** An object whose methods are all asynchronous. */
type Asynchronous<T> = { [Name in keyof T]: (...args: never[]) => Promise<unknown> };

/**
 * Creates an object at the first call of one of its methods, so that a cold start does not load clients that
 * are rarely used.
 * @param names all methods; a missing one is a type error
 * @param make should import a module of this project rather than the SDK, so that the bundle contains only
 * the used parts of the SDK
 */
function lazily<T extends Asynchronous<T>>(names: Record<keyof T, true>, make: () => Promise<T>): T {
  let made: Promise<T> | undefined;
  const calling =
    (name: keyof T) =>
    async (...args: never[]): Promise<unknown> => {
      made ??= make();
      return (await made)[name](...args);
    };
  const methods = (Object.keys(names) as (keyof T)[]).map((name) => [name, calling(name)]);
  return Object.fromEntries(methods) as T;
}

/**
 * Connections of an API Gateway WebSocket API, reached by its @connections API.
 * @param endpoint the API's callback URL, `https://{api}.execute-api.{region}.amazonaws.com/{stage}`
 */
export function openApiGatewaySockets(endpoint: string, limits: SocketLimits = socketLimits): Sockets {
  const client = new ApiGatewayManagementApiClient({ endpoint, ...clientSettings(limits) });
  // Both send on the same HTTP connections.
  const { requestHandler } = client.config;
  const trier = new ApiGatewayManagementApiClient({ endpoint, maxAttempts: 1, requestHandler });
  return {
    async post(connectionId, frame, { once = false } = {}) {
      const text = JSON.stringify(frame);
      if (Buffer.byteLength(text) > maxFrameBytes) return "too large";
      const command = new PostToConnectionCommand({ ConnectionId: connectionId, Data: Buffer.from(text) });
      try {
        await (once ? trier.send(command, { requestTimeout: limits.onceMs }) : client.send(command));
        return "sent";
      } catch (error) {
        const outcome = outcomeOf(error, once);
        if (outcome === undefined) throw error;
        return outcome;
      }
    },
    async close(connectionId) {
      try {
        await client.send(new DeleteConnectionCommand({ ConnectionId: connectionId }));
      } catch (error) {
        if (!isGone(error)) throw error;
      }
    },
  };
}

/** The outcome of a failed post for its connection; undefined for any other error. */
function outcomeOf(error: unknown, once: boolean): Posted | undefined {
  if (isGone(error)) return "gone";
  if (error instanceof PayloadTooLargeException) return "too large";
  // API Gateway answers 429 while the buffer of the connection's client is full.
  if (error instanceof LimitExceededException) return "busy";
  if (once && error instanceof Error && error.name === "TimeoutError") return "busy";
  return undefined;
}

/**
 * ForbiddenException means that the connection does not belong to this API. A role without permission to post gets
 * AccessDeniedException, which is a deployment error.
 */
function isGone(error: unknown): boolean {
  return error instanceof GoneException || error instanceof ForbiddenException;
}
