import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WebSocket } from "ws";
import { isRecord } from "../../local/http/json.ts";
import type { FunctionHost } from "../../local/lambda/host.ts";
import { startListeners } from "../../local/listeners.ts";
import { openMachine } from "../../local/machine.ts";
import { openStore } from "../../local/objects/object-files.ts";
import { openLocalBucket } from "../../local/world/local-bucket.ts";
import { openLocalWorld } from "../../local/world/local-world.ts";
import { openAws } from "../../shared/aws/open-aws.ts";
import { readEnvironment } from "../../shared/runtime/environment.ts";
import type { Bucket, World } from "../../shared/world/world.ts";
import { startCloud } from "../aws/emulators/cloud.ts";

/** An invocation of a function that the world has made. */
export interface Invocation {
  name: string;
  event: unknown;
}

/** A world with functions that only note their invocations. */
export interface TestWorld {
  world: World;
  /** Invocations so far, without those of sockets and of the sweep. */
  invocations: Invocation[];
  /** Opens a connection to the WebSocket API. */
  connect(): Promise<{ connectionId: string; socket: WebSocket; received: string[] }>;
  /** The objects of an emulated bucket, without the requests of S3. */
  objects?: Bucket;
  close(): Promise<void>;
}

/** How many times faster than the clock schedules come due. */
const acceleration = 600;

/** Both implementations of the world, by what a test calls them. */
export const worlds: [name: string, open: () => Promise<TestWorld>][] = [
  ["the local world", openLocal],
  ["the world on AWS, over the emulators", openEmulated],
];

export async function openLocal(): Promise<TestWorld> {
  const dir = await mkdtemp(join(tmpdir(), "gsv-world-"));
  const { host, invocations, connectionIds } = noteInvocations();
  const machine = await openMachine({ dir, acceleration, log: () => {} });
  machine.host.set(host);
  const { ws } = await startListeners(machine, {});
  machine.schedules.start();
  const world = openLocalWorld(machine, {
    connections: ws.connections,
    webhookUrl: "http://127.0.0.1/",
    gatewayUrl: `${ws.url}/ws`,
  });
  const close = async () => {
    await machine.close();
    await rm(dir, { recursive: true, force: true });
  };
  return { world, invocations, connect: () => connect(`${ws.url}/ws`, connectionIds), close };
}

export async function openEmulated(): Promise<TestWorld> {
  const dir = await mkdtemp(join(tmpdir(), "gsv-world-"));
  const { host, invocations, connectionIds } = noteInvocations();
  const cloud = await startCloud({ dir, acceleration, log: () => {}, host: () => host });
  Object.assign(process.env, cloud.env);
  const world = openAws(readEnvironment(cloud.env));
  const close = async () => {
    await cloud.close();
    await rm(dir, { recursive: true, force: true });
  };
  // The emulator does not see what this one locks: a key must not be written through both at the same time.
  const objects = openLocalBucket(await openStore(join(dir, "s3"), [cloud.bucket]));
  return { world, invocations, connect: () => connect(cloud.ws, connectionIds), objects, close };
}

function noteInvocations() {
  const invocations: Invocation[] = [];
  const connectionIds: string[] = [];
  const host: FunctionHost = {
    functions: ["socket", "webhook", "timer", "agent"],
    async invoke(name, event) {
      const context = isRecord(event) ? event.requestContext : undefined;
      if (isRecord(context) && context.routeKey === "$connect")
        connectionIds.push(String(context.connectionId));
      const isSweep = isRecord(event) && event.kind === "sweep";
      if (name !== "socket" && !isSweep) invocations.push({ name, event });
      return { statusCode: 200 };
    },
    async close() {},
  };
  return { host, invocations, connectionIds };
}

async function connect(url: string, connectionIds: readonly string[]) {
  const socket = new WebSocket(url);
  const received: string[] = [];
  socket.on("message", (data) => received.push(String(data)));
  await once(socket, "open");
  const connectionId = connectionIds.at(-1);
  if (connectionId === undefined) throw new Error("the connection has no id");
  return { connectionId, socket, received };
}
