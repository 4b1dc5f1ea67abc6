import { isRecord } from "../../shared/protocol/is-record.ts";

export { isRecord };

export type JsonRecord = Record<string, unknown>;

/** Parses a JSON object. Returns undefined for any other text. */
export function parseRecord(text: string): JsonRecord | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A string field, undefined when absent or of another type. */
export function stringField(record: JsonRecord, name: string): string | undefined {
  const value = record[name];
  return typeof value === "string" ? value : undefined;
}
