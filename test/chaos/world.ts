import { createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Cloud, type CloudOptions, startCloud } from "../../local/cloud.ts";
import { openSecrets } from "../../shared/aws/secrets.ts";
import { openTable, type Table } from "../../shared/aws/table.ts";
import { openConfiguration } from "../../shared/configuration/store.ts";
import { createToken } from "../../shared/tokens.ts";
import { type ChaosClient, type ClientRecord, startChaosClient } from "./client.ts";
import type { ClockSettings } from "./clock.mjs";
import { type Draw, drawFor } from "./draw.ts";
import { type ChaosHost, startChaosHost } from "./host.ts";
import { type Journal, openJournal } from "./journal.ts";
import { type ChaosModel, callName, startChaosModel } from "./model.ts";
import { type ChaosNode, startChaosNode } from "./node.ts";
import { type MessagePlan, nodeIds } from "./plan.ts";
import { type AwsProxy, type Interceptor, startAwsProxy } from "./proxy.ts";
import { readTask, type Task } from "./task.ts";
import { startWire, type Wire } from "./wire.ts";

export interface WorldOptions {
  seed: number;
  clock: ClockSettings;
  /** Folder of the built bundles. */
  bundles: string;
  interceptor: Interceptor;
  invocations?: Pick<NonNullable<CloudOptions["invocations"]>, "duplicate" | "delayMs">;
  skewMs(worker: number): number;
  /** Whether peers' connections are cut. */
  restless: boolean;
  isFresh(task: Task): boolean;
  mostProcesses(functionName: string): number;
  clients: number;
  planOf(tag: string): MessagePlan;
  repeats(tag: string): Draw | undefined;
  onKillInCall(sessionKey: string, host: ChaosHost): void;
  onProgress(sessionKey: string): void;
}

/** The whole system on this machine, and everything that is written down about it. */
export interface World {
  cloud: Cloud;
  table: Table;
  host: ChaosHost;
  journal: Journal;
  model: ChaosModel;
  nodes: ChaosNode[];
  clients: ChaosClient[];
  records: Map<string, ClientRecord>;
  wires: Wire[];
  /** File of what the functions logged. */
  logFile: string;
  /** Ends everything; the folder stays when `keep` says so. */
  close(keep: boolean): Promise<void>;
}

/** Lambda's own pauses before it tries a failed event again. */
const retryDelaysMs = [60_000, 120_000];

/** A model call that hangs ends after this long. */
const modelTimeoutMs = 60_000;

export async function startWorld(options: WorldOptions): Promise<World> {
  const { seed, planOf } = options;
  const dir = await mkdtemp(join(tmpdir(), "gsv-chaos-"));
  const logFile = join(dir, "functions.log");
  const log = createWriteStream(logFile);
  const journal = openJournal(options.onProgress);
  const records = new Map<string, ClientRecord>();
  const hosts: ChaosHost[] = [];
  const workerOf = (key: string) => hosts[0]?.workerOf(key);
  const proxy = await startAwsProxy({
    interceptor: options.interceptor,
    workerOf,
    onExchange: journal.observe,
  });
  const cloud = await startCloud({
    dir,
    host: (env, write) => {
      const host = startChaosHost({
        env: proxy.stand(env),
        entry: (name) => join(options.bundles, name, "handler.mjs"),
        clock: options.clock,
        skewMs: options.skewMs,
        mostProcesses: options.mostProcesses,
        isFresh: options.isFresh,
        readTask: (name, event) => readTask(name, event, callName),
        log: write,
      });
      hosts.push(host);
      return host;
    },
    invocations: { ...options.invocations, retryDelaysMs },
    log: (name, line) => log.write(`${name} ${line}\n`),
  });
  const [host] = hosts as [ChaosHost];
  Object.assign(process.env, cloud.env, { AWS_ACCESS_KEY_ID: "owner", AWS_SECRET_ACCESS_KEY: "owner" });
  const table = openTable(cloud.table);
  const model = await startChaosModel({
    planOf,
    onKillInCall: (tag) => options.onKillInCall(records.get(tag)?.sessionKey ?? "", host),
  });
  await configure(table, cloud, model);
  const { token } = await createToken(
    table,
    { name: "owner", scopes: ["client", "node", "admin"] },
    Date.now(),
  );
  const wires: Wire[] = [];
  const wireTo = async (peer: string) => {
    const drawOf = (connection: number) => drawFor(seed, "wire", peer, connection);
    const wire = await startWire(new URL(cloud.ws), drawOf, options.restless);
    wires.push(wire);
    return wire.url;
  };
  const nodes = await Promise.all(
    nodeIds.map(async (nodeId) => startChaosNode({ url: await wireTo(nodeId), token, nodeId, planOf })),
  );
  const clients = await Promise.all(
    Array.from({ length: options.clients }, async (_, i) => {
      const clientId = `client-${i}`;
      const { repeats } = options;
      return startChaosClient({ url: await wireTo(clientId), token, clientId, records, repeats });
    }),
  );
  const parts = { proxy, cloud, model, nodes, clients, wires };
  return {
    ...parts,
    table,
    host,
    journal,
    records,
    logFile,
    async close(keep) {
      await closeAll(parts);
      await new Promise((resolve) => log.end(resolve));
      if (!keep) await rm(dir, { recursive: true, force: true });
    },
  };
}

/** Policies that the passing of days sets off stay out: hours pass in minutes here. */
async function configure(table: Table, cloud: Cloud, model: ChaosModel): Promise<void> {
  const configuration = openConfiguration(table, openSecrets(String(cloud.env.SSM_PREFIX)));
  await configuration.set("model", { provider: "openai-compatible", id: "m", baseUrl: model.url });
  await configuration.set("timeouts.llmMs", modelTimeoutMs);
  await configuration.set("session.defaultResetPolicy", { mode: "manual" });
}

interface Parts extends Pick<World, "cloud" | "model" | "nodes" | "clients" | "wires"> {
  proxy: AwsProxy;
}

async function closeAll({ proxy, cloud, model, nodes, clients, wires }: Parts): Promise<void> {
  await Promise.all([...clients, ...nodes].map((peer) => peer.close()));
  await Promise.all(wires.map((wire) => wire.close()));
  await cloud.close();
  await proxy.close();
  await model.close();
}
