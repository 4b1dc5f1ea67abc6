import { isRecord, type JsonRecord } from "../../../../../local/http/json.ts";
import type { ItemValue } from "../../../../../shared/world/world.ts";
import { decodeValue } from "../attribute-value.ts";
import { invalid, unreadable } from "../dynamodb-error.ts";

/** The `#name` and `:value` definitions of one request. Each has to be used by one of its expressions. */
export class Substitutions {
  private readonly names: Map<string, string>;
  private readonly values: Map<string, ItemValue>;
  private readonly unusedNames: Set<string>;
  private readonly unusedValues: Set<string>;

  /**
   * @param input the request's input, or that of one table in a batch
   * @throws AwsError ValidationException, SerializationException
   */
  constructor(input: JsonRecord) {
    this.names = new Map(entriesOf(input, "ExpressionAttributeNames", "#").map(checkName));
    this.values = new Map(entriesOf(input, "ExpressionAttributeValues", ":").map(decode));
    this.unusedNames = new Set(this.names.keys());
    this.unusedValues = new Set(this.values.keys());
  }

  /** The attribute's name for a `#name`; undefined when it is not defined. */
  name(reference: string): string | undefined {
    this.unusedNames.delete(reference);
    return this.names.get(reference);
  }

  /** The value for a `:value`; undefined when it is not defined. */
  value(reference: string): ItemValue | undefined {
    this.unusedValues.delete(reference);
    return this.values.get(reference);
  }

  /** To be called after all expressions of the request are parsed. @throws AwsError ValidationException */
  requireAllUsed(): void {
    for (const [field, unused] of [
      ["ExpressionAttributeNames", this.unusedNames],
      ["ExpressionAttributeValues", this.unusedValues],
    ] as const) {
      if (unused.size === 0) continue;
      throw invalid(`Value provided in ${field} unused in expressions: keys: {${[...unused].join(", ")}}`);
    }
  }
}

function entriesOf(input: JsonRecord, field: string, sign: string): [string, unknown][] {
  const given = input[field];
  if (given === undefined || given === null) return [];
  if (!isRecord(given)) throw unreadable("Unexpected field type");
  const entries = Object.entries(given);
  if (entries.length === 0) throw invalid(`${field} must not be empty`);
  for (const [key] of entries) {
    if (key.startsWith(sign) && /^.[0-9A-Za-z_]+$/.test(key)) continue;
    throw invalid(`${field} contains invalid key: Syntax error; key: "${key}"`);
  }
  return entries;
}

function checkName([key, name]: [string, unknown]): [string, string] {
  if (typeof name !== "string") throw unreadable("Unexpected field type");
  if (name === "") {
    throw invalid(`ExpressionAttributeNames contains invalid value: must not be empty for key ${key}`);
  }
  return [key, name];
}

function decode([key, value]: [string, unknown]): [string, ItemValue] {
  return [key, decodeValue(value)];
}
