import { toJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";

/** Checks that JSON Schema cannot express. They are applied when a call is parsed. */
const unannounced = ["check", "trim", "max_length"];

/** The JSON Schema of a tool's arguments. */
export interface InputSchema extends Record<string, unknown> {
  properties?: Record<string, unknown>;
  required?: string[];
}

/**
 * The JSON Schema of a tool's arguments, made from the valibot schemas that check them. Arguments are
 * required unless their schema is optional. `v.description` gives the description for the model.
 * @throws Error for a schema that JSON Schema cannot express
 */
export function inputSchemaOf(entries: v.ObjectEntries): InputSchema {
  const { $schema: _dialect, ...schema } = toJsonSchema(v.object(entries), { ignoreActions: unannounced });
  return schema as InputSchema;
}
