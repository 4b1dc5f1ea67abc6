import { readBody, serveLoopback } from "../../../../local/http/loopback.ts";
import { fakeJson } from "./fake-json-services.ts";
import { fakeQuery } from "./fake-query-services.ts";
import { fakeS3 } from "./fake-s3.ts";
import { type Answer, emptyState, type FakeState } from "./fake-services.ts";

/** Lets a call fail: `before` it has an effect, or `after` it. */
export type Fault = (operation: string) => "before" | "after" | undefined;

/**
 * An AWS account in the wire formats of STS, CloudFormation, Resource Groups Tagging, SSM, DynamoDB and S3, as far as a stage's
 * deployment and deletion use them. Lists have pages of 0 to 10 items in random order.
 */
export interface FakeAccount extends FakeState {
  url: string;
  /** The operations that were called. */
  calls: string[];
  /** Fails calls; undefined: none. */
  fault: Fault | undefined;
  close(): Promise<void>;
}

/** Starts an account with the deployed stage `home`, its data, and data of the stage `other`. */
export async function startFakeAccount(webSocketUrl: string, seed = 1): Promise<FakeAccount> {
  const state = emptyState(seed);
  const account: FakeAccount = Object.assign(state, {
    url: "",
    calls: [],
    fault: undefined,
    close: async () => undefined,
  });
  addStack(account, "home", { table: "T", bucket: "b", webSocketUrl });
  addTable(account, "other-table", "other");
  addBucket(account, "other-bucket", "other");
  for (let secret = 1; secret <= 12; secret++) account.parameters.set(`/gsv/home/secrets/s${secret}`, "***");
  account.parameters.set("/gsv/other/secrets/s1", "***");
  const server = await serveLoopback(async (request, response) => {
    const body = String((await readBody(request, 1_000_000)) ?? "");
    const target = String(request.headers["x-amz-target"] ?? "");
    const call = target
      ? fakeJson(account, target.split(".").pop() ?? "", JSON.parse(body))
      : /^Action=|&Action=/.test(body)
        ? fakeQuery(account, new URLSearchParams(body))
        : fakeS3(account, request, body);
    account.calls.push(call.operation);
    const fault = account.fault?.(call.operation);
    const done = fault === "before" ? undefined : call.run();
    const answer: Answer = fault || !done ? refusalOf(target !== "", request.method === "HEAD") : done;
    response.writeHead(answer.status ?? 200, { "content-type": answer.type }).end(answer.body);
  });
  account.url = server.origin;
  account.close = server.close;
  return account;
}

function refusalOf(isJson: boolean, isHead: boolean): Answer {
  const message = "not authorized";
  if (isHead) return { status: 403, type: "application/xml", body: "" };
  return isJson
    ? {
        status: 400,
        type: "application/json",
        body: JSON.stringify({ __type: "AccessDeniedException", message }),
      }
    : {
        status: 403,
        type: "application/xml",
        body: `<ErrorResponse><Error><Code>AccessDenied</Code><Message>${message}</Message></Error></ErrorResponse>`,
      };
}

/** Adds a stage's stack with its parameters. Stores that do not exist yet become resources of it. */
export function addStack(
  account: FakeState,
  stage: string,
  { table, bucket, webSocketUrl }: { table: string; bucket: string; webSocketUrl: string },
): void {
  const names = ["agent", "socket", "webhook", "timer", "openai", "mcp", "page"];
  const resources = names.map((name) => ({ type: "AWS::Lambda::Function", name: `gsv-${stage}-${name}` }));
  if (!account.tables.has(table)) {
    addTable(account, table, stage);
    resources.push({ type: "AWS::DynamoDB::GlobalTable", name: table });
  }
  if (!account.buckets.has(bucket)) {
    addBucket(account, bucket, stage);
    resources.push({ type: "AWS::S3::Bucket", name: bucket });
  }
  const values = {
    "websocket-url": webSocketUrl,
    "webhook-url": "https://hook/",
    "table-name": table,
    "bucket-name": bucket,
  };
  for (const [name, value] of Object.entries(values)) account.parameters.set(`/gsv/${stage}/${name}`, value);
  account.stacks.set(`gsv-${stage}`, {
    status: "CREATE_COMPLETE",
    outputs: { TableName: table, BucketName: bucket, PageUrl: "https://page.example" },
    resources,
    undeletable: undefined,
  });
}

export function addTable(account: FakeState, name: string, stage?: string): void {
  account.tables.add(name);
  if (stage)
    account.tags.set(`arn:aws:dynamodb:us-east-1:123456789012:table/${name}`, { application: "gsv", stage });
}

/** Adds a bucket with twelve versions of objects. */
export function addBucket(account: FakeState, name: string, stage?: string): void {
  const versions = Array.from({ length: 12 }, (_, index) => `${index % 5}.txt@${index}`);
  account.buckets.set(name, new Set(versions));
  if (stage) account.tags.set(`arn:aws:s3:::${name}`, { application: "gsv", stage });
}
