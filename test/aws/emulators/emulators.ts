import * as names from "../../../local/cloud-names.ts";
import { type FunctionSettings, stackFunctions } from "../../../local/lambda/host.ts";
import type { Machine } from "../../../local/machine.ts";
import type { Authorize } from "./access.ts";
import { startDynamoDB } from "./dynamodb/dynamodb.ts";
import { startLambda } from "./lambda/lambda.ts";
import { type AuthorizeS3, startS3 } from "./s3/s3-server.ts";
import { startScheduler } from "./scheduler.ts";
import { startSsm } from "./ssm.ts";

/** Addresses of the services that other programs may use. */
export interface PublishedUrls {
  dynamodb: string;
  s3: string;
  scheduler: string;
}

/** Addresses of all services that the functions call. */
export interface ServiceUrls extends PublishedUrls {
  lambda: string;
  ssm: string;
}

/** Serves the table, the bucket and the schedules of a machine over the AWS protocols. */
export async function publishStores(
  machine: Machine,
  authorize?: Authorize,
  corsOrigins?: readonly string[],
): Promise<PublishedUrls> {
  const { items, objects, schedules, onError } = machine;
  const dynamodb = await machine.open("dynamodb", (port) =>
    startDynamoDB({ store: items, table: names.tableName, port, authorize, onError }),
  );
  const s3 = await machine.open("s3", (port) =>
    startS3({ store: objects, port, authorize: authorizeS3(authorize), corsOrigins }),
  );
  const scheduler = await machine.open("scheduler", (port) =>
    startScheduler({ schedules, port, authorize, onError }),
  );
  return { dynamodb: dynamodb.url, s3: s3.url, scheduler: scheduler.url };
}

/** Serves all services that the functions call: the stores, Lambda's Invoke, and the parameters. */
export async function startServices(
  machine: Machine,
  authorize?: Authorize,
  corsOrigins?: readonly string[],
): Promise<ServiceUrls> {
  const { host, invocations, parameters, onError } = machine;
  const published = await publishStores(machine, authorize, corsOrigins);
  const lambda = await machine.open("lambda", (port) =>
    startLambda({ host, invocations, invokesItself, port, authorize, onError }),
  );
  const ssm = await machine.open("ssm", (port) => startSsm({ parameters, port, authorize, onError }));
  return { ...published, lambda: lambda.url, ssm: ssm.url };
}

function invokesItself(name: string): boolean {
  const settings: Record<string, FunctionSettings> = stackFunctions;
  return settings[name]?.invokesItself === true;
}

function authorizeS3(authorize: Authorize | undefined): AuthorizeS3 | undefined {
  if (authorize === undefined) return undefined;
  return ({ accessKeyId, ...request }) => {
    if (accessKeyId === undefined) return "it is not signed";
    return authorize({ accessKeyId, ...request }) ? undefined : "no policy allows it";
  };
}
