import { randomInt } from "node:crypto";
import type { Server } from "node:net";
import { join } from "node:path";
import type { Endpoint } from "../../local/http/http-endpoint.ts";
import { openJsonFile } from "../../local/json-file.ts";
import { functionNameOf } from "../../local/lambda/host.ts";
import { openStore } from "../../local/objects/object-files.ts";
import { type Expiration, startLifecycle } from "../../local/objects/object-lifecycle.ts";
import { sweepUploads } from "../../local/objects/uploads.ts";
import { type S3Options, type S3Server, startS3 } from "../../local/s3/s3-server.ts";
import { Schedules } from "../../local/scheduler/schedule-store.ts";
import { type SchedulerOptions, startScheduler } from "../../local/scheduler/scheduler.ts";
import { openStoredSchedules } from "../../local/scheduler/stored-schedules.ts";
import { openParameters, type ParametersFile } from "../../local/ssm/parameter-store.ts";
import { type SsmOptions, startSsm } from "../../local/ssm/ssm.ts";

/** SDK client settings for an emulator. */
export const clientConfig = (endpoint: string) => ({
  endpoint,
  region: "us-east-1",
  credentials: { accessKeyId: "LOCALTEST", secretAccessKey: "local" },
});

/**
 * Has a server listen on a port that stays free when it is closed: below those that the system gives out to whoever asks
 * for any. @returns the port
 */
export function occupyPort(server: Server): Promise<number> {
  const port = randomInt(20_000, 30_000);
  return new Promise((resolve, reject) => {
    const isTaken = (error: NodeJS.ErrnoException) =>
      error.code === "EADDRINUSE" ? resolve(occupyPort(server)) : reject(error);
    server.once("error", isTaken);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", isTaken);
      resolve(port);
    });
  });
}

/** The local S3 over objects in a folder, with the lifecycle that the local cloud gives them. */
export async function startS3At({
  dir,
  buckets,
  expirations = [],
  ...options
}: Omit<S3Options, "store"> & {
  dir: string;
  buckets: string[];
  expirations?: Expiration[];
}): Promise<S3Server> {
  const store = await openStore(dir, buckets);
  await sweepUploads(dir);
  const server = await startS3({ store, ...options });
  const endLifecycle = startLifecycle(store, expirations);
  return {
    ...server,
    async close() {
      await server.close();
      await endLifecycle();
    },
  };
}

/** The local Systems Manager over the parameters in a folder. */
export async function startSsmAt(
  dir: string,
  options: Omit<SsmOptions, "parameters"> = {},
): Promise<Endpoint> {
  const file = await openJsonFile<ParametersFile>(join(dir, "ssm.json"), { parameters: {} });
  return startSsm({ parameters: openParameters(file), ...options });
}

/** The local Scheduler over the schedules in a folder, whose targets are functions. */
export async function startSchedulerAt(
  dir: string,
  invoke: (functionName: string, event: unknown) => Promise<unknown>,
  { acceleration = 1, ...options }: Omit<SchedulerOptions, "schedules"> & { acceleration?: number } = {},
): Promise<Endpoint & { schedules: Schedules }> {
  const stored = await openStoredSchedules(dir, {});
  const schedules = new Schedules({
    stored,
    groups: ["default", "gsv-local"],
    fire: ({ target }) => invoke(functionNameOf(target.Arn), JSON.parse(target.Input ?? "{}")),
    acceleration,
  });
  const endpoint = await startScheduler({ schedules, ...options });
  return {
    ...endpoint,
    schedules,
    async close() {
      schedules.stop();
      await endpoint.close();
      await stored.close();
    },
  };
}
