import { isRecord, type JsonRecord } from "../../../../local/http/json.ts";
import { invalid, unreadable } from "./dynamodb-error.ts";

/** Parameters that DynamoDB has from before expressions. */
const legacyFields = [
  "AttributesToGet",
  "AttributeUpdates",
  "ConditionalOperator",
  "Expected",
  "KeyConditions",
  "QueryFilter",
  "ScanFilter",
];

/** A text of the request; undefined when absent. @throws AwsError SerializationException */
export function textField(input: JsonRecord, name: string): string | undefined {
  const value = input[name] ?? undefined;
  if (value === undefined || typeof value === "string") return value;
  throw unreadable(`${name} cannot be converted to String`);
}

/** A yes or no of the request; false when absent. @throws AwsError SerializationException */
export function flagField(input: JsonRecord, name: string): boolean {
  const value = input[name] ?? false;
  if (typeof value === "boolean") return value;
  throw unreadable(`${name} cannot be converted to Boolean`);
}

/** The largest Integer of DynamoDB's API. */
const maxInteger = 2 ** 31 - 1;

/** A whole number of the request; undefined when absent. @throws AwsError SerializationException, ValidationException */
export function numberField(input: JsonRecord, name: string, least: number): number | undefined {
  const value = input[name] ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value !== "number" || value > maxInteger)
    throw unreadable(`${name} cannot be converted to Integer`);
  if (Number.isInteger(value) && value >= least) return value;
  throw invalid(
    `1 validation error detected: Value '${value}' at '${name}' failed to satisfy constraint: Member must have value greater than or equal to ${least}`,
  );
}

/** One of several words; the first when absent. @throws AwsError SerializationException, ValidationException */
export function choiceField<T extends string>(
  input: JsonRecord,
  name: string,
  choices: readonly [T, ...T[]],
): T {
  const value = textField(input, name);
  const choice = value === undefined ? choices[0] : choices.find((one) => one === value);
  if (choice !== undefined) return choice;
  throw invalid(
    `1 validation error detected: Value '${value}' at '${name}' failed to satisfy constraint: Member must satisfy enum value set: [${choices.join(", ")}]`,
  );
}

/** An object of the request. @throws AwsError SerializationException, ValidationException when it is absent */
export function requiredRecord(input: JsonRecord, name: string): JsonRecord {
  return asRecord(required(input[name], name));
}

/** A list of the request. @throws AwsError SerializationException, ValidationException when it is absent */
export function requiredList(input: JsonRecord, name: string): unknown[] {
  const value = required(input[name], name);
  if (Array.isArray(value)) return value;
  throw unreadable("Unexpected field type");
}

/** @throws AwsError SerializationException */
export function asRecord(value: unknown): JsonRecord {
  if (isRecord(value)) return value;
  throw unreadable("Unexpected field type");
}

/** @throws AwsError ValidationException for a parameter that the local table does not take */
export function refuseLegacyFields(input: JsonRecord): void {
  for (const name of legacyFields) {
    if (input[name] === undefined || input[name] === null) continue;
    throw invalid(`The local table takes expressions, not the legacy parameter ${name}`);
  }
}

function required(value: unknown, name: string): unknown {
  if (value !== undefined && value !== null) return value;
  throw invalid(
    `1 validation error detected: Value null at '${name}' failed to satisfy constraint: Member must not be null`,
  );
}
