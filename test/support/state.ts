import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startDynamoDB } from "../../local/dynamodb/dynamodb.ts";
import { startS3 } from "../../local/s3/s3-server.ts";
import { startSsm } from "../../local/ssm/ssm.ts";
import { openDynamoDBTable } from "../../shared/aws/dynamodb-table.ts";
import { openS3Bucket } from "../../shared/aws/s3-bucket.ts";
import { openSsmSecrets } from "../../shared/aws/ssm-secrets.ts";
import type { Bucket, Secrets, Table } from "../../shared/world/world.ts";

export interface State {
  table: Table;
  bucket: Bucket;
  /** Where this machine's DynamoDB and S3 are, as environment variables. */
  env: Record<string, string>;
  /** The secrets under a parameter prefix. */
  openSecrets(prefix: string): Secrets;
  close(): Promise<void>;
}

/**
 * The table, the bucket and the parameter store of this machine, with the SDK of this process pointed at them.
 * @param allow asked before each call to DynamoDB and S3, by its IAM action; what it refuses fails with AccessDenied
 */
export async function startState(allow: (action: string) => boolean = () => true): Promise<State> {
  const dir = await mkdtemp(join(tmpdir(), "gsv-state-"));
  const authorize = ({ action }: { action: string }) => allow(action);
  const dynamodb = await startDynamoDB({ dir: join(dir, "dynamodb"), table: "gsv-test", authorize });
  const s3 = await startS3({
    dir: join(dir, "s3"),
    buckets: ["gsv-test"],
    authorize: (call) => (authorize(call) ? undefined : "the test refuses it"),
  });
  const ssm = await startSsm({ dir });
  const env = {
    AWS_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "LOCALTEST",
    AWS_SECRET_ACCESS_KEY: "local",
    AWS_ENDPOINT_URL_DYNAMODB: dynamodb.url,
    AWS_ENDPOINT_URL_S3: s3.url,
    AWS_ENDPOINT_URL_SSM: ssm.url,
  };
  Object.assign(process.env, env);
  return {
    table: openDynamoDBTable("gsv-test"),
    bucket: openS3Bucket("gsv-test"),
    env,
    openSecrets: (prefix) => openSsmSecrets(prefix),
    async close() {
      await dynamodb.close();
      await s3.close();
      await ssm.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** A table that counts its reads and runs `before` ahead of each write, to let others come first. */
export function observed(
  table: Table,
  before: () => Promise<void> = async () => {},
): Table & { reads: number } {
  const watched = {
    ...table,
    reads: 0,
    get: (...args: Parameters<Table["get"]>) => {
      watched.reads++;
      return table.get(...args);
    },
    update: async (...args: Parameters<Table["update"]>) => {
      await before();
      return table.update(...args);
    },
  };
  return watched;
}
