import { rm } from "node:fs/promises";
import { join } from "node:path";
import { createMemoryStore } from "../../local/items/item-store.ts";
import { openDynamoDBTable } from "../../shared/aws/dynamodb-table.ts";
import { openS3Bucket } from "../../shared/aws/s3-bucket.ts";
import { openSsmSecrets } from "../../shared/aws/ssm-secrets.ts";
import { startDynamoDB } from "../aws/emulators/dynamodb/dynamodb.ts";
import { startS3At, startSsmAt } from "../aws/emulators/support.ts";
import { newFolder } from "./run/test-folders.ts";
import type { Allow, State } from "./state.ts";

/** The state on AWS, in the emulators. */
export interface EmulatedState extends State {
  /** Environment variables with the endpoints of the emulated DynamoDB and S3. */
  env: Record<string, string>;
}

/**
 * The table, the bucket and the secrets through the AWS SDK and this machine's emulators. Configures this process's SDK
 * to use them.
 * @param allow checks the IAM action of each call to DynamoDB and S3; a refused call fails with AccessDenied
 * @param store the items of the table
 */
export async function startEmulatedState(
  allow: (...asked: Parameters<Allow>) => boolean = () => true,
  store = createMemoryStore(),
): Promise<EmulatedState> {
  const dir = newFolder();
  const authorize = ({ action }: { action: string }) => allow(action);
  const dynamodb = await startDynamoDB({ store, table: "gsv-test", authorize });
  const s3 = await startS3At({
    dir: join(dir, "s3"),
    buckets: ["gsv-test"],
    authorize: (call) => (authorize(call) ? undefined : "the test refuses it"),
  });
  const ssm = await startSsmAt(dir);
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
