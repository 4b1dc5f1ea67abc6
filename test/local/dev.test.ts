import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { type Dev, type DevOptions, startDev } from "../../local/dev/dev.ts";
import type { PublishedUrls } from "../../local/emulators.ts";

const dir = mkdtempSync(join(tmpdir(), "gsv-dev-"));
let running: Dev | undefined;
afterEach(async () => {
  await running?.close();
  rmSync(dir, { recursive: true, force: true });
});

async function start(options: Omit<DevOptions, "dir">): Promise<void> {
  running = await startDev({ dir, ...options });
}

/** What each service says to a program that signs with any key. */
async function answers(published: PublishedUrls): Promise<Record<string, boolean>> {
  const ask = async (service: keyof PublishedUrls, path: string, target?: string, body?: object) => {
    const credential = `LOCAL/20300101/us-east-1/${service}/aws4_request`;
    const { ok } = await fetch(`${published[service]}${path}`, {
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
  ]);
}

it("opens nothing to other programs", async () => {
  await start({});
  expect(running?.cloud.published).toBeUndefined();
});

it("opens what is published", async () => {
  await start({ published: true });
  expect(await answers(running!.cloud.published!)).toEqual({ dynamodb: true, s3: true, scheduler: true });
});

it("opens the connections to nobody", async () => {
  await start({ published: true });
  const { protocol, host } = new URL(running!.url.replace("ws:", "http:"));
  const authorization =
    "AWS4-HMAC-SHA256 Credential=LOCAL/20300101/us-east-1/execute-api/aws4_request, Signature=0";
  const posted = await fetch(`${protocol}//${host}/ws/@connections/x`, {
    method: "POST",
    headers: { authorization },
    body: "{}",
  });
  expect(posted.status).toBe(403);
});
