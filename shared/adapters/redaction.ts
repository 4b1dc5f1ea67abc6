import { keyShapes, redact, type SecretShape } from "../runtime/secret-shapes.ts";

/** What an export leaves out when it is asked to. */
const shapes: readonly SecretShape[] = [...keyShapes, ["home_path", /\/(?:home|Users)\/[^\s/]+/g]];

/** The text with secrets replaced by `[REDACTED:label]`. There is no way back. */
export function redactText(text: string): string {
  return redact(text, shapes);
}

/** A JSON value with the secrets in its strings replaced. Names of members stay. */
export function redactStrings<T>(value: T): T {
  if (typeof value === "string") return redactText(value) as T;
  if (Array.isArray(value)) return value.map(redactStrings) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, redactStrings(one)])) as T;
}
