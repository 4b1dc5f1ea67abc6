import * as names from "../../../local/cloud-names.ts";
import type { FunctionHost, FunctionLog } from "../../../local/lambda/host.ts";
import { startListeners } from "../../../local/listeners.ts";
import { type Machine, type MachineOptions, openMachine } from "../../../local/machine.ts";
import type { Schedules } from "../../../local/scheduler/schedule-store.ts";
import type { WebSocketLimits } from "../../../local/websocket/websocket-limits.ts";
import { leaseMs } from "../../../shared/session/lease.ts";
import type { Authorize } from "./access.ts";
import { connectionsApi } from "./connections-api.ts";
import { type ServiceUrls, startServices } from "./emulators.ts";
import { functionEnvironment } from "./function-environment.ts";
import { type ProcessHost, startProcessHost } from "./lambda/process-host.ts";

export interface CloudOptions extends MachineOptions {
  /** Port of the WebSocket API. Default: its previous port, or a free one. */
  port?: number;
  /**
   * `bundles`: run the built bundles in child processes. Otherwise: creates a host from the functions'
   * environment.
   */
  host: "bundles" | ((env: Record<string, string>, log: FunctionLog) => FunctionHost);
  /** Added to the functions' environment. */
  env?: Record<string, string>;
  /** Authorizes each AWS call. Default: every signed call is allowed. */
  authorize?: Authorize;
  limits?: Partial<WebSocketLimits>;
  /** Whether the event `$disconnect` of a connection is lost. */
  losesDisconnect?: (connectionId: string) => boolean;
}

/** A running cloud. All addresses are on 127.0.0.1. */
export interface Cloud<Host extends FunctionHost = FunctionHost> extends ServiceUrls {
  /** Address of the WebSocket API's stage. */
  ws: string;
  /** The webhook function's URL, without a trailing slash. */
  webhook: string;
  /** Base address for clients of OpenAI's API, which ends in `/v1`. */
  openai: string;
  /** Address for programs that use the agent through MCP. */
  mcp: string;
  /** The page's origin. */
  page: string;
  table: string;
  bucket: string;
  /** Environment of the functions, without their access keys. */
  env: Record<string, string>;
  host: Host;
  schedules: Schedules;
  /** Invokes a function and returns its result. @throws FunctionError, UnknownFunctionError */
  fire(name: string, event: unknown): Promise<unknown>;
  /** Invocations that were refused because as many ran as the account may run. */
  throttled(): number;
  /** Stops the cloud. Running invocations get 2 seconds to end. */
  close(): Promise<void>;
}

/**
 * Starts emulators of the AWS services that the application uses: DynamoDB, S3, the WebSocket API, the
 * function URL, EventBridge Scheduler, Lambda and SSM. The functions call these services through the AWS SDK.
 * @throws CloudStartError when the folder is in use or cannot be written, PortInUseError for `port`
 */
export function startCloud(options: CloudOptions & { host: "bundles" }): Promise<Cloud<ProcessHost>>;
export function startCloud(options: CloudOptions): Promise<Cloud>;
export async function startCloud(options: CloudOptions): Promise<Cloud> {
  const machine = await openMachine(options);
  try {
    return await start(machine, options);
  } catch (error) {
    await machine.close();
    throw error;
  }
}

async function start(machine: Machine, options: CloudOptions): Promise<Cloud> {
  const { authorize, port, limits, losesDisconnect } = options;
  const { schedules, log } = machine;
  // S3 starts before the page has its address.
  const pageOrigins: string[] = [];
  const urls = await startServices(machine, authorize, pageOrigins);
  const { ws, webhook, openai, mcp, page } = await startListeners(machine, {
    port,
    limits,
    losesDisconnect,
    answerHttp: (connections) =>
      connectionsApi({
        connections,
        stage: names.webSocketStage,
        apiId: names.webSocketApiId,
        limits,
        authorize,
      }),
  });
  pageOrigins.push(page.url);
  await machine.savePorts();
  const connections = `http://127.0.0.1:${ws.port}`;
  const env = {
    ...functionEnvironment({ ...urls, connections, webhook: webhook.url, page: page.url }),
    ...options.env,
  };
  const host = options.host === "bundles" ? startProcessHost({ env, log }) : options.host(env, log);
  machine.host.set(host);
  schedules.start();
  sweepAfterLeases(machine);
  return {
    ...urls,
    ws: `${ws.url}/${names.webSocketStage}`,
    webhook: webhook.url,
    openai: `${openai.url}/v1`,
    mcp: `${mcp.url}/mcp`,
    page: page.url,
    table: names.tableName,
    bucket: names.bucketName,
    env,
    host,
    schedules,
    fire: (name, event) => machine.host.invoke(name, event),
    throttled: () => machine.host.throttled(),
    close: () => machine.close(),
  };
}

/**
 * Runs one extra sweep when the leases of an earlier process have expired. That process may have been killed
 * while its functions held sessions, and the next scheduled sweep may be a minute away.
 */
function sweepAfterLeases({ invocations, onClose }: Machine): void {
  const timer = setTimeout(() => void invocations.invoke("timer", { kind: "sweep" }), leaseMs + 500);
  onClose(async () => clearTimeout(timer));
}
