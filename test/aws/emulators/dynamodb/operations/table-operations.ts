import { AwsError } from "../../../../../local/http/aws-error.ts";
import type { JsonRecord } from "../../../../../local/http/json.ts";
import { itemSize } from "../../../../../local/items/item-validation.ts";
import { invalid } from "../dynamodb-error.ts";
import { tableSchema } from "../dynamodb-schema.ts";
import { textField } from "../request-fields.ts";
import type { ServedTable } from "../served-table.ts";

/** The attribute that holds an item's end of life, in epoch seconds. */
const timeToLiveAttribute = "expiresAt";

export async function describeTable(served: ServedTable): Promise<object> {
  const { BillingMode, GlobalSecondaryIndexes, ...schema } = tableSchema(served.name);
  const items = [...served.store.all()];
  return {
    Table: {
      ...schema,
      TableArn: served.arn,
      TableStatus: "ACTIVE",
      BillingModeSummary: { BillingMode },
      ItemCount: items.length,
      TableSizeBytes: items.reduce((sum, item) => sum + itemSize(item), 0),
      GlobalSecondaryIndexes: GlobalSecondaryIndexes.map((index) => ({
        ...index,
        IndexArn: `${served.arn}/index/${index.IndexName}`,
        IndexStatus: "ACTIVE",
      })),
    },
  };
}

export async function describeTimeToLive(): Promise<object> {
  return {
    TimeToLiveDescription: { TimeToLiveStatus: "ENABLED", AttributeName: timeToLiveAttribute },
  };
}

export async function listTables(served: ServedTable, input: JsonRecord): Promise<object> {
  const start = textField(input, "ExclusiveStartTableName");
  return { TableNames: start === undefined || served.name > start ? [served.name] : [] };
}

/** The table is there from the start, and no other can be made. */
export async function createTable(served: ServedTable, input: JsonRecord): Promise<object> {
  const name = textField(input, "TableName");
  if (name === served.name) {
    throw new AwsError(400, "ResourceInUseException", `Table already exists: ${name}`);
  }
  throw invalid(`The local cloud has one table, ${served.name}, and creates no others`);
}
