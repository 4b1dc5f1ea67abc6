import { isRecord, parseRecord } from "../../../../local/http/json.ts";

/**
 * The ARNs that an operation touches, as IAM checks them: the table, or the index that a query or scan names; each
 * table of a batch operation; `*` for operations on no table.
 * @param accountPrefix `arn:aws:dynamodb:{region}:{account}`
 * @param body the operation's input as JSON text; what is no JSON object touches no table and fails later
 */
export function dynamoDBResources(accountPrefix: string, body: string): string[] {
  const input = parseRecord(body) ?? {};
  const tableArn = (name: string) => (name.startsWith("arn:") ? name : `${accountPrefix}:table/${name}`);
  const named = isRecord(input.RequestItems) ? Object.keys(input.RequestItems) : [];
  if (named.length > 0) return named.map(tableArn);
  if (typeof input.TableName !== "string") return ["*"];
  const table = tableArn(input.TableName);
  return [typeof input.IndexName === "string" ? `${table}/index/${input.IndexName}` : table];
}
