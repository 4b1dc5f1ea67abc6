import { openDynamoDBTable } from "../../../shared/aws/dynamodb-table.ts";
import { metaKey } from "../../../shared/session/state.ts";
import { type Cloud, startCloud } from "../../aws/emulators/cloud.ts";
import { type ProcessHost, startProcessHost } from "../../aws/emulators/lambda/process-host.ts";
import { standingAdmin } from "../../support/standing-admin.ts";
import type { Address } from "../driver.ts";
import { makeFolder } from "../processes/children.ts";
import { usageOf } from "../processes/process-usage.ts";
import { bundleIn } from "./bundles.ts";
import { type SeenCall, startProxy } from "./latency.ts";

/** The deployed functions with the local endpoints, each behind a proxy that delays and records every call. */
export interface BundledStack extends Address {
  /** The webhook function's URL, without a trailing slash. */
  webhook: string;
  /** The AWS calls, in the order in which they ended. */
  calls: SeenCall[];
  /** Duration of invocations by function, ms, as logged. */
  durations: Record<string, number[]>;
  /** Bytes that the functions have logged. */
  logged: { bytes: number };
  /** Invokes a function. @throws FunctionError */
  fire(name: string, event: unknown): Promise<unknown>;
  /** CPU time of a function's living instances since their start, ms. */
  cpuMs(name: string): number;
  /** Size of a session's META item as JSON, bytes. */
  metaBytes(sessionKey: string): Promise<number>;
  close(): Promise<void>;
}

/** The services whose endpoint is an environment variable of the SDK, and their name in it. */
const services = {
  dynamodb: "DYNAMODB",
  s3: "S3",
  scheduler: "SCHEDULER",
  lambda: "LAMBDA",
  ssm: "SSM",
} as const;

export interface BundledStackOptions {
  /** Name of a new folder below the bench's. */
  name: string;
  /** Folder that holds the functions' bundles. */
  bundles: string;
  /** Maximum concurrent instances of a function. With one, caches are as warm as in a gateway with one user. */
  maxInstances: number;
  /** Receives what the functions log. */
  onLog?: (text: string) => void;
}

export async function startBundledStack(options: BundledStackOptions): Promise<BundledStack> {
  const calls: SeenCall[] = [];
  const durations: Record<string, number[]> = {};
  const logged = { bytes: 0 };
  const proxies = await startProxies(calls);
  let host: ProcessHost | undefined;
  const cloud = await startCloud({
    dir: makeFolder(options.name),
    host: (env, log) =>
      (host = startProcessHost({
        env: proxies.redirect(env),
        log,
        entry: (name) => bundleIn(options.bundles, name),
        maxInstances: options.maxInstances,
      })),
    log: (_name, text) => {
      logged.bytes += Buffer.byteLength(text);
      noteDuration(durations, text);
      options.onLog?.(text);
    },
  });
  // This process reads the table as its owner, without the proxies.
  Object.assign(process.env, cloud.env, { AWS_ACCESS_KEY_ID: "owner", AWS_SECRET_ACCESS_KEY: "owner" });
  return {
    url: cloud.ws,
    webhook: cloud.webhook,
    token: await ownerToken(cloud),
    calls,
    durations,
    logged,
    fire: (name, event) => cloud.fire(name, event),
    cpuMs: (name) => (host?.pids(name) ?? []).reduce((sum, pid) => sum + usageOf(pid).cpuMs, 0),
    async metaBytes(key) {
      const meta = await openDynamoDBTable(cloud.table).get(metaKey(key));
      return Buffer.byteLength(JSON.stringify(meta));
    },
    async close() {
      await cloud.close();
      await proxies.close();
    },
  };
}

async function startProxies(calls: SeenCall[]) {
  const targets: Record<string, string> = {};
  const names = [...Object.keys(services), "connections"];
  const start = async (name: string) =>
    [name, await startProxy(name, () => String(targets[name]), calls)] as const;
  const proxies = Object.fromEntries(await Promise.all(names.map(start)));
  return {
    /** Returns the functions' environment with the proxies as endpoints. */
    redirect(env: Record<string, string>): Record<string, string> {
      const changed = { ...env };
      for (const [service, name] of Object.entries(services)) {
        const variable = `AWS_ENDPOINT_URL_${name}`;
        targets[service] = String(env[variable]);
        changed[variable] = String(proxies[service]?.url);
      }
      const connections = new URL(String(env.WEBSOCKET_API_ENDPOINT));
      targets.connections = connections.origin;
      changed.WEBSOCKET_API_ENDPOINT = `${proxies.connections?.url}${connections.pathname}`;
      return changed;
    },
    async close(): Promise<void> {
      await Promise.all(Object.values(proxies).map((proxy) => proxy.close()));
    },
  };
}

function noteDuration(durations: Record<string, number[]>, text: string): void {
  for (const line of text.split("\n")) {
    const match = /"event":"(\w+)\.out".*"ms":(\d+)/.exec(line);
    const name = match?.[1];
    if (name) durations[name] = [...(durations[name] ?? []), Number(match[2])];
  }
}

async function ownerToken(cloud: Cloud): Promise<string> {
  return (await standingAdmin(openDynamoDBTable(cloud.table))).token;
}
