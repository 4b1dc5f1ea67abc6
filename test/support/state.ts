import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startDynamoDB } from "../../local/dynamodb.ts";
import { startSsm } from "../../local/ssm.ts";
import { openSecrets, type Secrets } from "../../shared/aws/secrets.ts";
import { openTable, type Table } from "../../shared/aws/table.ts";

export interface State {
  table: Table;
  /** The secrets under a parameter prefix. */
  openSecrets(prefix: string): Secrets;
  close(): Promise<void>;
}

/** The table and the parameter store of this machine, with the SDK of this process pointed at them. */
export async function startState(): Promise<State> {
  const dir = await mkdtemp(join(tmpdir(), "gsv-state-"));
  const dynamodb = await startDynamoDB({ dir: join(dir, "dynamodb"), table: "gsv-test" });
  const ssm = await startSsm({ dir });
  Object.assign(process.env, {
    AWS_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "LOCALTEST",
    AWS_SECRET_ACCESS_KEY: "local",
    AWS_ENDPOINT_URL_DYNAMODB: dynamodb.url,
    AWS_ENDPOINT_URL_SSM: ssm.url,
  });
  return {
    table: openTable("gsv-test"),
    openSecrets: (prefix) => openSecrets(prefix),
    async close() {
      await dynamodb.close();
      await ssm.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** A table that counts its reads and runs `before` ahead of each write, to let others come first. */
export function observed(
  table: Table,
  before: () => Promise<void> = async () => {},
): Table & { reads: number } {
  const watched = {
    ...table,
    reads: 0,
    get: (...args: Parameters<Table["get"]>) => {
      watched.reads++;
      return table.get(...args);
    },
    update: async (...args: Parameters<Table["update"]>) => {
      await before();
      return table.update(...args);
    },
  };
  return watched;
}
