import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";
import { scheduleGroup } from "../../local/cloud-names.ts";
import type { FunctionHost, FunctionName } from "../../local/lambda/host.ts";
import { openDynamoDBTable } from "../../shared/aws/dynamodb-table.ts";
import { openS3Bucket } from "../../shared/aws/s3-bucket.ts";
import { openSsmSecrets } from "../../shared/aws/ssm-secrets.ts";
import { openConfiguration } from "../../shared/configuration/store.ts";
import { scopes } from "../../shared/protocol/methods.ts";
import type { Bucket, Table } from "../../shared/world/world.ts";
import type { AccessRequest } from "../aws/emulators/access.ts";
import { type Cloud, startCloud } from "../aws/emulators/cloud.ts";
import {
  accessKeyIdOfFunction,
  openSpareInstances,
  startProcessHost,
} from "../aws/emulators/lambda/process-host.ts";
import { newFolder } from "../support/run/test-folders.ts";
import { standingAdmin } from "../support/standing-admin.ts";
import { until } from "../support/until.ts";
import { unpackRelease } from "./previous-release.ts";

/** The bundles of the previous release, and those of the current sources. */
export const versions = ["previous", "current"] as const;
export type Version = (typeof versions)[number];
export const otherThan = (version: Version): Version => (version === "previous" ? "current" : "previous");

/** One gateway whose functions can be exchanged for those of the other version at any time. */
export interface TwoVersions {
  cloud: Cloud;
  table: Table;
  bucket: Bucket;
  /** A token with all scopes. */
  token: string;
  /** What the functions logged, as parsed lines. */
  logs: { event: string; [field: string]: unknown }[];
  /** Runs further events of these functions, or of all, with this version. */
  use(version: Version, ...functions: FunctionName[]): void;
  /** Refuses all calls of the agent after this number of writes, which for the stored data is its death. */
  cutAgent(writes: number): void;
  /** Whether the agent was refused anything since. */
  isCut(): boolean;
  /** Ends the refusals. @returns whether the agent was refused anything */
  mendAgent(): boolean;
  /** Resolves when no function runs. */
  settled(): Promise<unknown>;
  configure(values: Record<string, unknown>): Promise<void>;
  close(): Promise<void>;
}

const functionNames: readonly FunctionName[] = ["agent", "socket", "timer", "webhook"];

/** Processes that the next gateway of this worker uses. */
const spares = openSpareInstances();

let unpacked: string | undefined;
function folderOf(version: Version): string {
  if (version === "current") return inject("bundles");
  // The folder is deleted after the file of tests that made it.
  if (unpacked === undefined || !existsSync(unpacked)) unpacked = unpackRelease(newFolder());
  return unpacked;
}

/** Starts with the current version. No event is repeated, and the sweep does not run by itself. */
export async function startTwoVersions(): Promise<TwoVersions> {
  const dir = await mkdtemp(join(tmpdir(), "gsv-skew-"));
  const chosen = new Map<string, Version>(functionNames.map((name) => [name, "current"]));
  const cut = cutter();
  const logs: TwoVersions["logs"] = [];
  let running = 0;
  const cloud = await startCloud({
    dir: join(dir, "data"),
    invocations: { retryDelaysMs: [] },
    authorize: cut.authorize,
    host: (env, log): FunctionHost => {
      const start = (version: Version) =>
        startProcessHost({
          env,
          log,
          spares,
          maxInstances: 2,
          entry: (name) => join(folderOf(version), name, "handler.mjs"),
        });
      const hosts = { previous: start("previous"), current: start("current") };
      return {
        functions: functionNames,
        async invoke(name, event, trace) {
          running += 1;
          try {
            return await hosts[chosen.get(name) ?? "current"].invoke(name, event, trace);
          } finally {
            running -= 1;
          }
        },
        close: async () => void (await Promise.all(versions.map((version) => hosts[version].close()))),
      };
    },
    log: (_name, text) => {
      for (const line of text.split("\n")) if (line.startsWith("{")) logs.push(JSON.parse(line));
    },
  });
  await cloud.schedules.delete(scheduleGroup, "sweep");
  Object.assign(process.env, cloud.env, { AWS_ACCESS_KEY_ID: "owner", AWS_SECRET_ACCESS_KEY: "owner" });
  const table = openDynamoDBTable(cloud.table);
  const configuration = openConfiguration(table, openSsmSecrets(String(cloud.env.SSM_PREFIX)));
  const { token } = await standingAdmin(table, scopes);
  return {
    cloud,
    table,
    bucket: openS3Bucket(cloud.bucket),
    token,
    logs,
    use(version, ...functions) {
      for (const name of functions.length > 0 ? functions : functionNames) chosen.set(name, version);
    },
    cutAgent: cut.after,
    isCut: cut.isCut,
    mendAgent: cut.mend,
    settled: () => until(() => running === 0, "no function runs"),
    async configure(values) {
      for (const [path, value] of Object.entries(values)) await configuration.set(path, value);
    },
    async close() {
      await cloud.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** Refuses the calls of the agent function after a number of writes. */
function cutter() {
  const agent = accessKeyIdOfFunction("agent");
  let left = Number.POSITIVE_INFINITY;
  let isCut = false;
  return {
    after(writes: number) {
      left = writes;
      isCut = false;
    },
    isCut: () => isCut,
    mend() {
      left = Number.POSITIVE_INFINITY;
      return isCut;
    },
    authorize({ accessKeyId, action, resource }: AccessRequest): boolean {
      if (accessKeyId !== agent) return true;
      // The files of the Git history are many, and named by their content.
      if (/:(Put|Update|Delete|Create|Invoke)/.test(action) && !resource.includes("/.git/objects/"))
        left -= 1;
      if (left < 0) isCut = true;
      return left >= 0;
    },
  };
}
