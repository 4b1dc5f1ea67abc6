import type { Random } from "../../support/random.ts";

/** The part of a valibot schema that is read here. */
interface Schema {
  type: string;
  pipe?: readonly { type: string; requirement?: unknown }[];
  wrapped?: Schema;
  entries?: Record<string, Schema>;
  item?: Schema;
  value?: Schema;
  options?: readonly unknown[];
}

/** Values for fields by name, such as session keys for `sessionKey`. */
export type Words = Readonly<Record<string, readonly unknown[]>>;

/**
 * A value that usually fits a valibot schema. Fields use `words` if there are any, and half of the optional fields are
 * left out. Checks other than types, picklists and lengths are ignored.
 */
export function sample(schema: unknown, random: Random, words: Words, name = ""): unknown {
  const known = Object.hasOwn(words, name) ? words[name] : undefined;
  const { type, wrapped, entries, item, value, options, pipe } = schema as Schema;
  switch (type) {
    case "optional":
      return random.integer(2) === 0 ? undefined : sample(wrapped, random, words, name);
    case "nullable":
      return random.integer(4) === 0 ? null : sample(wrapped, random, words, name);
    case "object":
    case "strict_object":
      return objectOf(entries ?? {}, random, words);
    case "array":
      return Array.from({ length: random.integer(3) }, () => sample(item, random, words, name));
    case "record":
      return known
        ? random.pick(known)
        : { a: sample(value, random, words), b: sample(value, random, words) };
    case "picklist":
      return random.pick(options ?? []);
    case "string":
      return known ? random.pick(known) : random.pick(["a", "hello", "x-1"]);
    case "number":
      return known ? random.pick(known) : Number(limitOf(pipe, "min_value") ?? 0) + random.integer(50);
    case "boolean":
      return random.integer(2) === 0;
    default:
      return known ? random.pick(known) : random.pick([1, "text", true, null, { a: 1 }, [1]]);
  }
}

function objectOf(entries: Record<string, Schema>, random: Random, words: Words): Record<string, unknown> {
  const fields = Object.entries(entries).map(([name, field]) => [name, sample(field, random, words, name)]);
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
}

function limitOf(pipe: Schema["pipe"], type: string): unknown {
  return pipe?.find((action) => action.type === type)?.requirement;
}
