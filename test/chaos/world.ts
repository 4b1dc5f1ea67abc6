import { createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isRecord } from "../../local/http/json.ts";
import type { FunctionHost } from "../../local/lambda/host.ts";
import type { WebSocketEvent } from "../../local/websocket/websocket-events.ts";
import { openDynamoDBTable } from "../../shared/aws/dynamodb-table.ts";
import { openSsmSecrets } from "../../shared/aws/ssm-secrets.ts";
import { openConfiguration } from "../../shared/configuration/store.ts";
import type { Table } from "../../shared/world/world.ts";
import { type Cloud, type CloudOptions, startCloud } from "../aws/emulators/cloud.ts";
import { standingAdmin } from "../support/standing-admin.ts";
import { type Draw, drawFor } from "./draw.ts";
import type { ClockSettings } from "./faults/clock.mjs";
import { type ChaosHost, startChaosHost } from "./faults/host.ts";
import { type MessagePlan, nodeIds } from "./faults/plan.ts";
import { type AwsProxy, type Interceptor, startAwsProxy } from "./faults/proxy.ts";
import { type ChaosChannel, dmScope, startChaosChannel } from "./load/channel.ts";
import { type ChaosClient, type ClientRecord, startChaosClient } from "./load/client.ts";
import { countDoubts } from "./load/deliveries.ts";
import { type ChaosModel, callName, startChaosModel } from "./load/model.ts";
import { type ChaosNode, startChaosNode } from "./load/node.ts";
import { readTask, type Task } from "./load/task.ts";
import { startWire, type Wire } from "./load/wire.ts";
import { type Journal, openJournal } from "./verdict/journal.ts";
import { findLeftovers, readItems, untilFired } from "./verdict/leftovers.ts";

export interface WorldOptions {
  seed: number;
  clock: ClockSettings;
  /** Folder of the built bundles. */
  bundles: string;
  interceptor: Interceptor;
  invocations?: Pick<NonNullable<CloudOptions["invocations"]>, "duplicate" | "delayMs">;
  /** Limits and failures of the cloud. */
  cloud?: Pick<CloudOptions, "concurrency" | "limits" | "losesDisconnect">;
  skewMs(worker: number): number;
  /** Whether to cut peers' connections. */
  restless: boolean;
  isFresh(task: Task): boolean;
  maxProcesses(functionName: string): number;
  clients: number;
  planOf(tag: string): MessagePlan;
  repeats(tag: string): Draw | undefined;
  onKillInCall(sessionKey: string, host: ChaosHost): void;
  onProgress(sessionKey: string): void;
}

/** The whole system on this machine, with all records about it. */
export interface World {
  cloud: Cloud;
  table: Table;
  host: ChaosHost;
  journal: Journal;
  model: ChaosModel;
  nodes: ChaosNode[];
  clients: ChaosClient[];
  channel: ChaosChannel;
  /** How often each delivery to the channel was repeated because its result was unknown. */
  uncertain: ReadonlyMap<string, number>;
  records: Map<string, ClientRecord>;
  wires: Wire[];
  /** Waits for pending schedules, then finds garbage. @throws the table's errors */
  leftovers(): Promise<string[]>;
  /** Log file of the functions. */
  logFile: string;
  /** Stops everything; keeps the folder if `keep` is true. */
  close(keep: boolean): Promise<void>;
}

/** Time for pending schedules: a tool's timeout is a minute, and every event is tried three times. Milliseconds. */
const scheduleMs = 400_000;

/** Timeout of a model call. */
const modelTimeoutMs = 60_000;

export async function startWorld(options: WorldOptions): Promise<World> {
  const { seed, planOf } = options;
  const dir = await mkdtemp(join(tmpdir(), "gsv-chaos-"));
  const logFile = join(dir, "functions.log");
  const log = createWriteStream(logFile);
  const journal = openJournal(options.onProgress);
  const records = new Map<string, ClientRecord>();
  const hosts: ChaosHost[] = [];
  const ended = new Set<string>();
  const calls = new Map<string, string>();
  const workerOf = (key: string) => hosts[0]?.workerOf(key);
  const proxy = await startAwsProxy({
    interceptor: options.interceptor,
    workerOf,
    onExchange: journal.observe,
  });
  const doubts = countDoubts();
  const channel = await startChaosChannel({
    seed,
    restless: options.restless,
    records,
    webhook: () => cloud.webhook,
  });
  const cloud = await startCloud({
    dir,
    host: (env, write) => {
      const host = startChaosHost({
        env: proxy.stand(env),
        entry: (name) => join(options.bundles, name, "handler.mjs"),
        clock: options.clock,
        skewMs: options.skewMs,
        maxProcesses: options.maxProcesses,
        isFresh: options.isFresh,
        readTask: (name, event) => readTask(name, event, (id) => callName(calls.get(id) ?? id)),
        log: write,
      });
      hosts.push(host);
      return noteEnds(host, ended);
    },
    ...options.cloud,
    invocations: options.invocations,
    log: (name, line) => {
      log.write(`${name} ${line}\n`);
      doubts.read(line);
    },
  });
  const [host] = hosts as [ChaosHost];
  Object.assign(process.env, cloud.env, { AWS_ACCESS_KEY_ID: "owner", AWS_SECRET_ACCESS_KEY: "owner" });
  const table = openDynamoDBTable(cloud.table);
  const model = await startChaosModel({
    planOf,
    onKillInCall: (tag) => options.onKillInCall(records.get(tag)?.sessionKey ?? "", host),
  });
  await configure(table, cloud, model, channel);
  const { token } = await standingAdmin(table);
  const wires: Wire[] = [];
  const wireTo = async (peer: string) => {
    const drawOf = (connection: number) => drawFor(seed, "wire", peer, connection);
    const wire = await startWire(new URL(cloud.ws), drawOf, options.restless);
    wires.push(wire);
    return wire.url;
  };
  const nodes = await Promise.all(
    nodeIds.map(async (nodeId) =>
      startChaosNode({
        url: await wireTo(nodeId),
        token,
        nodeId,
        planOf,
        onCall: (id, call) => calls.set(id, call),
      }),
    ),
  );
  const clients = await Promise.all(
    Array.from({ length: options.clients }, async (_, i) => {
      const clientId = `client-${i}`;
      const { repeats } = options;
      return startChaosClient({ url: await wireTo(clientId), token, clientId, records, repeats });
    }),
  );
  const parts = { proxy, cloud, model, nodes, clients, channel, wires };
  return {
    ...parts,
    table,
    host,
    journal,
    records,
    uncertain: doubts.uncertain,
    logFile,
    async leftovers() {
      const schedules = await untilFired(cloud.schedules, scheduleMs);
      const items = await readItems(cloud.dynamodb, cloud.table);
      const peers = [...clients, ...nodes].map(
        (peer) => [`${peer.mode} ${peer.id}`, peer.connectionId() ?? ""] as const,
      );
      return findLeftovers({ items, schedules }, { peers: new Map(peers), ended });
    },
    async close(keep) {
      await closeAll(parts);
      await new Promise((resolve) => log.end(resolve));
      if (!keep) await rm(dir, { recursive: true, force: true });
    },
  };
}

/** Records the connections whose end the socket function has handled. */
function noteEnds(host: ChaosHost, ended: Set<string>): FunctionHost {
  return {
    ...host,
    async invoke(name, event, trace) {
      const answer = await host.invoke(name, event, trace);
      const { requestContext } = event as Partial<WebSocketEvent>;
      if (requestContext?.routeKey === "$disconnect" && isRecord(answer) && answer.statusCode === 200)
        ended.add(requestContext.connectionId);
      return answer;
    },
  };
}

/** Omits policies that depend on days: hours pass in minutes here. */
async function configure(
  table: Table,
  cloud: Cloud,
  model: ChaosModel,
  channel: ChaosChannel,
): Promise<void> {
  const configuration = openConfiguration(table, openSsmSecrets(String(cloud.env.SSM_PREFIX)));
  await configuration.set("model", { provider: "openai-compatible", id: "m", baseUrl: model.url });
  await configuration.set("apiKeys.openai-compatible", "key");
  await configuration.set("budgets.prices", { "openai-compatible/m": { input: 0, output: 0 } });
  await configuration.set("timeouts.llmMs", modelTimeoutMs);
  await configuration.set("session.defaultResetPolicy", { mode: "manual" });
  await configuration.set("session.dmScope", dmScope);
  await configuration.set("channels.telegram", channel.configuration);
}

interface Parts extends Pick<World, "cloud" | "model" | "nodes" | "clients" | "channel" | "wires"> {
  proxy: AwsProxy;
}

async function closeAll({ proxy, cloud, model, nodes, clients, channel, wires }: Parts): Promise<void> {
  await Promise.all([...clients, ...nodes].map((peer) => peer.close()));
  await Promise.all(wires.map((wire) => wire.close()));
  await cloud.close();
  await proxy.close();
  await model.close();
  await channel.close();
}
