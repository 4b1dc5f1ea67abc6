import {
  DeleteTableCommand,
  DynamoDBClient,
  ResourceNotFoundException,
  waitUntilTableNotExists,
} from "@aws-sdk/client-dynamodb";
import {
  DeleteBucketCommand,
  DeleteObjectsCommand,
  ListObjectVersionsCommand,
  type ListObjectVersionsOutput,
  NoSuchBucket,
  S3Client,
} from "@aws-sdk/client-s3";
import { DeleteParametersCommand, SSMClient } from "@aws-sdk/client-ssm";
import { bucketLimits, clientSettings, secretLimits, tableLimits } from "./call-limits.ts";
import type { StageData } from "./stage-data.ts";

/**
 * Deletes the data of a stage whose stack is gone: tables, buckets with all versions of all objects, and secrets. Safe to
 * repeat: missing data is no error.
 */
export async function deleteStageData({ tables, buckets, secrets }: StageData): Promise<void> {
  for (const table of tables) await unless(ResourceNotFoundException, deleteTable(table));
  for (const bucket of buckets) await unless(NoSuchBucket, deleteBucket(bucket));
  await deleteSecrets(secrets);
}

async function deleteTable(TableName: string): Promise<void> {
  const client = new DynamoDBClient(clientSettings(tableLimits));
  await client.send(new DeleteTableCommand({ TableName }));
  await waitUntilTableNotExists({ client, minDelay: 2, maxDelay: 10, maxWaitTime: 600 }, { TableName });
}

/** A function that still runs may write between the last list and the deletion: then the bucket is emptied again. */
async function deleteBucket(Bucket: string): Promise<void> {
  const client = new S3Client(clientSettings({ ...bucketLimits, answerMs: bucketLimits.bodyMs }));
  for (let attempt = 1; ; attempt++) {
    await emptyBucket(client, Bucket);
    try {
      await client.send(new DeleteBucketCommand({ Bucket }));
      return;
    } catch (error) {
      if ((error as Error).name !== "BucketNotEmpty" || attempt === maxAttempts) throw error;
    }
  }
}

const maxAttempts = 3;

/** Deletes all versions and delete markers. The SDK has no paginator for them. A page may have none although others follow. */
async function emptyBucket(client: S3Client, Bucket: string): Promise<void> {
  let next: { KeyMarker?: string; VersionIdMarker?: string } | undefined = {};
  while (next) {
    const page: ListObjectVersionsOutput = await client.send(
      new ListObjectVersionsCommand({ Bucket, ...next }),
    );
    const found = [...(page.Versions ?? []), ...(page.DeleteMarkers ?? [])];
    const Objects = found.map(({ Key, VersionId }) => ({ Key, VersionId }));
    if (Objects.length > 0) {
      const command = new DeleteObjectsCommand({ Bucket, Delete: { Objects, Quiet: true } });
      const { Errors: [failed] = [] } = await client.send(command);
      if (failed) throw new Error(`${Bucket}/${failed.Key} was not deleted: ${failed.Message}`);
    }
    next = page.IsTruncated
      ? { KeyMarker: page.NextKeyMarker, VersionIdMarker: page.NextVersionIdMarker }
      : undefined;
  }
}

async function deleteSecrets(names: readonly string[]): Promise<void> {
  const client = new SSMClient(clientSettings(secretLimits));
  for (let start = 0; start < names.length; start += maxDeleted)
    await client.send(new DeleteParametersCommand({ Names: names.slice(start, start + maxDeleted) }));
}

/** Maximum number of names in one call of DeleteParameters. */
const maxDeleted = 10;

async function unless<T>(absence: new (...args: never[]) => Error, done: Promise<T>): Promise<void> {
  try {
    await done;
  } catch (error) {
    if (!(error instanceof absence)) throw error;
  }
}
