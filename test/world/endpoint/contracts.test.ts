import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DynamoDBClient, ListTablesCommand } from "@aws-sdk/client-dynamodb";
import { afterEach, expect, it } from "vitest";
import { startDynamoDB } from "../../../local/dynamodb/dynamodb.ts";
import type { Endpoint } from "../../../local/http/http-endpoint.ts";
import { createMemoryStore } from "../../../local/items/item-store.ts";
import { startDynalite } from "../../local/dynamodb/dynalite-server.ts";
import { clientConfig, startS3At, startSsmAt } from "../../local/support.ts";

let server: Endpoint | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

function contracts(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const command = ["--import", "tsx", "test/world/endpoint/contracts.ts", ...args];
  return new Promise((resolve) => {
    execFile(process.execPath, command, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

it("makes a table on another server, tells each case that fails there, and deletes the table", async () => {
  server = await startDynalite();
  const { code, stdout } = await contracts("--endpoint", server.url, "--only", "table", "--json");
  const { failed, passed } = JSON.parse(stdout.split("\n").find((line) => line.startsWith("{")) ?? "{}");
  expect(failed.map(({ name }: { name: string }) => name)).toEqual([
    "the table > items > have lists and maps in each other up to 32 levels deep",
    "the table > items > are refused above 400 KB, in UTF-8 bytes",
    "the table > a query > orders characters beyond U+FFFF after those before them",
  ]);
  expect(passed).toBeGreaterThan(40);
  expect(code).toBe(1);
  const client = new DynamoDBClient(clientConfig(server.url));
  expect((await client.send(new ListTablesCommand({}))).TableNames).toEqual([]);
});

it("runs on a table that is there", async () => {
  server = await startDynamoDB({ store: createMemoryStore(), table: "gsv-test" });
  const { code, stdout } = await contracts(
    "--endpoint",
    server.url,
    "--only",
    "table",
    "--table",
    "gsv-test",
    "--json",
  );
  expect(stdout).toContain('"failed":[]');
  expect(code).toBe(0);
});

it("runs on a bucket and on secrets that are there, and leaves nothing in them", async () => {
  const dir = await mkdtemp(join(tmpdir(), "gsv-contracts-"));
  server = await startS3At({ dir: join(dir, "s3"), buckets: ["gsv-test"] });
  const bucket = ["--only", "bucket", "--bucket", "gsv-test", "--json"];
  const answer = await contracts("--endpoint", server.url, ...bucket);
  expect(answer.stdout).toContain('"failed":[]');
  expect(await readdir(join(dir, "s3", "gsv-test"))).toEqual([]);
  await server.close();
  server = await startSsmAt(dir);
  const { stdout } = await contracts("--endpoint", server.url, "--only", "secrets", "--json");
  expect(stdout).toContain('"failed":[]');
  expect(JSON.parse(await readFile(join(dir, "ssm.json"), "utf8"))).toEqual({ parameters: {} });
  await rm(dir, { recursive: true });
});

it("exits with 1 where a server breaks the contract, and with 2 where the command is wrong", async () => {
  server = await startDynamoDB({ store: createMemoryStore(), table: "gsv-test" });
  const missing = await contracts(
    "--endpoint",
    server.url,
    "--only",
    "table",
    "--table",
    "another",
    "--json",
  );
  expect(missing.code).toBe(1);
  expect(missing.stdout).toContain("Requested resource not found");
  const wrong = await contracts("--only", "teapot", "--endpoint", server.url);
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toContain("teapot");
  expect((await contracts("--help")).stdout).toContain("npm run contracts -- --endpoint URL");
});
