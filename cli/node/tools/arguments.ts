import * as v from "valibot";

/** The values of arguments, by name. */
export type ArgumentValues<E extends v.ObjectEntries> = v.InferOutput<v.ObjectSchema<E, undefined>>;

// Each check's message completes the error text "Tool: name must be …", which the model reads. A description is for what name and
// tool do not say.

/** A string that is not empty. */
export function text(description = "") {
  const message = "a non-empty string";
  return v.pipe(v.string(message), v.minLength(1, message), v.description(description));
}

/** A string, possibly empty. */
export function content(description = "") {
  return v.pipe(v.string("a string"), v.description(description));
}

/** An integer of at least `min`. */
export function integerFrom(min: number, description: string) {
  const message = `an integer from ${min} to ${Number.MAX_SAFE_INTEGER}`;
  return v.pipe(
    v.number(message),
    v.integer(message),
    v.check((value) => Number.isSafeInteger(value), message),
    v.minValue(min, message),
    v.description(description),
  );
}

/** An integer from `min` to `max`, both included. */
export function integerBetween(min: number, max: number, description: string) {
  const message = `an integer from ${min} to ${max}`;
  return v.pipe(
    v.number(message),
    v.integer(message),
    v.minValue(min, message),
    v.maxValue(max, message),
    v.description(description),
  );
}

/** True or false; absent means false. */
export function flag(description = "") {
  return v.optional(v.pipe(v.boolean("true or false"), v.description(description)));
}

/** One of `choices`. */
export function choice<const T extends readonly string[]>(choices: T) {
  return v.picklist(choices, `one of ${choices.join(", ")}`);
}

/**
 * The arguments of one tool call. Each is checked when the tool reads it, so a wrong value of an unused
 * argument is ignored. null counts as absent. Unknown arguments are ignored.
 * @throws Error when `args` is not an object. Reading an invalid argument throws an Error that names tool and
 *   argument.
 */
export function readArguments<E extends v.ObjectEntries>(
  tool: string,
  entries: E,
  args: unknown,
): ArgumentValues<E> {
  if (args !== undefined && args !== null && (typeof args !== "object" || Array.isArray(args)))
    throw new Error(`${tool}: the arguments must be an object`);
  const given = (args ?? {}) as Record<string, unknown>;
  const properties = Object.entries(entries).map(([name, schema]) => {
    const get = () => checkArgument(`${tool}: ${name}`, schema, given[name] ?? undefined);
    return [name, { enumerable: true, get }] as const;
  });
  return Object.defineProperties({}, Object.fromEntries(properties)) as ArgumentValues<E>;
}

function checkArgument(name: string, schema: v.ObjectEntries[string], value: unknown): unknown {
  const result = v.safeParse(schema, value, { abortEarly: true, abortPipeEarly: true });
  if (result.success) return result.output;
  throw new Error(`${name} must be ${result.issues[0].message}`);
}
