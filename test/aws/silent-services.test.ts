import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  bucketLimits,
  type CallLimits,
  scheduleLimits,
  secretLimits,
  socketLimits,
  tableLimits,
  wakeLimits,
} from "../../shared/aws/call-limits.ts";
import { openDynamoDBTable } from "../../shared/aws/dynamodb-table.ts";
import { openEventBridgeSchedules } from "../../shared/aws/eventbridge-schedules.ts";
import { openLambdaWake } from "../../shared/aws/lambda-wake.ts";
import { openApiGatewaySockets } from "../../shared/aws/open-aws.ts";
import { openS3Bucket } from "../../shared/aws/s3-bucket.ts";
import { openSsmSecrets } from "../../shared/aws/ssm-secrets.ts";
import { eventFrame } from "../../shared/protocol/frames.ts";
import { type SilentServer, startSilentServer } from "./silent-server.ts";

let server: SilentServer;
let environment: NodeJS.ProcessEnv;
beforeEach(() => {
  environment = { ...process.env };
});
afterEach(async () => {
  process.env = environment;
  await server.close();
});

async function silence(greeting?: string): Promise<void> {
  server = await startSilentServer(greeting);
  Object.assign(process.env, {
    AWS_ENDPOINT_URL: server.url,
    AWS_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "LOCALTEST",
    AWS_SECRET_ACCESS_KEY: "local",
  });
}

const limits: CallLimits = { connectionMs: 1000, answerMs: 40, tries: 2 };
const bodies = { ...limits, bodyMs: 80 };
const frame = eventFrame("chat", { runId: "r", sessionKey: "s", state: "error", error: "e" });
const target = { scheduleGroup: "g", scheduleRoleArn: "r", timerFunctionArn: "t", deadLetterArn: "d" };
const large = new Uint8Array(2 * 1024 * 1024);
async function* streamed() {
  yield large;
}

const calls: Record<string, () => Promise<unknown>> = {
  "the table": () => openDynamoDBTable("t", limits).get({ pk: "p", sk: "s" }),
  "a read of the bucket": () => openS3Bucket("b", bodies).get("k"),
  "a list of the bucket": () => openS3Bucket("b", bodies).list("k"),
  "a write of a small object": () => openS3Bucket("b", bodies).put("k", "small"),
  "a write of a large object": () => openS3Bucket("b", bodies).put("k", large),
  "a write of a stream": () => openS3Bucket("b", bodies).putStream("k", streamed()),
  "the sockets": () => openApiGatewaySockets(server.url, { ...limits, onceMs: 40 }).post("c", frame),
  "the Scheduler": () => openEventBridgeSchedules(target, limits).once("n", 1, { kind: "sweep" }),
  "the secrets": () => openSsmSecrets("/p", limits).get("model"),
  "the waking of the agent": () => openLambdaWake("agent", limits)("agent:main:main"),
};

describe("a service that accepts a connection and never answers", () => {
  it.each(Object.entries(calls))("fails in time, after a repeat: %s", async (_name, call) => {
    await silence();
    await expect(call()).rejects.toMatchObject({ name: "TimeoutError" });
    expect(server.accepted).toBe(limits.tries);
  });

  it("has not taken a frame that is tried once", async () => {
    await silence();
    const sockets = openApiGatewaySockets(server.url, { ...limits, answerMs: 60_000, onceMs: 40 });
    expect(await sockets.post("c", frame, { once: true })).toBe("busy");
    expect(server.accepted).toBe(1);
  });
});

describe("a service that goes silent in the middle of its answer", () => {
  const head = (type: string) => `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: 9\r\n\r\n{`;

  it("fails in time: the table", async () => {
    await silence(head("application/x-amz-json-1.0"));
    await expect(calls["the table"]!()).rejects.toMatchObject({ name: "TimeoutError" });
  });

  it("fails in time: an object that is read at once, or as a stream", async () => {
    await silence(head("text/plain"));
    const bucket = openS3Bucket("b", bodies);
    await expect(bucket.get("k")).rejects.toMatchObject({ name: "TimeoutError" });
    const read = async () => {
      for await (const chunk of (await bucket.getStream("k"))!.body) expect(String(chunk)).toBe("{");
    };
    await expect(read()).rejects.toMatchObject({ name: "TimeoutError" });
  });
});

it("is waited for as long as the limits of each service say: seconds, and longer for objects", () => {
  for (const one of [tableLimits, bucketLimits, socketLimits, scheduleLimits, secretLimits, wakeLimits]) {
    expect(one.connectionMs).toBe(1000);
    expect(one.answerMs).toBeGreaterThanOrEqual(3000);
    expect(one.answerMs).toBeLessThanOrEqual(5000);
    expect(one.tries).toBeGreaterThan(1);
  }
  expect(bucketLimits.bodyMs).toBeGreaterThan(bucketLimits.answerMs);
});
