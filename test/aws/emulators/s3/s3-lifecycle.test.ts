import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { startS3At } from "../support.ts";
import { rawRequest, signed } from "./s3-fixture.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "gsv-s3-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const open = () =>
  startS3At({ dir, buckets: ["gsv-storage"], expirations: [{ prefix: "payloads/", days: 1 }] });

/** Makes an object look as if it had been written that many hours ago. */
async function age(key: string, hours: number): Promise<void> {
  const file = join(dir, ".metadata", "gsv-storage", `${key}.json`);
  const record = JSON.parse(await readFile(file, "utf8"));
  record.lastModified = new Date(Date.now() - hours * 3_600_000).toISOString();
  await writeFile(file, JSON.stringify(record));
}

it("objects under the prefix of a rule are gone when they are old enough, and no others", async () => {
  const keys = ["payloads/out/old.json", "payloads/out/new.json", "agents/main/old.md"];
  let s3 = await open();
  for (const key of keys)
    expect((await rawRequest(s3.port, "PUT", `/gsv-storage/${key}`, signed, "x")).status).toBe(200);
  await s3.close();
  await age("payloads/out/old.json", 25);
  await age("payloads/out/new.json", 23);
  await age("agents/main/old.md", 10_000);
  s3 = await open();
  const statusOf = async (key: string) =>
    (await rawRequest(s3.port, "GET", `/gsv-storage/${key}`, signed)).status;
  await expect.poll(() => statusOf("payloads/out/old.json")).toBe(404);
  expect(await statusOf("payloads/out/new.json")).toBe(200);
  expect(await statusOf("agents/main/old.md")).toBe(200);
  await s3.close();
});
