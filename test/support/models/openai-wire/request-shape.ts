import * as v from "valibot";

/** The first thing wrong with a JSON value, in terms every provider's error text can be made from. */
export interface ShapeFault {
  /** Keys and indexes from the root to the value at fault; empty for the root itself. */
  path: (string | number)[];
  /** The value is not there at all. */
  missing: boolean;
  /** What was expected, as valibot words it: `string`, `>=1`, `("user" | "tool")`. */
  expected: string;
  /** What was found, as valibot words it: `undefined`, `"foo"`, `Array`. */
  received: string;
  /** valibot's name of the failed check: `string`, `variant`, `min_length`, `regex`. */
  check: string;
}

export type Shaped<T> = { ok: true; value: T } | { ok: false; fault: ShapeFault };

/** Checks a value against a schema and reports the first fault only, as the model services do. */
export function checkShape<S extends v.GenericSchema>(schema: S, value: unknown): Shaped<v.InferOutput<S>> {
  const result = v.safeParse(schema, value, { abortEarly: true });
  if (result.success) return { ok: true, value: result.output };
  const issue = result.issues[0];
  const path = (issue.path ?? []).map((step) => step.key as string | number);
  return {
    ok: false,
    fault: {
      path,
      missing: issue.received === "undefined",
      expected: String(issue.expected ?? issue.type),
      received: issue.received,
      check: issue.type,
    },
  };
}

/** A string, or a list of content parts: faults are reported inside the one that was sent. */
export function stringOr<S extends v.GenericSchema>(other: S) {
  return v.lazy(
    (input): v.GenericSchema<string | v.InferInput<S>, string | v.InferOutput<S>> =>
      typeof input === "string"
        ? (v.string() as v.GenericSchema<string | v.InferInput<S>, string | v.InferOutput<S>>)
        : other,
  );
}
