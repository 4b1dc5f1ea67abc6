import type { World } from "../shared/world/world.ts";
import { openDoors } from "./doors.ts";
import { type PublishedUrls, publishStores } from "./emulators.ts";
import * as names from "./environment.ts";
import type { Authorize } from "./http/access.ts";
import { startInProcessHost } from "./lambda/in-process-host.ts";
import { type Machine, type MachineOptions, openMachine } from "./machine.ts";
import type { Schedules } from "./scheduler/schedule-store.ts";
import { sweepAfterLeases } from "./start-sweep.ts";
import type { WebSocketLimits } from "./websocket/websocket-limits.ts";
import { createFunctions } from "./world/functions.ts";
import { openLocalWorld } from "./world/local-world.ts";

export interface LocalGatewayOptions extends MachineOptions {
  /** Port of the WebSocket API; without one the port that it had last, or a free one. */
  port?: number;
  /** Where the internet reaches the webhook, if not where it listens. Ends in a slash. */
  webhookUrl?: string;
  /** Serves the table, the bucket and the schedules to other programs, which may use any access key. */
  published?: boolean;
  limits?: Partial<WebSocketLimits>;
}

/** A gateway that runs in this process: the functions over the local world. All addresses are on 127.0.0.1. */
export interface LocalGateway {
  /** Address of the WebSocket API's stage. */
  ws: string;
  /** The webhook function's URL, without a trailing slash. */
  webhook: string;
  table: string;
  bucket: string;
  /** Where other programs find the stores; absent unless they are published. */
  published?: PublishedUrls;
  /** The world that the functions work in. */
  world: World;
  schedules: Schedules;
  /** Invokes a function and returns its result. @throws FunctionError, UnknownFunctionError */
  fire(name: string, event: unknown): Promise<unknown>;
  /** Ends everything; invocations that run have two seconds. */
  close(): Promise<void>;
}

/**
 * Starts the functions in this process over the local world.
 * @throws CloudStartError when the folder is in use or cannot be written, PortInUseError for `port`
 */
export async function startLocalGateway(options: LocalGatewayOptions): Promise<LocalGateway> {
  const machine = await openMachine(options);
  try {
    return await start(machine, options);
  } catch (error) {
    await machine.close();
    throw error;
  }
}

/** Every caller of a published store is allowed; who may reach the port is the operating system's matter. */
const allowAll: Authorize = () => true;

/** The @connections API is not open to other programs. */
const denyAll: Authorize = () => false;

async function start(machine: Machine, options: LocalGatewayOptions): Promise<LocalGateway> {
  const { port, limits } = options;
  const { ws, webhook } = await openDoors(machine, { port, limits, authorize: denyAll });
  const published = options.published ? await publishStores(machine, allowAll) : undefined;
  await machine.savePorts();
  const webhookUrl = options.webhookUrl ?? `${webhook.url}/`;
  const world = openLocalWorld(machine, { connections: ws.connections, webhookUrl, limits });
  machine.host.set(startInProcessHost({ functions: createFunctions(world), log: machine.log }));
  machine.schedules.start();
  sweepAfterLeases(machine);
  return {
    ws: `${ws.url}/${names.webSocketStage}`,
    webhook: webhook.url,
    table: names.tableName,
    bucket: names.bucketName,
    published,
    world,
    schedules: machine.schedules,
    fire: (name, event) => machine.host.invoke(name, event),
    close: () => machine.close(),
  };
}
