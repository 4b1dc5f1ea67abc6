import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer, request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import {
  type Endpoint,
  type HttpHandler,
  json,
  listen,
  startHttpEndpoint,
} from "../../../local/http/http-endpoint.ts";
import { createMemoryStore } from "../../../local/items/item-store.ts";
import { startDynamoDB } from "../../aws/emulators/dynamodb/dynamodb.ts";
import { startS3At, startSsmAt } from "../../aws/emulators/support.ts";

let server: Endpoint | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

function contracts(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const command = ["test/world/endpoint/contracts.mjs", ...args];
  return new Promise((resolve) => {
    execFile(process.execPath, command, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

/** The line of JSON, after what the SDK may have warned of. */
const jsonLine = (stdout: string) => stdout.split("\n").find((line) => line.startsWith("{")) ?? "{}";

/** One address before the servers of several services. @param choose by the request's `x-amz-target`, which S3 has not */
async function startFront(choose: (target: string | undefined) => Endpoint): Promise<Endpoint> {
  const front = createServer((request, response) => {
    const { method, headers, url } = request;
    const { port } = choose(headers["x-amz-target"]?.toString());
    const options = { host: "127.0.0.1", port, method, headers, path: url };
    const onward = httpRequest(options, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
  });
  const port = await listen(front, 0);
  const close = async () => {
    front.closeAllConnections();
    front.close();
  };
  return { url: `http://127.0.0.1:${port}`, port, close };
}

/** A DynamoDB that creates tables, and has a fault: it answers every query of the table in ascending order. */
async function startFaultyTables(): Promise<Endpoint & { tables: Map<string, Endpoint>; created: string[] }> {
  const tables = new Map<string, Endpoint>();
  const created: string[] = [];
  const handle: HttpHandler = async ({ method, headers, body }) => {
    const operation = String(headers["x-amz-target"]).split(".")[1];
    const input = JSON.parse(body.toString());
    const table = String(input.TableName);
    if (operation === "CreateTable") {
      created.push(table);
      tables.set(table, await startDynamoDB({ store: createMemoryStore(), table }));
      return json(200, { TableDescription: { TableName: table, TableStatus: "CREATING" } });
    }
    const own = tables.get(table);
    if (own === undefined) return json(400, { __type: "ResourceNotFoundException" });
    if (operation === "DeleteTable") {
      tables.delete(table);
      await own.close();
      return json(200, {});
    }
    if (input.IndexName === undefined) delete input.ScanIndexForward;
    const sent = {
      authorization: String(headers.authorization),
      "x-amz-target": `${headers["x-amz-target"]}`,
    };
    const answer = await fetch(own.url, { method, headers: sent, body: JSON.stringify(input) });
    return json(answer.status, await answer.json());
  };
  return { ...(await startHttpEndpoint({ handle, maxBodyBytes: 16 * 1024 * 1024 })), tables, created };
}

it("makes a table on another server, exits with 1, tells each case that fails there, and deletes the table", async () => {
  const faulty = await startFaultyTables();
  server = faulty;
  const { code, stdout } = await contracts("--endpoint", faulty.url, "--only", "table", "--json");
  const { failed, passed } = JSON.parse(jsonLine(stdout));
  expect(faulty.created).toHaveLength(1);
  expect(faulty.tables.size).toBe(0);
  expect(failed.map(({ name }: { name: string }) => name)).toEqual([
    "the table > a query > reads one partition in the order of the sort key's bytes",
    "the table > a query > orders characters beyond U+FFFF after those before them",
    "the table > a query > finds each of many items, whatever the order of their writes",
    "the table > a query > goes on past a page of 1 MB",
  ]);
  for (const { message } of failed) expect(message).toMatch(/\w/);
  expect(passed).toBeGreaterThan(40);
  expect(code).toBe(1);
});

it("runs the cases that are asked for on what is there, and leaves nothing in the bucket and the secrets", async () => {
  const dir = await mkdtemp(join(tmpdir(), "gsv-contracts-"));
  const table = await startDynamoDB({ store: createMemoryStore(), table: "gsv-test" });
  const bucket = await startS3At({ dir: join(dir, "s3"), buckets: ["gsv-test"] });
  const secrets = await startSsmAt(dir);
  server = await startFront((target) => {
    if (target === undefined) return bucket;
    return target.startsWith("DynamoDB_") ? table : secrets;
  });
  const { code, stdout } = await contracts(
    ...["--endpoint", server.url, "--json", "--cases", "back what was put|query"],
    ...["--table", "gsv-test", "--bucket", "gsv-test"],
  );
  const { failed, passed } = JSON.parse(jsonLine(stdout));
  expect(failed).toEqual([]);
  expect(passed).toBeGreaterThan(5);
  expect(passed).toBeLessThan(30);
  expect(code).toBe(0);
  expect(await readdir(join(dir, "s3", "gsv-test"))).toEqual([]);
  expect(JSON.parse(await readFile(join(dir, "ssm.json"), "utf8"))).toEqual({ parameters: {} });
  await Promise.all([table.close(), bucket.close(), secrets.close()]);
  await rm(dir, { recursive: true });
});

it("exits with 2 where the command is wrong", async () => {
  const wrong = await contracts("--only", "teapot", "--endpoint", "http://127.0.0.1:1");
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toContain("teapot");
  expect((await contracts("--help")).stdout).toContain("npm run contracts -- --endpoint URL");
});
