import { constants, existsSync } from "node:fs";
import { access, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { configurationKey, newerData, refusalOf, storedFormat } from "../shared/world/stored-format.ts";
import * as names from "./cloud-names.ts";
import { openLogs } from "./dev/dev-logs.ts";
import { type Endpoint, PortInUseError } from "./http/http-endpoint.ts";
import { openDurableStore } from "./items/disk/durable-store.ts";
import type { ItemStore } from "./items/item-store.ts";
import { StoreError, StoreLockedError, storeError } from "./items/store-errors.ts";
import { type JsonFile, openJsonFile } from "./json-file.ts";
import {
  type AsyncInvocationOptions,
  type AsyncInvocations,
  openAsyncInvocations,
} from "./lambda/async-invocations.ts";
import { type DeferredHost, openDeferredHost } from "./lambda/deferred-host.ts";
import { type FunctionLog, functionArn, functionNameOf } from "./lambda/host.ts";
import { openStore, type Store } from "./objects/object-files.ts";
import { startLifecycle } from "./objects/object-lifecycle.ts";
import { sweepUploads } from "./objects/uploads.ts";
import { openParameters, type Parameters, type ParametersFile } from "./parameter-store.ts";
import { Schedules } from "./scheduler/schedule-store.ts";
import { openStoredSchedules } from "./scheduler/stored-schedules.ts";

export interface MachineOptions {
  /** Data folder. Only one process may use it at a time. */
  dir: string;
  /** Syncs every write to the disk, so that acknowledged writes survive a power failure. */
  fsync?: boolean;
  /** Speed factor of schedules: 60 fires a one-hour schedule after one minute. */
  acceleration?: number;
  /**
   * Most invocations at a time, of all functions together. Default: 1,000, as an AWS account has them; new accounts
   * often have 10.
   */
  concurrency?: number;
  /** Retries, duplicates and delays of asynchronous invocations. */
  invocations?: Pick<AsyncInvocationOptions, "retryDelaysMs" | "duplicate" | "delayMs">;
  /**
   * Receives the functions' output, and errors of the machine itself as `cloud`. Default: files in
   * `{dir}/logs`.
   */
  log?: FunctionLog;
  /** Called with a sentence for the user when the table cannot be written: the disk is full, for example. */
  onStoreError?: (message: string) => void;
}

/** A data folder cannot be used. The message is one line for the user. */
export class CloudStartError extends Error {}

type Closer = () => Promise<void>;

/**
 * The stores of a local data folder and the host of the functions. The AWS emulators and the local world are
 * two interfaces to these stores.
 */
export interface Machine {
  dir: string;
  log: FunctionLog;
  onError(error: unknown): void;
  items: ItemStore;
  objects: Store;
  parameters: Parameters;
  schedules: Schedules;
  /** Runs the functions once it is set. */
  host: DeferredHost;
  invocations: AsyncInvocations;
  /** Starts an endpoint on its previous port, and closes it with the machine. */
  open<T extends Endpoint>(name: string, begin: (port: number) => Promise<T>): Promise<T>;
  /** Stores the ports of the endpoints for the next start. */
  savePorts(): Promise<void>;
  onClose(close: Closer): void;
  /** Closes all parts in reverse order of their start. Running invocations get 2 seconds to end. */
  close(): Promise<void>;
}

/** AWS's default quota "Concurrent executions". */
const accountConcurrency = 1000;

/** Time that running invocations get to end at close, ms. */
const graceMs = 2000;

/**
 * Opens a data folder.
 * @throws CloudStartError when the folder is in use or cannot be written
 */
export async function openMachine(options: MachineOptions): Promise<Machine> {
  const { dir } = options;
  const file = await openFolder(dir);
  checkLayout(dir, file.value);
  const closers: Closer[] = [];
  const close = () => closeAll(closers);
  try {
    const log = options.log ?? openLogs(join(dir, "logs"));
    const onError = (error: unknown) => {
      log("cloud", describe(error));
      if (error instanceof StoreError) options.onStoreError?.(error.message);
    };
    const stores = await openStores(options, file, closers, onError);
    const host = openDeferredHost(options.concurrency ?? accountConcurrency);
    const invocations = openAsyncInvocations({
      ...options.invocations,
      host,
      onFailure: (name, _event, error, last) =>
        onError(new Error(`${name} failed${last ? " and is given up" : ""}: ${describe(error)}`)),
    });
    const schedules = await openSchedules(options, invocations, closers, onError);
    closers.push(async () => {
      schedules.stop();
      invocations.close();
      await host.settle(graceMs);
      await host.close();
    });
    return {
      ...stores,
      dir,
      log,
      onError,
      schedules,
      host,
      invocations,
      async open(name, begin) {
        const endpoint = await onRememberedPort(file, name, begin);
        closers.push(() => endpoint.close());
        return endpoint;
      },
      savePorts: () => file.save(),
      onClose: (closer) => closers.push(closer),
      close,
    };
  } catch (error) {
    await close();
    throw startError(error, dir, file.value.pid);
  }
}

/** Converts a StoreError to a CloudStartError. Returns other errors unchanged. */
function startError(error: unknown, dir: string, pid: number | undefined): unknown {
  if (error instanceof StoreLockedError) {
    const holder = pid === undefined ? "another process" : `the process ${pid}`;
    return new CloudStartError(`${dir} is in use by ${holder}`);
  }
  return error instanceof StoreError ? new CloudStartError(error.message, { cause: error }) : error;
}

/** The table is opened first, because its store is the lock on the folder. */
async function openStores(
  { dir, fsync }: MachineOptions,
  file: JsonFile<CloudFile>,
  closers: Closer[],
  onError: (error: unknown) => void,
): Promise<Pick<Machine, "items" | "objects" | "parameters">> {
  const items = await openDurableStore({ dir: join(dir, "table"), fsync, onError });
  closers.push(() => items.close());
  const refusal = refusalOf(storedFormat(items.get(configurationKey)));
  if (refusal !== undefined) throw new CloudStartError(`${dir}: ${refusal}`);
  file.value.pid = process.pid;
  file.value.layout = layout;
  await file.save();
  const objects = await openStore(join(dir, "s3"), [names.bucketName], { fsync });
  await sweepUploads(join(dir, "s3"));
  closers.push(startLifecycle(objects, names.expirations));
  const secrets = await openJsonFile<ParametersFile>(join(dir, "ssm.json"), { parameters: {} }, { fsync });
  closers.push(() => secrets.settled());
  return { items, objects, parameters: openParameters(secrets) };
}

async function openSchedules(
  { dir, fsync, acceleration = 1 }: MachineOptions,
  invocations: AsyncInvocations,
  closers: Closer[],
  onError: (error: unknown) => void,
): Promise<Schedules> {
  const stored = await openStoredSchedules(dir, { fsync, onError });
  closers.push(() => stored.close());
  const schedules = new Schedules({
    stored,
    groups: ["default", names.scheduleGroup],
    fire: ({ target }) => invocations.invoke(functionNameOf(target.Arn), JSON.parse(target.Input ?? "{}")),
    acceleration,
    onError,
  });
  await createSweep(schedules);
  return schedules;
}

/** Creates the stack's recurring sweep schedule. Does nothing when it exists. */
async function createSweep(schedules: Schedules): Promise<void> {
  await schedules.create(names.scheduleGroup, "sweep", {
    expression: "rate(1 minute)",
    target: {
      Arn: functionArn("timer"),
      RoleArn: names.scheduleRoleArn,
      Input: JSON.stringify({ kind: "sweep" }),
    },
    enabled: true,
    deleteAfterCompletion: false,
    clientToken: "sweep",
  });
}

/** @throws CloudStartError when the folder cannot be made */
async function openFolder(dir: string): Promise<JsonFile<CloudFile>> {
  try {
    const made = await mkdir(dir, { recursive: true, mode: 0o700 });
    await access(dir, constants.W_OK);
    // The folder contains tokens and keys and may be inside a Git repository: exclude it from Git.
    if (made !== undefined) await writeFile(join(dir, ".gitignore"), "*\n");
  } catch (error) {
    throw startError(storeError(dir, error), dir, undefined);
  }
  return openJsonFile<CloudFile>(join(dir, "cloud.json"), { ports: {} });
}

async function closeAll(closers: Closer[]): Promise<void> {
  for (let close = closers.pop(); close !== undefined; close = closers.pop()) await close();
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** The layout of the data folder's files. A version that reads only earlier layouts refuses the folder. */
const layout = 1;

/** The folder of the table in versions before layout 1, which found no items in `table` and began without any. */
const earlyTable = "dynamodb";

/** @throws CloudStartError when the folder has data that this version does not read */
function checkLayout(dir: string, file: CloudFile): void {
  if ((file.layout ?? 0) > layout)
    throw new CloudStartError(`${dir}: ${newerData("folder layout", Number(file.layout), layout)}`);
  if (existsSync(join(dir, earlyTable)))
    throw new CloudStartError(
      `${join(dir, earlyTable)} has conversations of an early version of gsv, which this version cannot read: move it away`,
    );
}

/** The content of `cloud.json`. */
interface CloudFile {
  layout?: number;
  /** Id of the process that uses the folder; outdated when that process has ended. */
  pid?: number;
  /** The previous ports of the endpoints, by name. */
  ports: Record<string, number>;
}

/**
 * Starts an endpoint on the port that it had the last time, so that addresses outlive a restart, or on a free one
 * when that is taken. The caller saves the file.
 */
async function onRememberedPort<T extends { port: number }>(
  file: JsonFile<CloudFile>,
  name: string,
  start: (port: number) => Promise<T>,
): Promise<T> {
  const endpoint = await start(file.value.ports[name] ?? 0).catch((error: unknown) => {
    if (error instanceof PortInUseError) return start(0);
    throw error;
  });
  file.value.ports[name] = endpoint.port;
  return endpoint;
}
