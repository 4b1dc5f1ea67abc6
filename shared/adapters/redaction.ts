/** Secrets by their shape, the more specific ones first. A label says what stood there. */
const shapes: readonly [label: string, shape: RegExp][] = [
  ["bearer_jwt", /\bBearer\s+eyJ[\w-]+(?:\.[\w-]+){2}/g],
  ["anthropic_key", /\bsk-ant-[\w-]{20,}/g],
  ["openai_key", /\bsk-[A-Za-z0-9]{20,}|\bsk-(?:proj|svcacct)-[\w-]{20,}/g],
  ["aws_access_key", /\bA[KS]IA[A-Z0-9]{16}\b/g],
  ["hex_token_32", /\b[0-9a-fA-F]{32,}\b/g],
  ["home_path", /\/(?:home|Users)\/[^\s/]+/g],
];

/** The text with secrets replaced by `[REDACTED:label]`. There is no way back. */
export function redactText(text: string): string {
  return shapes.reduce((left, [label, shape]) => left.replace(shape, `[REDACTED:${label}]`), text);
}

/** A JSON value with the secrets in its strings replaced. Names of members stay. */
export function redactStrings<T>(value: T): T {
  if (typeof value === "string") return redactText(value) as T;
  if (Array.isArray(value)) return value.map(redactStrings) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, redactStrings(one)])) as T;
}
