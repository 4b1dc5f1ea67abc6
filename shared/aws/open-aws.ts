import { type Environment, readEnvironment } from "../runtime/environment.ts";
import type { Bucket, Presigner, Schedules, Secrets, WakeAgent, World } from "../world/world.ts";
import { openApiGatewaySockets } from "./api-gateway-sockets.ts";
import { openDynamoDBTable } from "./dynamodb-table.ts";
import { lazily } from "./lazily.ts";

/**
 * The world on AWS. Only the clients of DynamoDB and of @connections are loaded at cold start, because every
 * invocation needs them; each other client is loaded when it is first used.
 * @throws Error that names every environment variable that is missing
 */
export function openAws(environment: Environment = readEnvironment()): World {
  return {
    table: openDynamoDBTable(environment.tableName),
    bucket: openBucket(environment.bucketName),
    presigner: openPresigner(environment.bucketName),
    sockets: openApiGatewaySockets(environment.webSocketApiEndpoint),
    schedules: openSchedules(environment),
    secrets: openSecrets(environment.ssmPrefix),
    wake: openWake(environment.agentFunction),
    webhookUrl: environment.webhookUrl,
    requiresHeader: environment.requireHeader !== undefined,
    now: Date.now,
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

function openWake(agentFunction: string): WakeAgent {
  const { wake } = lazily<{ wake: WakeAgent }>({ wake: true }, async () => ({
    wake: (await import("./lambda-wake.ts")).openLambdaWake(agentFunction),
  }));
  return wake;
}
