import { DescribeTableCommand, DynamoDBClient, ResourceNotFoundException } from "@aws-sdk/client-dynamodb";
import {
  paginateGetResources,
  ResourceGroupsTaggingAPIClient,
  TagResourcesCommand,
} from "@aws-sdk/client-resource-groups-tagging-api";
import { HeadBucketCommand, NotFound, PutBucketCorsCommand, S3Client } from "@aws-sdk/client-s3";
import { bucketLimits, clientSettings, stageLimits, tableLimits } from "./call-limits.ts";
import { readParameters } from "./deployed-stage.ts";
import type { StageStack } from "./stage-stack.ts";

/** The names of a stage's stores. */
export interface StageStores {
  tables: string[];
  buckets: string[];
}

/** What exists of a stage's data, by name. */
export interface StageData extends StageStores {
  /** SSM parameters. */
  secrets: string[];
}

/** The stores of a stage: those that exist, and which of them its stack has as own resources, or only uses. */
export interface FoundStores extends StageStores {
  own: StageStores;
  /** Stores that the stack uses although they are not its resources. */
  adopted: StageStores;
}

/**
 * Finds the data of a stage: what carries its tags, what its stack has or uses, and its secrets by their path. Contains
 * only what exists: the tags of deleted resources are listed for some time.
 */
export async function findStageData(
  stage: string,
  stack: StageStack | undefined,
): Promise<StageData & FoundStores> {
  const [stores, secrets] = await Promise.all([
    findStores(stage, stack),
    readParameters({ Path: `/gsv/${stage}/secrets`, Recursive: true }),
  ]);
  return { ...stores, secrets: [...secrets.keys()].sort() };
}

/** Finds the stores of a stage like `findStageData`. */
export async function findStores(stage: string, stack: StageStack | undefined): Promise<FoundStores> {
  const own = {
    tables: namesOf(stack, ["AWS::DynamoDB::GlobalTable", "AWS::DynamoDB::Table"]),
    buckets: namesOf(stack, ["AWS::S3::Bucket"]),
  };
  const used = { tables: outputOf(stack, "TableName"), buckets: outputOf(stack, "BucketName") };
  const tagged = await findTagged(stage);
  const merged = (kind: keyof StageStores) =>
    [...new Set([...tagged[kind], ...own[kind], ...used[kind]])].sort();
  const [tables, buckets] = await Promise.all([
    existing(merged("tables"), tableExists),
    existing(merged("buckets"), bucketExists),
  ]);
  const adopted = {
    tables: used.tables.filter((name) => !own.tables.includes(name) && tables.includes(name)),
    buckets: used.buckets.filter((name) => !own.buckets.includes(name) && buckets.includes(name)),
  };
  return { tables, buckets, own, adopted };
}

/** Tags the stores that a stack uses although they are not its resources, so that they are found without the stack. */
export async function tagAdopted(stage: string, { id }: StageStack, { adopted }: FoundStores): Promise<void> {
  const [, partition, , region, account] = id.split(":");
  const ResourceARNList = [
    ...adopted.tables.map((name) => `arn:${partition}:dynamodb:${region}:${account}:table/${name}`),
    ...adopted.buckets.map((name) => `arn:${partition}:s3:::${name}`),
  ];
  if (ResourceARNList.length === 0) return;
  const client = new ResourceGroupsTaggingAPIClient(clientSettings(stageLimits));
  const command = new TagResourcesCommand({ ResourceARNList, Tags: tagsOf(stage) });
  const [failed] = Object.entries((await client.send(command)).FailedResourcesMap ?? {});
  if (failed) throw new Error(`${failed[0]} could not be tagged: ${failed[1].ErrorMessage}`);
}

/** Lets a stage's page use presigned URLs of a bucket that is no resource of its stack: `Storage.allowPage`. */
export async function allowPage(Bucket: string, pageUrl: string): Promise<void> {
  const client = new S3Client(clientSettings({ ...bucketLimits, answerMs: bucketLimits.bodyMs }));
  const rule = {
    AllowedOrigins: [pageUrl],
    AllowedMethods: ["GET", "PUT"],
    AllowedHeaders: ["content-type"],
  };
  await client.send(new PutBucketCorsCommand({ Bucket, CORSConfiguration: { CORSRules: [rule] } }));
}

/** The tags of what belongs to a stage: `infra/constructs/stage-tags.ts`. */
const tagsOf = (stage: string) => ({ application: "gsv", stage });

async function findTagged(stage: string): Promise<StageStores> {
  const client = new ResourceGroupsTaggingAPIClient(clientSettings(stageLimits));
  const TagFilters = Object.entries(tagsOf(stage)).map(([Key, value]) => ({ Key, Values: [value] }));
  const input = { TagFilters, ResourceTypeFilters: ["dynamodb:table", "s3"] };
  const found: StageStores = { tables: [], buckets: [] };
  for await (const { ResourceTagMappingList = [] } of paginateGetResources({ client }, input))
    for (const { ResourceARN = "" } of ResourceTagMappingList) {
      const table = /:dynamodb:.*:table\/([^/]+)$/.exec(ResourceARN)?.[1];
      const bucket = /:s3:::([^/]+)$/.exec(ResourceARN)?.[1];
      if (table) found.tables.push(table);
      if (bucket) found.buckets.push(bucket);
    }
  return found;
}

function namesOf(stack: StageStack | undefined, types: readonly string[]): string[] {
  return (stack?.resources ?? []).flatMap(({ type, name }) => (name && types.includes(type) ? [name] : []));
}

function outputOf(stack: StageStack | undefined, key: string): string[] {
  const value = stack?.outputs.get(key);
  return value ? [value] : [];
}

async function existing(
  names: readonly string[],
  exists: (name: string) => Promise<boolean>,
): Promise<string[]> {
  const found = await Promise.all(names.map(exists));
  return names.filter((_, index) => found[index]);
}

async function tableExists(TableName: string): Promise<boolean> {
  const client = new DynamoDBClient(clientSettings(tableLimits));
  try {
    return (await client.send(new DescribeTableCommand({ TableName }))).Table?.TableStatus !== "DELETING";
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return false;
    throw error;
  }
}

async function bucketExists(Bucket: string): Promise<boolean> {
  const client = new S3Client(clientSettings(bucketLimits));
  try {
    await client.send(new HeadBucketCommand({ Bucket }));
    return true;
  } catch (error) {
    if (error instanceof NotFound) return false;
    throw error;
  }
}
