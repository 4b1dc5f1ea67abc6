/** The unchecked fields of an event's payload; empty when it is not an object. */
export function fieldsOf(payload: unknown): Record<string, unknown> {
  return typeof payload === "object" && payload !== null ? (payload as Record<string, unknown>) : {};
}
