import * as v from "valibot";

/** Replaces a secret in overrides and in results; the value is in the parameter store. */
export const secretMarker = "***";

/**
 * Declares a secret setting. This is the only declaration of a secret: masking, storing, deleting and hidden
 * prompts follow from the schema. A parameter has at most 4 KB. Its name consists of letters, digits, _ and
 * -, so record keys above a secret must use only these.
 */
export function secret() {
  return v.pipe(
    v.string(),
    v.minLength(1, "expected a secret that is not empty"),
    v.maxBytes(4096, "expected a secret of at most 4096 bytes"),
    v.metadata({ secret: true }),
  );
}

/** Whether a schema was created by `secret()`. */
export function isSecret(schema: v.GenericSchema): boolean {
  return v.getMetadata(schema).secret === true;
}
