import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";
import { scheduleGroup } from "../../local/cloud-names.ts";
import { stackFunctions } from "../../local/lambda/host.ts";
import { openDynamoDBTable } from "../../shared/aws/dynamodb-table.ts";
import { openSsmSecrets } from "../../shared/aws/ssm-secrets.ts";
import { openConfiguration } from "../../shared/configuration/store.ts";
import { createToken } from "../../shared/peers/tokens.ts";
import type { Scope } from "../../shared/protocol/methods.ts";
import type { Secrets, Table } from "../../shared/world/world.ts";
import { type Cloud, type CloudOptions, startCloud } from "../aws/emulators/cloud.ts";
import {
  openSpareInstances,
  type ProcessHost,
  startProcessHost,
} from "../aws/emulators/lambda/process-host.ts";
import { authorizer, type RoleAuthorizer } from "../infra/iam.ts";
import type { TemplateJson } from "../infra/synthesis.ts";
import { type NodeTools, openClient, openNode, type Peer } from "../support/peer.ts";
import { standingAdmin } from "../support/standing-admin.ts";

/** The deployed system on this machine: the bundles, each in its own processes with the permissions of its role. */
export interface Stack {
  cloud: Cloud;
  /** The functions' processes. */
  host: ProcessHost;
  table: Table;
  secrets: Secrets;
  /** Checks calls against the synthesized roles. Each refusal is a permission that a deployment would lack. */
  roles: RoleAuthorizer;
  /** A token with all scopes. */
  token: string;
  /** What the functions logged, as parsed lines. */
  logs: { function: string; event: string; [field: string]: unknown }[];
  createToken(scopes: Scope[]): Promise<{ id: string; token: string }>;
  configure(values: Record<string, unknown>): Promise<void>;
  client(id?: string): Promise<Peer>;
  node(id: string, tools: NodeTools, capabilities?: readonly string[]): ReturnType<typeof openNode>;
  close(): Promise<void>;
}

/** Lambda's pauses before it tries a failed event again, sixty times as fast. */
const retryDelaysMs = [1000, 2000];

interface StackOptions extends Partial<Omit<CloudOptions, "host" | "dir">> {
  /** Changes the environment of the functions. */
  environment?: (env: Record<string, string>) => Record<string, string>;
  /** Maximum concurrent instances of one function; further events wait. Default: two, so that events overlap. */
  maxInstances?: number;
  /** Data folder, which remains. Default: a temporary one. */
  dir?: string;
  /** Folder of the functions' bundles. Default: built from the current sources. */
  bundles?: string;
  /** Has the roles. Default: of the stage `local`. */
  template?: TemplateJson;
  /** Whether the sweep of each minute runs, many times a second with acceleration. Default: false. */
  isSwept?: boolean;
}

/** Processes with loaded code, which the next stack of this worker reuses with a new environment and state. */
const spares = openSpareInstances();

/** Starts the stack. `authorize` is called before the roles. */
export async function startStack(
  {
    dir: folder,
    environment = (env) => env,
    isSwept = false,
    maxInstances = 2,
    bundles = inject("bundles"),
    template = inject("template"),
    ...options
  }: StackOptions = {},
  functions = stackFunctions,
): Promise<Stack> {
  const roles = authorizer(template);
  const dir = folder ?? (await mkdtemp(join(tmpdir(), "gsv-stack-")));
  const logs: Stack["logs"] = [];
  let host: ProcessHost | undefined;
  const cloud = await startCloud({
    ...options,
    invocations: { retryDelaysMs, ...options.invocations },
    dir,
    host: (given, log) => {
      const env = environment(given);
      host = startProcessHost({
        env,
        log,
        spares,
        functions,
        maxInstances,
        entry: (name) => join(bundles, name, "handler.mjs"),
      });
      return host;
    },
    authorize: (request) => options.authorize?.(request) !== false && roles.authorize(request),
    log: (name, text) => {
      for (const line of text.split("\n"))
        if (line.startsWith("{")) logs.push({ function: name, ...JSON.parse(line) });
    },
  });
  if (!isSwept) await cloud.schedules.delete(scheduleGroup, "sweep");
  Object.assign(process.env, cloud.env, { AWS_ACCESS_KEY_ID: "owner", AWS_SECRET_ACCESS_KEY: "owner" });
  const table = openDynamoDBTable(cloud.table);
  const secrets = openSsmSecrets(String(cloud.env.SSM_PREFIX));
  const configuration = openConfiguration(table, secrets);
  // Half a day from now, so that the daily reset at 4:00 does not happen during a test.
  const atHour = (new Date().getUTCHours() + 12) % 24;
  await configuration.set("session.defaultResetPolicy", { mode: "daily", atHour });
  const { token } = await standingAdmin(table, ["client", "node", "channel", "admin"]);
  let tokens = 0;
  if (!host) throw new Error("the cloud has started no functions");
  return {
    cloud,
    host,
    table,
    secrets,
    roles,
    token,
    logs,
    createToken: (scopes) => createToken(table, { name: `test ${++tokens}`, scopes }, Date.now()),
    async configure(values) {
      for (const [path, value] of Object.entries(values)) await configuration.set(path, value);
    },
    client: (id) => openClient(cloud.ws, token, id),
    node: (id, tools, capabilities) => openNode(cloud.ws, token, id, tools, capabilities),
    async close() {
      await cloud.close();
      if (folder === undefined) await rm(dir, { recursive: true, force: true });
    },
  };
}
