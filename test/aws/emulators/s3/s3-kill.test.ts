import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { expect, it } from "vitest";
import { bundleProgram } from "../../../support/run/bundle-program.ts";
import { clientConfig } from "../support.ts";
import { Bucket, S3Fixture } from "./s3-fixture.ts";

const keys = ["a.txt", "b/c.txt", "b/d", "b/d/e"];

/** A body that says which write it is of, so that a mixture of two would show. */
const bodyOf = (write: number) => `${write} `.repeat(20_000);

it("keeps every object whole, and every acknowledged write, through kill -9 while writing", async () => {
  const program = await bundleProgram(new URL("../fixtures/s3-process.ts", import.meta.url));
  const s3 = new S3Fixture();
  await s3.start();
  let write = 0;
  for (let round = 1; round <= 5; round += 1) {
    await s3.stop();
    const child = spawn(process.execPath, [program, s3.dir], { stdio: ["ignore", "pipe", "inherit"] });
    const [port] = await once(child.stdout, "data");
    const client = new S3Client({ ...clientConfig(`http://127.0.0.1:${Number(port)}`), maxAttempts: 1 });
    const acknowledged = new Map<string, number>();
    let count = 0;
    const writers = keys.map(async (Key) => {
      for (;;) {
        const mine = ++write;
        const Metadata = { write: String(mine) };
        try {
          await client.send(new PutObjectCommand({ Bucket, Key, Body: bodyOf(mine), Metadata }));
        } catch {
          return;
        }
        acknowledged.set(Key, mine);
        count += 1;
        if (count === 11 * round) child.kill("SIGKILL");
      }
    });
    await Promise.all([...writers, once(child, "exit")]);
    client.destroy();

    await s3.start();
    const { Contents = [] } = await s3.client.send(new ListObjectsV2Command({ Bucket }));
    expect(Contents.map(({ Key }) => Key)).toEqual(keys);
    expect(await s3.staged()).toEqual([]);
    for (const { Key, ETag } of Contents) {
      const read = await s3.client.send(new GetObjectCommand({ Bucket, Key }));
      const text = await read.Body?.transformToString();
      const found = Number(read.Metadata?.write);
      expect(text).toBe(bodyOf(found));
      expect(ETag).toBe(`"${createHash("md5").update(bodyOf(found)).digest("hex")}"`);
      expect(found).toBeGreaterThanOrEqual(acknowledged.get(Key ?? "") ?? 0);
    }
  }
  expect(await readdir(join(s3.dir, Bucket))).toEqual(["a.txt", "b"]);
  expect(await readFile(join(s3.dir, Bucket, "a.txt"), "utf8")).toBe(await s3.get("a.txt"));
  await s3.end();
});
