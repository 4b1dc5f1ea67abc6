import { DeleteTableCommand, DynamoDBClient, ResourceNotFoundException } from "@aws-sdk/client-dynamodb";
import {
  DeleteBucketCommand,
  DeleteObjectsCommand,
  ListObjectVersionsCommand,
  NoSuchBucket,
  S3Client,
} from "@aws-sdk/client-s3";
import { DeleteParametersCommand, paginateGetParametersByPath, SSMClient } from "@aws-sdk/client-ssm";
import { bucketLimits, clientSettings, secretLimits, tableLimits } from "./call-limits.ts";

/** The addresses of a deployed stage, and the names of its stores. */
export interface StageOutputs {
  WebSocketUrl: string;
  WebhookUrl: string;
  /** Absent in a stage of an earlier version, like the next one. */
  OpenaiUrl?: string;
  McpUrl?: string;
  TableName: string;
  BucketName: string;
}

/** The SSM parameters of a stage, by output: `infra/stack.ts`. */
const parameterNames: Record<keyof StageOutputs, string> = {
  WebSocketUrl: "websocket-url",
  WebhookUrl: "webhook-url",
  OpenaiUrl: "openai-url",
  McpUrl: "mcp-url",
  TableName: "table-name",
  BucketName: "bucket-name",
};

/** Outputs that a stage of an earlier version lacks. */
const newer: readonly string[] = ["OpenaiUrl", "McpUrl"] satisfies (keyof StageOutputs)[];

/** The addresses and names of a stage; undefined when it is not deployed. Region and credentials as the SDK reads them. */
export async function readStage(stage: string): Promise<StageOutputs | undefined> {
  const found = await readParameters(new SSMClient(clientSettings(secretLimits)), { Path: `/gsv/${stage}` });
  const entries = Object.entries(parameterNames).map(
    ([output, name]) => [output, found.get(`/gsv/${stage}/${name}`)] as const,
  );
  return entries.some(([output, value]) => value === undefined && !newer.includes(output))
    ? undefined
    : (Object.fromEntries(entries) as unknown as StageOutputs);
}

/**
 * Deletes the data that a deleted stack leaves: its table, its bucket with all versions of all objects, and its secrets.
 * Safe to repeat: missing data is no error.
 */
export async function deleteStageData(
  stage: string,
  { TableName, BucketName }: Pick<StageOutputs, "TableName" | "BucketName">,
): Promise<void> {
  const table = new DynamoDBClient(clientSettings(tableLimits));
  await unless(ResourceNotFoundException, table.send(new DeleteTableCommand({ TableName })));
  await unless(NoSuchBucket, deleteBucket(BucketName));
  await deleteSecrets(stage);
}

async function deleteBucket(Bucket: string): Promise<void> {
  const client = new S3Client(clientSettings({ ...bucketLimits, answerMs: bucketLimits.bodyMs }));
  // Delete each page before the next list, which then returns the first page of the remaining objects.
  for (;;) {
    const page = await client.send(new ListObjectVersionsCommand({ Bucket }));
    const found = [...(page.Versions ?? []), ...(page.DeleteMarkers ?? [])];
    if (found.length === 0) break;
    const Objects = found.map(({ Key, VersionId }) => ({ Key, VersionId }));
    const { Errors = [] } = await client.send(
      new DeleteObjectsCommand({ Bucket, Delete: { Objects, Quiet: true } }),
    );
    if (Errors[0]) throw new Error(`${Bucket}/${Errors[0].Key} was not deleted: ${Errors[0].Message}`);
  }
  await client.send(new DeleteBucketCommand({ Bucket }));
}

async function deleteSecrets(stage: string): Promise<void> {
  const client = new SSMClient(clientSettings(secretLimits));
  const names = [
    ...(await readParameters(client, { Path: `/gsv/${stage}/secrets`, Recursive: true })).keys(),
  ];
  for (let start = 0; start < names.length; start += maxDeleted)
    await client.send(new DeleteParametersCommand({ Names: names.slice(start, start + maxDeleted) }));
}

/** Maximum number of names in one call of DeleteParameters. */
const maxDeleted = 10;

/** The values of parameters by name. A page may have none although others follow. */
async function readParameters(
  client: SSMClient,
  input: { Path: string; Recursive?: boolean },
): Promise<Map<string, string | undefined>> {
  const found = new Map<string, string | undefined>();
  for await (const { Parameters = [] } of paginateGetParametersByPath({ client }, input))
    for (const { Name, Value } of Parameters) if (Name !== undefined) found.set(Name, Value);
  return found;
}

async function unless<T>(absence: new (...args: never[]) => Error, done: Promise<T>): Promise<void> {
  try {
    await done;
  } catch (error) {
    if (!(error instanceof absence)) throw error;
  }
}
