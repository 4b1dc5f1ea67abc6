import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createMemoryStore } from "../../local/items/item-store.ts";
import { startDynamoDB } from "../aws/emulators/dynamodb/dynamodb.ts";
import { startS3At, startSchedulerAt } from "../aws/emulators/support.ts";
import { type Found, missing, runCommand } from "./python.ts";

const script = fileURLToPath(new URL("second_client.py", import.meta.url));

const names = { TABLE: "gsv-second", BUCKET: "gsv-second", GROUP: "default" };

/** Runs boto3, an SDK that they were not written with, against the local S3, DynamoDB and Scheduler. */
export async function checkWithBoto3(python: string): Promise<Found> {
  const check = "boto3 against the local S3, DynamoDB and Scheduler";
  const skipped = await missing(python, "boto3", { name: "boto3" });
  if (skipped) return { check, passed: 0, faults: [], skipped };
  const dir = await mkdtemp(join(tmpdir(), "gsv-boto3-"));
  const dynamodb = await startDynamoDB({ store: createMemoryStore(), table: names.TABLE });
  const s3 = await startS3At({ dir: join(dir, "s3"), buckets: [names.BUCKET] });
  const scheduler = await startSchedulerAt(dir, async () => {});
  try {
    const urls = { S3: s3.url, DYNAMODB: dynamodb.url, SCHEDULER: scheduler.url };
    const { stdout, stderr, code } = await runCommand(python, [script], { ...names, ...urls });
    return { check, ...judgeCases(stdout, stderr, code) };
  } finally {
    await Promise.all([dynamodb.close(), s3.close(), scheduler.close()]);
    await rm(dir, { recursive: true, force: true });
  }
}

/** Reads the output of `second_client.py`. An early end of the script is a fault. */
function judgeCases(stdout: string, stderr: string, code: number | null): Omit<Found, "check"> {
  const lines = stdout.split("\n").filter((line) => line !== "");
  const cases = lines.map((line) => JSON.parse(line) as { name: string; fault?: string });
  const faults = cases.flatMap(({ name, fault }) => (fault === undefined ? [] : [`${name}: ${fault}`]));
  const passed = cases.length - faults.length;
  if (code !== 0) faults.push(`the script ended with ${code}: ${stderr.trim().slice(-500)}`);
  return { passed, faults };
}
