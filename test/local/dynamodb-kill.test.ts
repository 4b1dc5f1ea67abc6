import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { expect, it } from "vitest";
import { openDynamoDBStore } from "../../local/dynamodb/dynamodb-store.ts";

type Item = Record<string, AttributeValue>;

const writer = fileURLToPath(new URL("fixtures/dynamodb-writer.ts", import.meta.url));
const order = (items: Item[]) => items.sort((a, b) => String(a.pk?.S).localeCompare(String(b.pk?.S)));

it("keeps the index in step with the table through kill -9 while writing", async () => {
  const dir = await mkdtemp(join(tmpdir(), "gsv-kill-"));
  for (let round = 0; round < 5; round += 1) {
    const child = spawn(process.execPath, ["--import", "tsx", writer, dir], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    await new Promise((resolve) => setTimeout(resolve, 40 * round));
    child.kill("SIGKILL");
    await once(child, "exit");

    const store = await openDynamoDBStore(dir, () => undefined);
    const scan = async (input: object): Promise<Item[]> =>
      JSON.parse((await store.call("Scan", JSON.stringify({ TableName: "gsv-test", ...input }))).body).Items;
    const items = await scan({});
    const rows = await scan({ IndexName: "due" });
    await store.close();

    expect(items).toHaveLength(20);
    const expected = items
      .filter((item) => item.duePk !== undefined)
      .map(({ pk, sk, duePk, dueAt }) => ({ pk, sk, duePk, dueAt }) as Item);
    expect(order(rows)).toEqual(order(expected));
  }
  await rm(dir, { recursive: true, force: true });
});
