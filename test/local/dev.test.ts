import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import type { Dev, DevOptions } from "../../local/dev/dev.ts";

const dir = mkdtempSync(join(tmpdir(), "gsv-dev-"));
let running: Dev | undefined;
afterEach(async () => {
  await running?.close();
  rmSync(dir, { recursive: true, force: true });
});

/** Starts it as a process of its own would, which loads the functions once. */
async function start(options: Omit<DevOptions, "dir">): Promise<void> {
  vi.resetModules();
  const { startDev } = await import("../../local/dev/dev.ts");
  running = await startDev({ dir, ...options });
}

/** What each service says to a program that signs with this key. */
async function answers(accessKeyId: string): Promise<Record<string, boolean>> {
  const ask = async (service: string, path: string, target?: string, body?: object) => {
    const credential = `${accessKeyId}/20300101/us-east-1/${service}/aws4_request`;
    const { ok } = await fetch(`${process.env[`AWS_ENDPOINT_URL_${service.toUpperCase()}`]}${path}`, {
      headers: {
        authorization: `AWS4-HMAC-SHA256 Credential=${credential}, Signature=0`,
        ...(target ? { "x-amz-target": target } : {}),
      },
      ...(body ? { method: "POST", body: JSON.stringify(body) } : {}),
    });
    return [service, ok] as const;
  };
  const { table, bucket } = running!.cloud;
  return Object.fromEntries([
    await ask("dynamodb", "/", "DynamoDB_20120810.Scan", { TableName: table }),
    await ask("s3", `/${bucket}?list-type=2`),
    await ask("scheduler", "/schedules"),
    await ask("ssm", "/", "AmazonSSM.GetParametersByPath", { Path: "/" }),
  ]);
}

it("opens nothing to other programs", async () => {
  await start({});
  expect(await answers("LOCAL")).toEqual({ dynamodb: false, s3: false, scheduler: false, ssm: false });
  const own = await answers(String(process.env.AWS_ACCESS_KEY_ID));
  expect(own).toMatchObject({ dynamodb: true, s3: true, scheduler: true });
});

it("opens what is published, and no secrets", async () => {
  await start({ published: true });
  expect(await answers("LOCAL")).toEqual({ dynamodb: true, s3: true, scheduler: true, ssm: false });
});
