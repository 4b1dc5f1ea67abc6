import type { World } from "../shared/world/world.ts";
import * as names from "./cloud-names.ts";
import { openDoors } from "./doors.ts";
import { startInProcessHost } from "./lambda/in-process-host.ts";
import { type Machine, type MachineOptions, openMachine } from "./machine.ts";
import { sweepAfterLeases } from "./start-sweep.ts";
import type { WebSocketLimits } from "./websocket/websocket-limits.ts";
import { createFunctions } from "./world/functions.ts";
import { openLocalWorld } from "./world/local-world.ts";

export interface LocalGatewayOptions extends MachineOptions {
  /** Port of the WebSocket API; 0 for a free one. Default: its previous port, or a free one. */
  port?: number;
  /** Public URL of the webhook, with a trailing slash. Default: the local address. */
  webhookUrl?: string;
  limits?: Partial<WebSocketLimits>;
}

/** A gateway that runs in this process: the functions over the local world. All addresses are on 127.0.0.1. */
export interface LocalGateway {
  /** Address of the WebSocket API's stage. */
  ws: string;
  /** The webhook function's URL, without a trailing slash. */
  webhook: string;
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
  const { port, limits } = options;
  const { ws, webhook } = await openDoors(machine, { port, limits });
  await machine.savePorts();
  const webhookUrl = options.webhookUrl ?? `${webhook.url}/`;
  const world = openLocalWorld(machine, { connections: ws.connections, webhookUrl, limits });
  machine.host.set(startInProcessHost({ functions: createFunctions(world), log: machine.log }));
  machine.schedules.start();
  sweepAfterLeases(machine);
  return {
    ws: `${ws.url}/${names.webSocketStage}`,
    webhook: webhook.url,
    machine,
    world,
    fire: (name, event) => machine.host.invoke(name, event),
    close: () => machine.close(),
  };
}
