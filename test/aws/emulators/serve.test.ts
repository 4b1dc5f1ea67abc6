import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { DynamoDBClient, ScanCommand } from "@aws-sdk/client-dynamodb";
import { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import { ListObjectsV2Command, S3Client } from "@aws-sdk/client-s3";
import { ListSchedulesCommand, SchedulerClient } from "@aws-sdk/client-scheduler";
import { GetParametersByPathCommand, SSMClient } from "@aws-sdk/client-ssm";
import { afterAll, beforeAll, expect, it } from "vitest";
import { gsv } from "../../cli/run-gsv.ts";
import { openClient } from "../../support/peer.ts";
import { newFolder } from "../../support/run/test-folders.ts";

interface Ready extends Record<string, string | number> {
  ws: string;
  token: string;
  table: string;
  bucket: string;
  accessKeyId: string;
  secretAccessKey: string;
}

let server: ChildProcess;
let ready: Ready;

beforeAll(async () => {
  const dir = newFolder();
  const program = ["--import", "tsx", "test/aws/emulators/serve.ts", "--json", "--port", "0", "--data", dir];
  server = spawn(process.execPath, program, {
    env: { PATH: String(process.env.PATH), HOME: dir },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(createInterface({ input: server.stdout as NodeJS.ReadableStream }), "line");
  ready = JSON.parse(line);
});

afterAll(async () => {
  const ended = once(server, "exit");
  server.kill();
  expect(await ended).toEqual([0, null]);
});

/** One request to each service, as a program that signs with the key sends it. */
async function ask(accessKeyId: string): Promise<Record<string, string>> {
  const credentials = { accessKeyId, secretAccessKey: ready.secretAccessKey };
  const at = (service: string) => ({ endpoint: String(ready[service]), region: "us-east-1", credentials });
  const path = { Path: "/gsv/local", Recursive: true };
  const invocation = { FunctionName: "timer", Payload: JSON.stringify({ kind: "sweep" }) };
  const answers = {
    dynamodb: new DynamoDBClient(at("dynamodb")).send(new ScanCommand({ TableName: ready.table })),
    s3: new S3Client({ ...at("s3"), forcePathStyle: true }).send(
      new ListObjectsV2Command({ Bucket: ready.bucket }),
    ),
    scheduler: new SchedulerClient(at("scheduler")).send(new ListSchedulesCommand({})),
    ssm: new SSMClient(at("ssm")).send(new GetParametersByPathCommand(path)),
    lambda: new LambdaClient(at("lambda")).send(new InvokeCommand(invocation)),
  };
  const outcomes = Object.entries(answers).map(async ([service, answer]) => {
    const outcome = await answer.then(
      () => "answered",
      (error: Error) => error.name,
    );
    return [service, outcome];
  });
  return Object.fromEntries(await Promise.all(outcomes));
}

it("prints the addresses of the gateway and of the emulators on one line", () => {
  const fields =
    "accessKeyId bucket dynamodb lambda pid s3 scheduler secretAccessKey ssm table token webhook ws";
  expect(Object.keys(ready).sort()).toEqual(fields.split(" "));
  expect(ready.pid).toBe(server.pid);
});

it("serves the gateway's own stores to a program that signs with the key", async () => {
  const client = await openClient(ready.ws, ready.token);
  await client.call("chat.send", { sessionKey: "main", message: "hello", runId: "first" });
  client.close();
  const credentials = { accessKeyId: ready.accessKeyId, secretAccessKey: ready.secretAccessKey };
  const table = new DynamoDBClient({ endpoint: String(ready.dynamodb), region: "us-east-1", credentials });
  const { Items = [] } = await table.send(new ScanCommand({ TableName: ready.table }));
  expect(JSON.stringify(Items)).toContain("first");
  const answered = { dynamodb: "answered", s3: "answered", scheduler: "answered" };
  expect(await ask(ready.accessKeyId)).toEqual({ ...answered, ssm: "answered", lambda: "answered" });
});

it("gives admin rights to who signs with the key, and to nobody with its own token", async () => {
  const client = await openClient(ready.ws, ready.token);
  expect(await client.request("token.list")).toMatchObject({ ok: false, error: { code: 403 } });
  client.close();
  const before = { ...process.env };
  const admin = async (AWS_ACCESS_KEY_ID: string) => {
    const account = {
      AWS_ACCESS_KEY_ID,
      AWS_SECRET_ACCESS_KEY: ready.secretAccessKey,
      AWS_REGION: "us-east-1",
    };
    const endpoints = { AWS_ENDPOINT_URL_SSM: ready.ssm, AWS_ENDPOINT_URL_DYNAMODB: ready.dynamodb };
    Object.assign(process.env, account, endpoints);
    // Without a token: these credentials give a gateway its first one.
    const env = { GSV_URL: ready.ws };
    return gsv(["admin", "--stage", "local"], { env });
  };
  const refused = await admin("LOCAL");
  const { stdout } = await admin(ready.accessKeyId);
  process.env = before;
  expect(refused.stderr).toContain("these AWS credentials may not administer gsv-local");
  const owner = await openClient(ready.ws, stdout.trim(), "administrator");
  expect(await owner.request("token.list")).toMatchObject({ ok: true });
  owner.close();
});

it("refuses every other key", async () => {
  const refused = {
    dynamodb: "AccessDeniedException",
    s3: "AccessDenied",
    scheduler: "AccessDeniedException",
  };
  expect(await ask("LOCAL")).toEqual({
    ...refused,
    ssm: "AccessDeniedException",
    lambda: "AccessDeniedException",
  });
});

it("refuses requests without a signature", async () => {
  const target = { "x-amz-target": "DynamoDB_20120810.Scan" };
  const body = JSON.stringify({ TableName: ready.table });
  const scan = await fetch(String(ready.dynamodb), { method: "POST", headers: target, body });
  const list = await fetch(`${ready.s3}/${ready.bucket}?list-type=2`);
  const schedules = await fetch(`${ready.scheduler}/schedules`);
  expect([scan.status, list.status, schedules.status]).toEqual([400, 403, 403]);
});
