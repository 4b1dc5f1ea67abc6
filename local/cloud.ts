import { constants } from "node:fs";
import { access, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { leaseMs } from "../shared/session/lease.ts";
import { openLogs } from "./dev/dev-logs.ts";
import { startDynamoDB } from "./dynamodb/dynamodb.ts";
import * as names from "./environment.ts";
import type { Authorize } from "./http/access.ts";
import { startFunctionUrl } from "./http/function-url.ts";
import type { Endpoint } from "./http/http-endpoint.ts";
import { type JsonFile, openJsonFile } from "./json-file.ts";
import {
  type AsyncInvocationOptions,
  type AsyncInvocations,
  openAsyncInvocations,
} from "./lambda/async-invocations.ts";
import { type LateHost, openLateHost } from "./lambda/deferred-host.ts";
import { type FunctionHost, type FunctionLog, functionArn } from "./lambda/host.ts";
import { startInProcessHost } from "./lambda/in-process-host.ts";
import { startLambda } from "./lambda/lambda.ts";
import { type ProcessHost, startProcessHost } from "./lambda/process-host.ts";
import { type CloudFile, onRememberedPort } from "./remembered-ports.ts";
import { type AuthorizeS3, startS3 } from "./s3/s3-server.ts";
import type { Schedules } from "./scheduler/schedule-store.ts";
import { startScheduler } from "./scheduler/scheduler.ts";
import { startSsm } from "./ssm/ssm.ts";
import { startWebSocketApi } from "./websocket/websocket-api.ts";
import type { WebSocketLimits } from "./websocket/websocket-limits.ts";
import { StoreLockedError } from "./world/table/store-errors.ts";

export interface CloudOptions {
  /** Folder of everything that lasts; one cloud uses it at a time. */
  dir: string;
  /** Port of the WebSocket API; without one the port that it had last, or a free one. */
  port?: number;
  /**
   * What runs the functions: their sources in this process, the built bundles in processes of their own, or a host
   * that is made with the functions' environment.
   */
  host: "in-process" | "bundles" | ((env: Record<string, string>, log: FunctionLog) => FunctionHost);
  /** Added to the functions' environment. */
  env?: Record<string, string>;
  /** How many times faster than the clock schedules come due. */
  acceleration?: number;
  /** Asked before each AWS call; without it every signed call is allowed. */
  authorize?: Authorize;
  limits?: Partial<WebSocketLimits>;
  /** Retries, duplicates and delays of asynchronous invocations. */
  invocations?: Pick<AsyncInvocationOptions, "retryDelaysMs" | "duplicate" | "delayMs">;
  /** Receives what the functions print, and the faults of the cloud itself as `cloud`; by default `{dir}/logs`. */
  log?: FunctionLog;
}

/** A running cloud. All addresses are on 127.0.0.1. */
export interface Cloud<Host extends FunctionHost = FunctionHost> {
  /** Address of the WebSocket API's stage. */
  ws: string;
  /** The webhook function's URL, without a trailing slash. */
  webhook: string;
  dynamodb: string;
  s3: string;
  scheduler: string;
  lambda: string;
  ssm: string;
  table: string;
  bucket: string;
  /** What the functions see, without their own access keys. */
  env: Record<string, string>;
  host: Host;
  schedules: Schedules;
  /** Invokes a function and returns its result. @throws FunctionError, UnknownFunctionError */
  fire(name: string, event: unknown): Promise<unknown>;
  /** Ends everything; invocations that run have two seconds. */
  close(): Promise<void>;
}

/** Why the cloud cannot start, in one line for the user. */
export class CloudStartError extends Error {}

type Closer = () => Promise<void>;

const graceMs = 2000;

/**
 * Starts AWS as the application uses it, on this machine: DynamoDB, S3, the WebSocket API, the function URL,
 * EventBridge Scheduler, Lambda and SSM, with the functions behind them.
 * @throws CloudStartError when the folder is in use or cannot be written, PortInUseError for `port`
 */
export function startCloud(options: CloudOptions & { host: "bundles" }): Promise<Cloud<ProcessHost>>;
export function startCloud(options: CloudOptions): Promise<Cloud>;
export async function startCloud(options: CloudOptions): Promise<Cloud> {
  const file = await openFolder(options.dir);
  const closers: Closer[] = [];
  try {
    return await start(options, file, closers);
  } catch (error) {
    await closeAll(closers);
    if (!(error instanceof StoreLockedError)) throw error;
    const holder = file.value.pid === undefined ? "another process" : `the process ${file.value.pid}`;
    throw new CloudStartError(`${options.dir} is in use by ${holder}`);
  }
}

/** What the parts of a starting cloud share. */
interface Ground {
  options: CloudOptions;
  log: FunctionLog;
  onError: (error: unknown) => void;
  late: LateHost;
  invocations: AsyncInvocations;
  /** Starts an endpoint on its port and takes care of its end. */
  open<T extends Endpoint>(name: string, begin: (port: number) => Promise<T>): Promise<T>;
}

async function start(options: CloudOptions, file: JsonFile<CloudFile>, closers: Closer[]): Promise<Cloud> {
  const ground = prepare(options, file, closers);
  const { log, late, invocations } = ground;
  const dynamodb = await openDynamoDB(ground, file);
  const { s3, ssm, lambda, scheduler } = await openServices(ground);
  closers.push(async () => {
    scheduler.schedules.stop();
    invocations.close();
    await late.settle(graceMs);
    await late.close();
  });
  const { ws, webhook } = await openDoors(ground);
  await file.save();

  const urls = {
    dynamodb: dynamodb.url,
    s3: s3.url,
    scheduler: scheduler.url,
    lambda: lambda.url,
    ssm: ssm.url,
  };
  const connections = `http://127.0.0.1:${ws.port}`;
  const env = {
    ...names.functionEnvironment({ ...urls, connections, webhook: webhook.url }),
    ...options.env,
  };
  const host = startHost(options.host, env, log);
  late.set(host);
  await createSweep(scheduler.schedules);
  scheduler.schedules.start();
  sweepAfterLeases(invocations.invoke, closers);
  return {
    ...urls,
    ws: `${ws.url}/${names.webSocketStage}`,
    webhook: webhook.url,
    table: names.tableName,
    bucket: names.bucketName,
    env,
    host,
    schedules: scheduler.schedules,
    fire: late.invoke,
    close: () => closeAll(closers),
  };
}

/**
 * An earlier process may have been killed while its functions held sessions. Their leases run out, but the next sweep of
 * the schedule may be another minute away: one more comes as soon as they have.
 */
function sweepAfterLeases(invoke: (name: string, event: unknown) => void, closers: Closer[]): void {
  const timer = setTimeout(() => invoke("timer", { kind: "sweep" }), leaseMs + 500);
  closers.push(async () => clearTimeout(timer));
}

function prepare(options: CloudOptions, file: JsonFile<CloudFile>, closers: Closer[]): Ground {
  const log = options.log ?? openLogs(join(options.dir, "logs"));
  const onError = (error: unknown) => log("cloud", describe(error));
  const late = openLateHost();
  const invocations = openAsyncInvocations({
    ...options.invocations,
    host: late,
    onFailure: (name, _event, error, last) =>
      onError(new Error(`${name} failed${last ? " and is given up" : ""}: ${describe(error)}`)),
  });
  return {
    options,
    log,
    onError,
    late,
    invocations,
    async open(name, begin) {
      const endpoint = await onRememberedPort(file, name, begin);
      closers.push(() => endpoint.close());
      return endpoint;
    },
  };
}

/** First of all, because its store is the lock on the folder. */
async function openDynamoDB(
  { options, open, onError }: Ground,
  file: JsonFile<CloudFile>,
): Promise<Endpoint> {
  const { dir, authorize } = options;
  const dynamodb = await open("dynamodb", (port) =>
    startDynamoDB({ dir: join(dir, "dynamodb"), table: names.tableName, port, authorize, onError }),
  );
  file.value.pid = process.pid;
  await file.save();
  return dynamodb;
}

async function openServices({ options, late, invocations, open, onError }: Ground) {
  const { dir, authorize, acceleration } = options;
  const buckets = [names.bucketName];
  return {
    s3: await open("s3", (port) =>
      startS3({
        dir: join(dir, "s3"),
        buckets,
        port,
        authorize: authorizeS3(authorize),
        expirations: names.expirations,
      }),
    ),
    ssm: await open("ssm", (port) => startSsm({ dir, port, authorize, onError })),
    lambda: await open("lambda", (port) =>
      startLambda({ host: late, invocations, port, authorize, onError }),
    ),
    scheduler: await open("scheduler", (port) => {
      const groups = [names.scheduleGroup];
      return startScheduler({
        dir,
        groups,
        invoke: invocations.invoke,
        acceleration,
        port,
        authorize,
        onError,
      });
    }),
  };
}

/** Where the outside comes in. */
async function openDoors({ options, late, open, onError }: Ground) {
  const begin = (port: number) =>
    startWebSocketApi({
      invoke: (event) => late.invoke("socket", event),
      stage: names.webSocketStage,
      apiId: names.webSocketApiId,
      port,
      limits: options.limits,
      authorize: options.authorize,
      onError,
    });
  const { port } = options;
  return {
    ws: await open("ws", port === undefined || port === 0 ? begin : () => begin(port)),
    webhook: await open("webhook", (port) =>
      startFunctionUrl({ invoke: (event) => late.invoke("webhook", event), port, onError }),
    ),
  };
}

function startHost(host: CloudOptions["host"], env: Record<string, string>, log: FunctionLog): FunctionHost {
  if (host === "in-process") return startInProcessHost({ env, log });
  if (host === "bundles") return startProcessHost({ env, log });
  return host(env, log);
}

/** The stack's recurring schedule; the same request again changes nothing. */
async function createSweep(schedules: Schedules): Promise<void> {
  await schedules.create(names.scheduleGroup, "sweep", {
    expression: "rate(1 minute)",
    target: {
      Arn: functionArn("timer"),
      RoleArn: names.scheduleRoleArn,
      Input: JSON.stringify({ kind: "sweep" }),
    },
    enabled: true,
    deleteAfterCompletion: false,
    clientToken: "sweep",
  });
}

function authorizeS3(authorize: Authorize | undefined): AuthorizeS3 | undefined {
  if (authorize === undefined) return undefined;
  return ({ accessKeyId, ...request }) => {
    if (accessKeyId === undefined) return "it is not signed";
    return authorize({ accessKeyId, ...request }) ? undefined : "no policy allows it";
  };
}

/** @throws CloudStartError when the folder cannot be made */
async function openFolder(dir: string): Promise<JsonFile<CloudFile>> {
  try {
    const made = await mkdir(dir, { recursive: true, mode: 0o700 });
    await access(dir, constants.W_OK);
    // It holds tokens and keys, and may lie in a project: nobody is to commit it.
    if (made !== undefined) await writeFile(join(dir, ".gitignore"), "*\n");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CloudStartError(`cannot write to the folder ${dir} (${code})`);
  }
  return openJsonFile<CloudFile>(join(dir, "cloud.json"), { ports: {} });
}

/** In the reverse order of their start. */
async function closeAll(closers: Closer[]): Promise<void> {
  for (let close = closers.pop(); close !== undefined; close = closers.pop()) await close();
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
