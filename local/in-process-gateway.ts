import { join } from "node:path";
import { createAgentHandler } from "../functions/agent/agent-handler.ts";
import { createOpenaiHandler } from "../functions/openai/openai-handler.ts";
import { createPageHandler } from "../functions/page/page-handler.ts";
import { createSocketHandler } from "../functions/socket/socket-handler.ts";
import { createTimerHandler } from "../functions/timer/timer-handler.ts";
import { createWebhookHandler } from "../functions/webhook/webhook-handler.ts";
import { continueUpgrade } from "../shared/configuration/upgrade.ts";
import { setLogOutput } from "../shared/runtime/log.ts";
import type { World } from "../shared/world/world.ts";
import * as names from "./cloud-names.ts";
import type { HttpHandler } from "./http/http-endpoint.ts";
import {
  type ContextFields,
  contextFields,
  FunctionError,
  type FunctionHost,
  type FunctionLog,
  type FunctionName,
  type HostedFunction,
  settingsOf,
  stackFunctions,
  timedOut,
} from "./lambda/host.ts";
import { startListeners } from "./listeners.ts";
import { type Machine, type MachineOptions, openMachine } from "./machine.ts";
import { pageFolder } from "./page-folder.ts";
import type { WebSocketLimits } from "./websocket/websocket-limits.ts";
import { dropLeases } from "./world/dead-leases.ts";
import { openLocalWorld } from "./world/local-world.ts";

export interface LocalGatewayOptions extends MachineOptions {
  /** Port of the WebSocket API; 0 for a free one. Default: its previous port, or a free one. */
  port?: number;
  /** Public URL of the webhook, with a trailing slash. Default: the local address. */
  webhookUrl?: string;
  /** Names of hosts under which a tunnel or proxy forwards requests, besides that of `webhookUrl`. */
  hosts?: readonly string[];
  limits?: Partial<WebSocketLimits>;
  /** Answers the requests to the WebSocket API's port that open no connection. Default: 426 Upgrade Required. */
  answerHttp?: HttpHandler;
  /** Does not resume interrupted work, and fires no schedules. */
  passive?: boolean;
}

/** A gateway that runs in this process: the functions over the local world. All addresses are on 127.0.0.1. */
export interface LocalGateway {
  /** Address of the WebSocket API's stage. */
  ws: string;
  /** The webhook function's URL, without a trailing slash. */
  webhook: string;
  /** Base address for clients of OpenAI's API, which ends in `/v1`. */
  openai: string;
  /** Address for programs that use the agent through MCP. */
  mcp: string;
  /** Origin of the console's page, without a trailing slash. */
  page: string;
  /** The stores of the data folder and the host of the functions. */
  machine: Machine;
  /** The outside world of the functions. */
  world: World;
  /** Invokes a function and returns its result. @throws FunctionError, UnknownFunctionError */
  fire(name: string, event: unknown): Promise<unknown>;
  /** Stops the gateway. Running invocations get 2 seconds to end. */
  close(): Promise<void>;
}

/**
 * Starts the functions in this process over the local world.
 * @throws CloudStartError when the folder is in use or cannot be written, PortInUseError for `port`
 */
export async function startLocalGateway(options: LocalGatewayOptions): Promise<LocalGateway> {
  const machine = await openMachine({ ...options, invocations: { retryDelaysMs, ...options.invocations } });
  try {
    return await start(machine, options);
  } catch (error) {
    await machine.close();
    throw error;
  }
}

/** Someone waits at this machine: Lambda's minutes between the attempts of an event are seconds here. */
const retryDelaysMs = [1000, 2000];

async function start(machine: Machine, options: LocalGatewayOptions): Promise<LocalGateway> {
  const { port, limits, answerHttp, hosts = [] } = options;
  const named = options.webhookUrl === undefined ? [] : [new URL(options.webhookUrl).hostname];
  const { ws, webhook, openai, mcp, page } = await startListeners(machine, {
    ...{ port, limits, hosts: [...hosts, ...named] },
    answerHttp: answerHttp && (() => answerHttp),
  });
  await machine.savePorts();
  const webhookUrl = options.webhookUrl ?? `${webhook.url}/`;
  const gatewayUrl = `${ws.url}/${names.webSocketStage}`;
  const pageOrigins = [page.url, page.url.replace("127.0.0.1", "localhost")];
  const mcpUrl = `${mcp.url}/mcp`;
  const addresses = { webhookUrl, gatewayUrl, pageOrigins, mcpUrl };
  const world = openLocalWorld(machine, { connections: ws.connections, ...addresses, limits });
  // The host directs log lines, also those of the upgrade, to the data folder.
  const host = startInProcessHost({
    functions: createFunctions(world, machine, gatewayUrl),
    log: machine.log,
  });
  await continueUpgrade(world.table, world.now());
  await dropLeases(machine.items, Date.now());
  machine.host.set(host);
  if (!options.passive) {
    machine.schedules.start();
    void machine.invocations.invoke("timer", { kind: "sweep" });
  }
  return {
    ws: gatewayUrl,
    webhook: webhook.url,
    openai: `${openai.url}/v1`,
    mcp: mcpUrl,
    page: page.url,
    machine,
    world,
    fire: (name, event) => machine.host.invoke(name, event),
    close: () => machine.close(),
  };
}

/** The functions of the stack over a world, as the in-process host runs them. */
function createFunctions(world: World, { dir }: Machine, ws: string): Record<FunctionName, HostedFunction> {
  // Presigned URLs have a port that is not known before the first one.
  const addresses = { ws, objects: "http://127.0.0.1:*" };
  return {
    socket: { handler: createSocketHandler(world), ...stackFunctions.socket },
    webhook: { handler: createWebhookHandler(world), ...stackFunctions.webhook },
    timer: { handler: createTimerHandler(world), ...stackFunctions.timer },
    agent: { handler: createAgentHandler(world), ...stackFunctions.agent },
    openai: { handler: createOpenaiHandler(world), ...stackFunctions.openai },
    mcp: { handler: mcpHandler(world), ...stackFunctions.mcp },
    page: {
      handler: createPageHandler(() => pageFolder(join(dir, "page")), addresses),
      ...stackFunctions.page,
    },
  };
}

/** The MCP function, which is loaded at its first request: its SDK would take a third of the start. */
function mcpHandler(world: World): HostedFunction["handler"] {
  let loaded: Promise<HostedFunction["handler"]> | undefined;
  return async (event, context) => {
    loaded ??= import("../functions/mcp/mcp-handler.ts").then(({ createMcpHandler }) =>
      createMcpHandler(world),
    );
    return (await loaded)(event, context);
  };
}

interface InProcessHostOptions {
  /** The functions by name. */
  functions: Record<string, HostedFunction>;
  /** Receives the log lines of all functions, as `functions`. */
  log: FunctionLog;
}

/**
 * Runs functions in this process. An invocation fails at its timeout, but its handler cannot be stopped. Log
 * lines of all functions go to the log of the host that was started last.
 */
export function startInProcessHost({ functions, log }: InProcessHostOptions): FunctionHost {
  const restoreLog = setLogOutput((line) => log("functions", line));
  return {
    functions: Object.keys(functions),
    async invoke(name, event) {
      const hosted = settingsOf(functions, name);
      try {
        return await run(name, event, hosted);
      } catch (error) {
        throw asFunctionError(error);
      }
    },
    async close() {
      restoreLog();
    },
  };
}

async function run(name: string, event: unknown, hosted: HostedFunction): Promise<unknown> {
  const fields = contextFields(name, hosted);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(timedOut(fields, hosted)), hosted.timeoutMs);
  });
  try {
    return await Promise.race([hosted.handler(event as never, contextOf(fields) as never), late]);
  } finally {
    clearTimeout(timer);
  }
}

function contextOf({ deadline, ...fields }: ContextFields): object {
  return { ...fields, getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()) };
}

function asFunctionError(error: unknown): FunctionError {
  if (error instanceof FunctionError) return error;
  if (!(error instanceof Error)) return new FunctionError("Error", String(error));
  const failed = new FunctionError(error.name, error.message, (error.stack ?? "").split("\n"));
  // A log of this error must show where the function failed.
  failed.stack = error.stack;
  return failed;
}
