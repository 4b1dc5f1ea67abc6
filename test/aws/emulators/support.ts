import { join } from "node:path";
import type { Endpoint } from "../../../local/http/http-endpoint.ts";
import { openJsonFile } from "../../../local/json-file.ts";
import { functionNameOf } from "../../../local/lambda/host.ts";
import { openStore } from "../../../local/objects/object-files.ts";
import { type Expiration, startLifecycle } from "../../../local/objects/object-lifecycle.ts";
import { sweepUploads } from "../../../local/objects/uploads.ts";
import { openParameters, type ParametersFile } from "../../../local/parameter-store.ts";
import { Schedules } from "../../../local/scheduler/schedule-store.ts";
import { openStoredSchedules } from "../../../local/scheduler/stored-schedules.ts";
import { type S3Options, type S3Server, startS3 } from "./s3/s3-server.ts";
import { type SchedulerOptions, startScheduler } from "./scheduler.ts";
import { type SsmOptions, startSsm } from "./ssm.ts";

/** SDK client settings for an emulator. */
export const clientConfig = (endpoint: string) => ({
  endpoint,
  region: "us-east-1",
  credentials: { accessKeyId: "LOCALTEST", secretAccessKey: "local" },
});

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
